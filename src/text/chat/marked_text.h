// MarkedText: text with the ranges that a chat template wrote. Users cannot inject special tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/unicode/text_span.h"

namespace ingot {

/// The origin of a byte: the template, or data (messages, tools, other variables).
enum class Origin { kData, kTemplate };

/// Text in which each byte has an origin. A special token is parsed only inside a range of `own`.
struct MarkedText {
  std::string bytes;
  std::vector<TextSpan> own;  ///< ranges that the template wrote; ascending; no two ranges touch

  /// Appends `text`; all its bytes have the origin `origin`.
  void append(std::string_view text, Origin origin);
  /// Appends bytes [begin, end) of `text` with their origins.
  void append(const MarkedText& text, std::size_t begin, std::size_t end);
  void append(const MarkedText& text) { append(text, 0, text.bytes.size()); }
  /// Returns the origin of the byte at index `at`.
  Origin origin(std::size_t at) const;

 private:
  void mark(std::size_t begin, std::size_t end);
};

}  // namespace ingot
