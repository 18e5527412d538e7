// StateTuple: several states of automata as one state of a product or a subset construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot {

/// The states that a product's state stands for.
using StateTuple = std::vector<std::int32_t>;

/// A product may have more states before it is minimal. The value bounds memory to about 50 MB.
inline constexpr std::size_t kRawStatesMax = 320'000;

/// Hashes a vector or an array of states.
struct StateTupleHash {
  template <class Tuple>
  std::size_t operator()(const Tuple& tuple) const {
    std::uint64_t hash = tuple.size();
    for (const std::int32_t value : tuple) {
      hash = (hash ^ static_cast<std::uint32_t>(value)) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

}  // namespace ingot
