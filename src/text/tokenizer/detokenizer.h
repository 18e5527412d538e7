// Detokenizer: token ids to text, one token at a time, in whole characters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// Options of decoding.
struct DetokenizeOptions {
  bool keep_control = false;  ///< write control tokens as their text instead of nothing
  bool strip_leading_space =
      true;  ///< drop the space that encoding put in front; false when continuing a text
};

/// Turns a stream of tokens into a stream of text. The written text is always valid UTF-8: bytes of
/// an unfinished character (at most 3) are held back until they are complete, wrong, or last.
///
/// Cost:    O(bytes of the token).
class Detokenizer {
 public:
  /// The tokenizer must outlive it.
  explicit Detokenizer(const Tokenizer& tokenizer, const DetokenizeOptions& options = {})
      : tokenizer_(&tokenizer), options_(options) {}

  /// Appends the text that `id` completes to `out`. An id outside the vocabulary becomes U+FFFD.
  void push(std::int32_t id, std::string& out);

  /// The bytes that pushing `id` (inside the vocabulary) would add; empty for a control token
  /// unless control tokens are kept. Takes the place of a push.
  std::string_view next_bytes(std::int32_t id);

  /// Appends U+FFFD for an unfinished character and resets for the next text.
  void finish(std::string& out);

 private:
  /// A first token's text without the prefix that encoding added.
  std::string_view without_prefix(std::string_view bytes) const;

  /// Moves the first `size` held bytes to `out`, ill-formed ones replaced.
  void release(std::size_t size, std::string& out);

  const Tokenizer* tokenizer_;
  DetokenizeOptions options_;
  std::string held_;
  bool at_start_ = true;
};

/// The text of all tokens at once.
std::string detokenize(const Tokenizer& tokenizer, std::span<const std::int32_t> ids,
                       const DetokenizeOptions& options = {});

}  // namespace ingot
