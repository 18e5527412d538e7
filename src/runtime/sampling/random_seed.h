// random_seed: draws the seed of a request that asks for a random one.
#pragma once

#include <cstdint>

namespace ingot {

/// Draws a random seed below 2^53. Clients that read JSON numbers as doubles keep such a seed
/// exactly, so they can send it again. Thread-safe.
std::uint64_t random_seed();

}  // namespace ingot
