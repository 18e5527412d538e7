// Text to token ids, by the rules of the model's own tokenizer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"
#include "text/pretokenize/added_tokens.h"
#include "text/pretokenize/normalizer.h"
#include "text/pretokenize/pretokenizer_chain.h"
#include "text/tokenizer/decoded_pieces.h"
#include "text/tokenizer/token_model.h"
#include "text/unicode/text_span.h"

namespace ingot {

/// What encode does besides plain text. Without these a text can never become a special token.
struct EncodeOptions {
  bool add_special = false;    ///< frame with BOS, EOS, CLS, SEP where the tokenizer's file says so
  bool parse_special = false;  ///< control and user-defined tokens in the text become tokens
  bool parse_user_defined = false;  ///< only the user-defined ones (`<think>`, `<tool_call>`)
  /// Where those tokens may stand, everywhere when absent: stretches of the text, ascending and
  /// disjoint. A token that is not whole within one of them is text like any other.
  std::optional<std::span<const TextSpan>> added_within = std::nullopt;
};

/// A tokenizer. Immutable: all functions may be called from several threads at once.
///
/// A text is cut at the added tokens that are asked for; what is between is normalised, cut at the
/// added tokens that are found in normalised text, cut into pieces, and these go through the model.
class Tokenizer {
 public:
  /// See make_tokenizer.
  Tokenizer(const TokenizerData& data, std::vector<std::string>& warnings);
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// The tokens of `text`, which may hold anything: NUL is a character, and bytes that are not
  /// valid UTF-8 are encoded as bytes where the vocabulary can.
  ///
  /// Cost:    O(n log n) in time, about 20 bytes of memory a byte of text; no recursion.
  /// Errors:  Error{kInvalid} for a text of 2 GiB or more, and where the file's own patterns and
  ///          replacements make more of it than their limits allow.
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;

  /// The bytes that a token stands for, which need not be whole characters: a space for U+2581 of
  /// SentencePiece, the byte of a byte token, the text of a control token. Empty for an id outside
  /// of the vocabulary.
  std::string_view piece(std::int32_t id) const;
  /// What it writes at the beginning of a text, where kinds of tokenizers write no space.
  std::string_view first_piece(std::int32_t id) const;
  /// kUnused for an id outside of the vocabulary.
  TokenType type(std::int32_t id) const;

  std::int32_t size() const { return static_cast<std::int32_t>(types_.size()); }
  std::optional<std::int32_t> bos() const { return bos_; }
  std::optional<std::int32_t> eos() const { return eos_; }
  std::optional<std::int32_t> eot() const { return eot_; }
  std::optional<std::int32_t> unknown() const { return unknown_; }
  std::optional<std::int32_t> padding() const { return padding_; }
  /// Whether `add_special` puts a BOS in front, an EOS behind.
  bool adds_bos() const;
  bool adds_eos() const;

  /// Bytes of the longest piece.
  std::size_t longest_piece() const { return longest_piece_; }
  /// The most bytes of text that one token can stand for, nothing when there is no bound: a longer
  /// text than this times n has more than n tokens, which can be said without encoding it.
  std::optional<std::size_t> text_bytes_per_token_max() const;

  /// What encoding put in front of a text and decoding takes away, and how often at most.
  std::string_view stripped_prefix() const { return decoded_.strip; }
  std::int32_t stripped_prefix_count() const { return decoded_.strip_count; }
  /// Whether ill-formed bytes decode to one U+FFFD each (SentencePiece) instead of one for each
  /// maximal ill-formed part (byte-level BPE).
  bool replaces_every_byte() const { return decoded_.replace_every_byte; }

 private:
  /// Added tokens that one way of encoding looks for.
  struct Search {
    AddedTokens raw;         ///< in the text as it is
    AddedTokens normalized;  ///< in the normalised text
  };
  /// One for each way.
  struct Searches {
    Search plain, user_defined, special;
  };
  struct Scratch;
  /// With `all_raw` no token that is asked for waits for the normalised text.
  Searches make_searches(const TokenizerData& data, bool all_raw) const;
  Search make_search(const TokenizerData& data, bool special, bool user_defined,
                     bool all_raw) const;
  const Search& search_for(const EncodeOptions& options) const;
  void encode_with(const Search& search, std::span<const TextSpan> spans, std::string_view text,
                   std::vector<std::int32_t>& ids) const;
  /// A stretch of the text in which no raw token stands.
  void encode_stretch(const AddedTokens& normalized, std::string_view text, bool begins_text,
                      Scratch& scratch, std::vector<std::int32_t>& ids) const;

  std::vector<TokenType> types_;
  std::optional<std::int32_t> bos_, eos_, eot_, unknown_, padding_;
  std::vector<std::int32_t> frame_begin_, frame_end_;
  Normalizer normalizer_;
  PretokenizerChain pretokenizers_;
  std::unique_ptr<const TokenModel> model_;
  DecodedPieces decoded_;
  Searches searches_;
  std::optional<Searches> searches_within_;  // where they differ: for tokens within spans
  std::size_t longest_piece_ = 0;
  bool strips_ = false;  // an added token takes white space along
};

/// The tokenizer that `data` describes; what a user should know about it is appended to `warnings`,
/// a line each.
///
/// Errors:  model_error(file, "tokenizer", 0, reason) for anything unknown, missing or
/// contradictory.
std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerData& data,
                                          std::vector<std::string>& warnings);

}  // namespace ingot
