// find_cut: where a list is cut behind its best elements, without sorting it.
#pragma once

#include <cstdint>
#include <span>

namespace ingot {

/// A cut of a list in the order of descending key, then ascending place.
struct Cut {
  float key = 0;
  std::int64_t last = 0;  ///< elements of this key stay up to this place

  /// Without branches, which would be mispredicted in a long list.
  bool keeps(float other, std::int64_t place) const {
    return static_cast<bool>(static_cast<int>(other > key) |
                             (static_cast<int>(other == key) & static_cast<int>(place <= last)));
  }
};

/// The shortest beginning, in the order of descending key, then ascending place, whose weights' sum
/// reaches `target`, and at least one element; the whole list if its sum does not.
///
/// -0 and +0 are equal keys. Takes linear time: keys are counted by the leading 11 bits of their
/// difference to the best, then those in the bin that the target falls into by the next 11 bits,
/// and so on; a bin of 32 keys is sorted. Sums are doubles, within a bin by place, then over bins.
///
/// Shapes: keys [n], none NaN; weights [n], none negative, or empty for 1 each; places [n] is
/// overwritten; n >= 1.
Cut find_cut(std::span<const float> keys, std::span<const float> weights, double target,
             std::span<std::int32_t> places);

}  // namespace ingot
