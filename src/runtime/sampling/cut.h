// Cutting a list behind its best elements, without sorting it.
#pragma once

#include <cstdint>
#include <span>

namespace ingot {

/// Where a list in the order of falling key, then rising place, is cut.
struct Cut {
  float key = 0;
  std::int64_t last = 0;  ///< of the elements whose key is `key`, those up to this place stay

  /// Without branches: in a long list they would be guessed wrong.
  bool keeps(float other, std::int64_t place) const {
    return static_cast<bool>(static_cast<int>(other > key) |
                             (static_cast<int>(other == key) & static_cast<int>(place <= last)));
  }
};

/// The shortest beginning, in the order of falling key, then rising place, whose weights' sum
/// reaches `target`, and at least one element; the whole list where no sum does.
///
/// -0 and +0 are equal keys. Time is linear: keys are counted by their leading 11 bits of
/// difference to the best, then the ones in the bin where the target falls by the next 11, and so
/// on; a bin of 32 is sorted. Sums are of doubles: within a bin by place, then over bins.
///
/// Shapes: keys [n], none NaN; weights [n], none negative, or empty for 1 each; places [n] is
/// overwritten; n >= 1.
Cut find_cut(std::span<const float> keys, std::span<const float> weights, double target,
             std::span<std::int32_t> places);

}  // namespace ingot
