// Detokenizer: turns token ids into text, one token at a time, in whole UTF-8 characters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// Options of decoding: which tokens and spaces become text.
struct DetokenizeOptions {
  bool keep_control = false;  ///< true: writes control tokens such as <|im_end|>; false: drops them
  /// Drops the space that encoding added in front of a text. Use false to continue another text.
  bool strip_leading_space = true;
  /// Control tokens that become text although `keep_control` is false. The ids must outlive the
  /// Detokenizer.
  std::span<const std::int32_t> markers{};
};

/// Turns tokens into valid UTF-8, one token at a time. Holds back an unfinished character (at most
/// 3 bytes) until the next token arrives or the text ends.
///
/// Cost:    O(bytes of the token) for each token.
class Detokenizer {
 public:
  /// Begins a text. `tokenizer` must outlive this object.
  explicit Detokenizer(const Tokenizer& tokenizer, const DetokenizeOptions& options = {})
      : tokenizer_(&tokenizer), options_(options) {}

  /// Adds a token and appends all finished characters to `out`; U+FFFD for an invalid id.
  void push(std::int32_t id, std::string& out);

  /// Adds a token and returns its bytes, perhaps a part of a character. Use it in place of `push`.
  /// `id` must be in the vocabulary. If `keep_control` is false, only the control tokens in
  /// `markers` have bytes.
  std::string_view next_bytes(std::int32_t id);

  /// Ends the text. Appends U+FFFD for an unfinished character. The next token begins a new text.
  void finish(std::string& out);

 private:
  bool drops(std::int32_t id) const;
  /// Returns a first token's `bytes` without the prefix that encoding added to the text.
  std::string_view without_prefix(std::string_view bytes) const;

  /// Moves the first `size` bytes of held_ to `out`, with U+FFFD in place of ill-formed bytes.
  void release(std::size_t size, std::string& out);

  const Tokenizer* tokenizer_;
  DetokenizeOptions options_;
  std::string held_;
  bool at_start_ = true;
};

/// Decodes a complete list of tokens to a text.
std::string detokenize(const Tokenizer& tokenizer, std::span<const std::int32_t> ids,
                       const DetokenizeOptions& options = {});

}  // namespace ingot
