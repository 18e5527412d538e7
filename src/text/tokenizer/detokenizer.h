// Token ids to text, a token at a time, in whole characters only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// What decoding writes besides the text itself.
struct DetokenizeOptions {
  bool keep_control = false;  ///< write control tokens as their text instead of nothing
  bool strip_leading_space =
      true;  ///< write no space in front that encoding had to put there; off to continue a text
};

/// Turns a stream of tokens into a stream of text. What has been written is always valid UTF-8: the
/// bytes of an unfinished character are held back (3 at most) until they are complete, known to be
/// wrong, or the end.
///
/// Cost:    O(bytes of the token).
class Detokenizer {
 public:
  /// The tokenizer must outlive it.
  explicit Detokenizer(const Tokenizer& tokenizer, const DetokenizeOptions& options = {})
      : tokenizer_(&tokenizer), options_(options) {}

  /// Appends what `id` completes to `out`. An id outside of the vocabulary becomes U+FFFD.
  void push(std::int32_t id, std::string& out);

  /// The bytes that `id`, of the vocabulary, adds behind what was pushed before, in place of a
  /// push: nothing for a control token unless these are kept.
  std::string_view next_bytes(std::int32_t id);

  /// Appends U+FFFD for an unfinished character that is still held; the next text starts afresh.
  void finish(std::string& out);

 private:
  /// A first token's text without what encoding put in front.
  std::string_view without_prefix(std::string_view bytes) const;

  /// Moves the first `size` held bytes to `out`, ill-formed ones replaced.
  void release(std::size_t size, std::string& out);

  const Tokenizer* tokenizer_;
  DetokenizeOptions options_;
  std::string held_;
  bool at_start_ = true;
};

/// The text of all tokens at once: what the stream gives, joined.
std::string detokenize(const Tokenizer& tokenizer, std::span<const std::int32_t> ids,
                       const DetokenizeOptions& options = {});

}  // namespace ingot
