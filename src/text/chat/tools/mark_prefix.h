// begun_mark: how much of a mark the end of a text may begin.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace ingot {

/// Returns the size of the longest proper beginning of `mark` with which `text` ends.
inline std::size_t begun_mark(std::string_view text, std::string_view mark) {
  for (std::size_t n = std::min(text.size(), mark.size() - 1); n > 0; --n) {
    if (text.ends_with(mark.substr(0, n))) return n;
  }
  return 0;
}

}  // namespace ingot
