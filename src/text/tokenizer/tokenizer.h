// Tokenizer: encodes text to token ids by the rules of the model's own tokenizer.
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
#include "text/tokenizer/fim.h"
#include "text/tokenizer/token_model.h"
#include "text/unicode/text_span.h"

namespace ingot {

/// Options of encoding. By default no text becomes a special token.
struct EncodeOptions {
  bool add_begin = false;           ///< adds BOS or CLS in front, as the tokenizer's file says
  bool add_end = false;             ///< adds EOS or SEP at the end, as the tokenizer's file says
  bool parse_special = false;       ///< turns names of control and user-defined tokens into tokens
  bool parse_user_defined = false;  ///< turns names of user-defined tokens (`<think>`) into tokens
  /// Ascending, disjoint ranges of the text in which encoding finds added tokens; absent:
  /// everywhere. An added token's name is ordinary text if the name does not lie inside one range.
  std::optional<std::span<const TextSpan>> added_within = std::nullopt;
};

/// A model's tokenizer. Immutable: any number of threads can use it.
///
/// Encoding cuts the text at added tokens and normalises the rest. It cuts the normalised text at
/// other added tokens, pre-tokenizes the rest, and passes each piece to the token model.
class Tokenizer {
 public:
  /// See make_tokenizer.
  Tokenizer(const TokenizerData& data, std::vector<std::string>& details);
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// Returns the tokens of `text`, which may hold any bytes, including NUL. Invalid UTF-8 becomes
  /// byte tokens if the vocabulary has byte tokens.
  ///
  /// Cost:    O(n log n) time, about 20 bytes of memory per byte of text; no recursion.
  /// Errors:  Error{kInvalid} for a text of 2 GiB or more, or if a pattern or step exceeds a limit.
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;
  /// Returns the tokens of a prompt that the model continues. If `add_begin` is true, adds BOS in
  /// front, unless the text begins with BOS. Adds no EOS. If `parse_special` is true, names of
  /// added tokens become these tokens: a rendered chat gives the tokens of ChatTemplate::encode.
  ///
  /// Errors:  as `encode`.
  std::vector<std::int32_t> encode_prompt(std::string_view text, bool parse_special,
                                          bool add_begin = true) const;

  /// Returns a token's decoded bytes, perhaps a part of a character: a space for U+2581, the byte
  /// of a byte token, the text of a control token. Empty for an id outside the vocabulary.
  std::string_view piece(std::int32_t id) const;
  /// Works as `piece`, for a text's first token: some tokenizers drop the token's leading space.
  std::string_view first_piece(std::int32_t id) const;
  /// Returns the type of a token; kUnused for an id outside the vocabulary.
  TokenType type(std::int32_t id) const;

  std::int32_t size() const { return static_cast<std::int32_t>(types_.size()); }
  std::optional<std::int32_t> bos() const { return bos_; }
  std::optional<std::int32_t> eos() const { return eos_; }
  std::optional<std::int32_t> eot() const { return eot_; }
  std::optional<std::int32_t> eom() const { return eom_; }
  std::optional<std::int32_t> unknown() const { return unknown_; }
  std::optional<std::int32_t> padding() const { return padding_; }
  /// Return whether `add_begin` adds a BOS, and whether `add_end` adds an EOS.
  bool adds_bos() const;
  bool adds_eos() const;
  /// Return the ids that `add_begin` and `add_end` add.
  std::span<const std::int32_t> frame_begin() const { return frame_begin_; }
  std::span<const std::int32_t> frame_end() const { return frame_end_; }
  /// Returns how a pair of texts becomes one sequence; empty if the tokenizer has no form for it.
  std::span<const PairPart> pair() const { return pair_; }
  /// Returns how the model fills in the middle of a text; nothing if its vocabulary cannot.
  const std::optional<FimFormat>& fim() const { return fim_; }

  /// Returns the most bytes of text that one token can stand for; nothing if there is no limit. A
  /// text of more than n times this size has more than n tokens, so a caller can refuse it early.
  std::optional<std::size_t> text_bytes_per_token_max() const;

  /// Returns the most bytes that a token's `piece` has.
  std::size_t piece_bytes_max() const { return longest_piece_; }

  /// Returns the prefix (a space) that decoding removes from a text.
  std::string_view stripped_prefix() const { return decoded_.strip; }
  /// Returns the most times that decoding removes `stripped_prefix()` from a text.
  std::int32_t stripped_prefix_count() const { return decoded_.strip_count; }
  /// Returns whether each ill-formed byte decodes to its own U+FFFD (SentencePiece). If not, each
  /// maximal ill-formed part decodes to one U+FFFD (byte-level BPE).
  bool replaces_every_byte() const { return decoded_.replace_every_byte; }

 private:
  /// The added tokens that encoding searches for with one combination of options.
  struct Search {
    AddedTokens raw;         ///< tokens to find in the original text
    AddedTokens normalized;  ///< tokens to find in the normalised text
  };
  /// One Search for each choice of options: none, parse_user_defined only, or parse_special.
  struct Searches {
    Search plain, user_defined, special;
  };
  struct Scratch;
  /// Makes the Searches. With `all_raw`, Search::raw also has tokens marked `normalized`, except
  /// tokens marked `always`.
  Searches make_searches(const TokenizerData& data, bool all_raw) const;
  Search make_search(const TokenizerData& data, bool special, bool user_defined,
                     bool all_raw) const;
  const Search& search_for(const EncodeOptions& options) const;
  void encode_with(const Search& search, std::span<const TextSpan> spans, std::string_view text,
                   std::vector<std::int32_t>& ids) const;
  /// Encodes a part of the text that has no tokens of Search::raw.
  void encode_stretch(const AddedTokens& normalized, std::string_view text, bool begins_text,
                      Scratch& scratch, std::vector<std::int32_t>& ids) const;

  std::vector<TokenType> types_;
  std::optional<std::int32_t> bos_, eos_, eot_, eom_, unknown_, padding_;
  std::vector<std::int32_t> frame_begin_, frame_end_;
  std::vector<PairPart> pair_;
  std::optional<FimFormat> fim_;
  Normalizer normalizer_;
  PretokenizerChain pretokenizers_;
  std::unique_ptr<const TokenModel> model_;
  DecodedPieces decoded_;
  Searches searches_;
  std::optional<Searches> searches_within_;  // used with added_within; absent if equal to searches_
  std::size_t longest_piece_ = 0;            // bytes of the longest decoded token
  bool strips_ = false;                      // whether an added token strips white space
};

/// Makes the tokenizer that `data` describes. Appends lines on which no user can act to `details`.
///
/// Errors:  model_error(file, "tokenizer", reason) for unknown, missing or contradictory data.
std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerData& data,
                                          std::vector<std::string>& details);

}  // namespace ingot
