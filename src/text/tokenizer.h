// Text to token ids, by the rules of the model's own tokenizer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/tokenizer_data.h"
#include "text/piece_trie.h"
#include "text/vocabulary.h"

namespace ingot {

/// What encode does besides plain text. Without these a text can never become a special token.
struct EncodeOptions {
  bool add_special = false;         ///< frame with BOS and EOS where the tokenizer's file says so
  bool parse_special = false;       ///< control and user-defined tokens in the text become tokens
  bool parse_user_defined = false;  ///< only the user-defined ones (`<think>`, `<tool_call>`)
};

/// A tokenizer. Immutable: all functions may be called from several threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// The tokens of `text`, which may hold anything: NUL is a character, and bytes that are not
  /// valid UTF-8 are encoded as bytes where the vocabulary can.
  ///
  /// Cost:    O(n log n) in time, about 20 bytes of memory a byte of text; no recursion.
  /// Errors:  Error{kInvalid} for a text of 2 GiB or more.
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;

  /// The bytes that a token stands for, which need not be whole characters: a space for U+2581 of
  /// SentencePiece, the byte of a byte token, the text of a control token. Empty for an id outside
  /// of the vocabulary.
  std::string_view piece(std::int32_t id) const;
  /// kUnused for an id outside of the vocabulary.
  TokenType type(std::int32_t id) const;

  std::int32_t size() const { return static_cast<std::int32_t>(vocabulary_.types.size()); }
  std::optional<std::int32_t> bos() const { return vocabulary_.bos; }
  std::optional<std::int32_t> eos() const { return vocabulary_.eos; }
  std::optional<std::int32_t> unknown() const { return vocabulary_.unknown; }
  std::optional<std::int32_t> padding() const { return vocabulary_.padding; }
  std::optional<std::int32_t> eot() const { return vocabulary_.eot; }
  /// Whether `add_special` puts a BOS in front, an EOS behind.
  bool adds_bos() const { return vocabulary_.add_bos && vocabulary_.bos; }
  bool adds_eos() const { return vocabulary_.add_eos && vocabulary_.eos; }

  /// Bytes of the longest piece.
  std::size_t longest_piece() const { return longest_piece_; }
  /// The most bytes of text that one token can stand for, nothing when there is no bound: a longer
  /// text than this times n has more than n tokens, which can be said without encoding it.
  std::optional<std::size_t> text_bytes_per_token_max() const;

  /// Whether encode puts a space in front of a text, which decoding has to take away again.
  bool adds_space_prefix() const { return traits_.space_prefix; }
  /// Whether ill-formed bytes decode to one U+FFFD each (SentencePiece) instead of one for each
  /// maximal ill-formed part (byte-level BPE).
  bool replaces_every_byte() const { return traits_.replace_every_byte; }

 protected:
  /// How kinds of tokenizers differ where it shows from outside.
  struct Traits {
    PieceTrie special;       ///< texts, as in the file, that parse_special turns into tokens
    PieceTrie user_defined;  ///< the same for parse_user_defined
    bool space_prefix = false;
    bool replace_every_byte = false;
    /// By how much normalisation can shrink a text; 0 when encoding can lose any number of bytes.
    std::size_t shrink_max = 1;
  };
  Tokenizer(Vocabulary vocabulary, Traits traits);

  /// Appends the tokens of a text in which nothing is special.
  virtual void encode_plain(std::string_view text, std::vector<std::int32_t>& ids) const = 0;

  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
  Traits traits_;
  std::size_t longest_piece_ = 0;
};

/// The tokenizer that `data` describes; what a user should know about it is appended to `warnings`,
/// a line each.
///
/// `tokenizer.ggml.model` is "llama" (SentencePiece BPE) or "gpt2" (byte-level BPE).
/// `tokenizer.ggml.pre` of the former is "default", of the latter one that find_pretokenizer knows;
/// when absent it is "default" or "gpt-2", with a warning.
///
/// Errors:  model_error(file, "tokenizer", 0, reason) for anything unknown, missing or
/// contradictory.
std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerData& data,
                                          std::vector<std::string>& warnings);

}  // namespace ingot
