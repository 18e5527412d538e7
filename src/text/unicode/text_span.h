// TextSpan: a range of a text's bytes.
#pragma once

#include <cstddef>

namespace ingot {

/// Bytes [begin, end) of a text.
struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  friend bool operator==(const TextSpan&, const TextSpan&) = default;
};

}  // namespace ingot
