// Saturating sums: counts that stay at a limit instead of overflowing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace ingot {

/// Returns a + b, or `limit` if the sum is larger. `a` must not exceed `limit`.
inline std::uint64_t add_saturating(
    std::uint64_t a, std::uint64_t b,
    std::uint64_t limit = std::numeric_limits<std::uint64_t>::max()) {
  return a > limit - std::min(b, limit) ? limit : a + b;
}

}  // namespace ingot
