// find_cut: finds where to cut a list behind its best elements, as top_p does, without sorting it.
#pragma once

#include <cstdint>
#include <span>

namespace ingot {

/// The last element that a cut keeps, in the order of descending key, then ascending index.
struct Cut {
  float key = 0;
  std::int64_t last = 0;  ///< index of the last element with this key that stays

  /// Whether the cut keeps the element at index `place`. Has no branches, which would mispredict.
  bool keeps(float other, std::int64_t place) const {
    return static_cast<bool>(static_cast<int>(other > key) |
                             (static_cast<int>(other == key) & static_cast<int>(place <= last)));
  }
};

/// Finds the cut of a list in the order of descending key, then ascending index: behind the first
/// element at which the sum of weights reaches `target`. If the sum never does, all elements stay.
///
/// -0 and +0 are equal keys. Takes linear time: builds a histogram of the leading 11 bits of the
/// keys' differences to the best, then of the next 11 bits within the bin of the cut, and so on; a
/// bin of at most 32 keys is sorted. Sums are doubles, within a bin by index, then over bins.
///
/// Shapes: keys [n], none NaN; weights [n], none negative, or empty for 1 each; places [n] is
/// overwritten; n >= 1.
Cut find_cut(std::span<const float> keys, std::span<const float> weights, double target,
             std::span<std::int32_t> places);

}  // namespace ingot
