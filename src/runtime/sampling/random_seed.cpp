// random_seed: draws the seed of a request that asks for a random one.
#include "runtime/sampling/random_seed.h"

#include <random>

namespace ingot {

std::uint64_t random_seed() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return generator() >> 11;
}

}  // namespace ingot
