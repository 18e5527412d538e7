// Random numbers of a seed, and the hash that replaces a model's arithmetic.
#pragma once

#include <cstdint>

namespace ingot::sim {

/// Hashes `x` into `h`: every bit of both changes every bit of the result.
inline std::uint64_t mix(std::uint64_t h, std::uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;
  h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
  return h ^ (h >> 29);
}

/// A stream of numbers that depends on its seed alone, on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix(0x1d872b41u, seed)) {}

  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15u, 0x2545f491u); }
  /// In [0, n).
  std::int32_t below(std::int64_t n) {
    return static_cast<std::int32_t>((next() >> 33) % static_cast<std::uint64_t>(n));
  }
  /// In [first, last].
  std::int32_t between(std::int64_t first, std::int64_t last) {
    return static_cast<std::int32_t>(first) + below(last - first + 1);
  }
  /// In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// True with probability `p`. For p = 0 no number is drawn.
  bool chance(double p) { return p > 0 && unit() < p; }

 private:
  std::uint64_t state_;
};

}  // namespace ingot::sim
