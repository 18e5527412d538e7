// Tokenizer: text to token ids by the rules of the model's own tokenizer.
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

/// Options of encoding. Without them no text can become a special token.
struct EncodeOptions {
  bool add_special = false;         ///< add BOS, EOS, CLS, SEP where the tokenizer's file says so
  bool parse_special = false;       ///< control and user-defined tokens in the text become tokens
  bool parse_user_defined = false;  ///< only the user-defined ones (`<think>`, `<tool_call>`)
  /// Ranges of the text, ascending and disjoint, in which such tokens may occur; absent means
  /// everywhere. A token that is not whole inside one range is ordinary text.
  std::optional<std::span<const TextSpan>> added_within = std::nullopt;
};

/// A tokenizer. Immutable: all functions may be called from several threads at once.
///
/// Encoding cuts a text at its added tokens, normalises the rest, cuts that at the added tokens of
/// normalised text, cuts it into pieces, and passes each piece through the model.
class Tokenizer {
 public:
  /// See make_tokenizer.
  Tokenizer(const TokenizerData& data, std::vector<std::string>& warnings);
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// The tokens of `text`, which may hold any bytes: NUL is a character, and invalid UTF-8 is
  /// encoded as bytes where the vocabulary can.
  ///
  /// Cost:    O(n log n) time, about 20 bytes of memory per byte of text; no recursion.
  /// Errors:  Error{kInvalid} for a text of 2 GiB or more, or when the file's own patterns and
  ///          replacements exceed their limits.
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;

  /// The bytes of a token, which may be parts of characters: a space for SentencePiece's U+2581,
  /// the byte of a byte token, the text of a control token. Empty for an id outside the vocabulary.
  std::string_view piece(std::int32_t id) const;
  /// The bytes of a token at the beginning of a text, where some tokenizers drop a space.
  std::string_view first_piece(std::int32_t id) const;
  /// kUnused for an id outside the vocabulary.
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
  /// The most bytes of text that one token can represent; nothing without a bound. A text longer
  /// than n times this has more than n tokens, which callers use to refuse it without encoding.
  std::optional<std::size_t> text_bytes_per_token_max() const;

  /// The prefix that encoding adds and decoding removes, and how many times at most.
  std::string_view stripped_prefix() const { return decoded_.strip; }
  std::int32_t stripped_prefix_count() const { return decoded_.strip_count; }
  /// Whether ill-formed bytes decode to one U+FFFD each (SentencePiece) instead of one for each
  /// maximal ill-formed part (byte-level BPE).
  bool replaces_every_byte() const { return decoded_.replace_every_byte; }

 private:
  /// The added tokens of one combination of options.
  struct Search {
    AddedTokens raw;         ///< found in the original text
    AddedTokens normalized;  ///< found in the normalised text
  };
  /// One set per combination of options.
  struct Searches {
    Search plain, user_defined, special;
  };
  struct Scratch;
  /// `all_raw`: all wanted tokens are found in the original text.
  Searches make_searches(const TokenizerData& data, bool all_raw) const;
  Search make_search(const TokenizerData& data, bool special, bool user_defined,
                     bool all_raw) const;
  const Search& search_for(const EncodeOptions& options) const;
  void encode_with(const Search& search, std::span<const TextSpan> spans, std::string_view text,
                   std::vector<std::int32_t>& ids) const;
  /// Encodes a range of the text without raw tokens.
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

/// The tokenizer that `data` describes. Appends notes for the user to `warnings`, one line each.
///
/// Errors:  model_error(file, "tokenizer", 0, reason) for anything unknown, missing or
/// contradictory.
std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerData& data,
                                          std::vector<std::string>& warnings);

}  // namespace ingot
