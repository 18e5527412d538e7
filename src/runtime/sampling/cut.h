// find_cut: finds where to cut a list after its best elements, as top_p does, without sorting it.
#pragma once

#include <cstdint>
#include <span>

namespace ingot {

/// The last element that a cut keeps. Elements are ordered by descending key, then ascending index.
struct Cut {
  float key = 0;
  std::int64_t last = 0;  ///< index of the last kept element, which has the key `key`

  /// Returns whether the cut keeps an element with key `other` and index `place`. Has no branches.
  bool keeps(float other, std::int64_t place) const {
    return static_cast<bool>(static_cast<int>(other > key) |
                             (static_cast<int>(other == key) & static_cast<int>(place <= last)));
  }
};

/// Sums weights by descending key, then ascending index. Cuts the list after the first element at
/// which the sum reaches `target`. If the sum never reaches `target`, keeps all elements.
///
/// Takes linear time. Sums the weights in 2,048 bins of keys, then divides the bin that contains
/// the cut into bins again. Sorts a bin with at most 32 keys instead. If all weights are 1, selects
/// from up to 256 keys without bins. -0 and +0 are equal keys. The sums are doubles: first over
/// each bin's weights by index, then over the bins.
///
/// Shapes: n >= 1; keys [n], no NaN; weights [n], not negative, or empty if all weights are 1;
/// places [n], which is overwritten.
Cut find_cut(std::span<const float> keys, std::span<const float> weights, double target,
             std::span<std::int32_t> places);

}  // namespace ingot
