// MarkedText: a text that knows which of its bytes a template wrote.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/unicode/text_span.h"

namespace ingot {

/// The origin of a byte: the template, or data (messages, tools, other variables).
enum class Origin { kData, kTemplate };

/// Bytes, and the ranges that the template wrote: ascending, disjoint and never touching, so that
/// equal texts have equal ranges. A special token is parsed only inside such a range.
struct MarkedText {
  std::string bytes;
  std::vector<TextSpan> own;

  /// Appends `text`, which has one origin.
  void append(std::string_view text, Origin origin);
  /// Appends bytes [begin, end) of `text` with their origins.
  void append(const MarkedText& text, std::size_t begin, std::size_t end);
  void append(const MarkedText& text) { append(text, 0, text.bytes.size()); }
  /// The origin of the byte at `at`.
  Origin origin(std::size_t at) const;

 private:
  void mark(std::size_t begin, std::size_t end);
};

}  // namespace ingot
