// find_cut: finds where to cut a list behind its best elements, as top_p does, without sorting it.
#pragma once

#include <cstdint>
#include <span>

namespace ingot {

/// The last element that a cut keeps. Elements are ordered by descending key, then ascending index.
struct Cut {
  float key = 0;
  std::int64_t last = 0;  ///< index of the last kept element with this key

  /// Whether the cut keeps the element with key `other` at index `place`. Avoids slow branches.
  bool keeps(float other, std::int64_t place) const {
    return static_cast<bool>(static_cast<int>(other > key) |
                             (static_cast<int>(other == key) & static_cast<int>(place <= last)));
  }
};

/// Sums weights in the order of descending key, then ascending index. Cuts the list behind the
/// first element at which the sum reaches `target`. If the sum never reaches it, all elements stay.
///
/// -0 and +0 are equal keys. Takes linear time. It builds a histogram of the leading 11 bits of the
/// keys' differences to the largest key, then of the next 11 bits within the bin of the cut, and so
/// on. A bin of at most 32 keys is sorted. Sums are doubles, within a bin by index, then over bins.
///
/// Shapes: n >= 1; keys [n], no NaN; weights [n], not negative, or empty if all weights are 1;
/// places [n], which is overwritten.
Cut find_cut(std::span<const float> keys, std::span<const float> weights, double target,
             std::span<std::int32_t> places);

}  // namespace ingot
