// A text that knows which of its bytes a template wrote and which came from elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/unicode/text_span.h"

namespace ingot {

/// Who wrote a byte: the template's author, or anybody (messages, tools, other variables).
enum class Origin { kData, kTemplate };

/// Bytes, and the stretches of them that the template wrote: ascending, disjoint and never
/// touching, so that equal texts have equal stretches. A special token counts as one only within a
/// stretch.
struct MarkedText {
  std::string bytes;
  std::vector<TextSpan> own;

  /// Appends `text`, all of which is of one origin.
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
