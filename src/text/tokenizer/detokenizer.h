// Detokenizer: turns token ids into text, one token at a time, in whole UTF-8 characters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// Options of decoding.
struct DetokenizeOptions {
  bool keep_control = false;  ///< whether control tokens such as <|im_end|> are written
  /// Whether to drop the space that encoding added in front. Use false if another text precedes.
  bool strip_leading_space = true;
};

/// Turns a stream of tokens into a stream of valid UTF-8. It holds back the bytes of an
/// unfinished character (at most 3) until the next token or the end of the text.
///
/// Cost:    O(bytes of the token).
class Detokenizer {
 public:
  /// `tokenizer` must outlive this object.
  explicit Detokenizer(const Tokenizer& tokenizer, const DetokenizeOptions& options = {})
      : tokenizer_(&tokenizer), options_(options) {}

  /// Adds a token and appends finished text to `out`; U+FFFD for an id outside the vocabulary.
  void push(std::int32_t id, std::string& out);

  /// Adds a token and returns its bytes, without joining them to whole characters. Call it in place
  /// of `push`. `id` must be in the vocabulary. Control tokens that are not kept have no bytes.
  std::string_view next_bytes(std::int32_t id);

  /// Ends the text: an unfinished character becomes U+FFFD. The next token begins a new text.
  void finish(std::string& out);

 private:
  /// Returns `bytes`, which belong to a text's first token, without the prefix that encoding added.
  std::string_view without_prefix(std::string_view bytes) const;

  /// Moves the first `size` held bytes to `out`; U+FFFD replaces ill-formed bytes.
  void release(std::size_t size, std::string& out);

  const Tokenizer* tokenizer_;
  DetokenizeOptions options_;
  std::string held_;
  bool at_start_ = true;
};

/// Decodes a complete list of tokens.
std::string detokenize(const Tokenizer& tokenizer, std::span<const std::int32_t> ids,
                       const DetokenizeOptions& options = {});

}  // namespace ingot
