// Draws: the pseudo-random numbers of a benchmark's traffic.
#pragma once

#include <array>
#include <cstdint>

#include "base/philox.h"

namespace ingot {

/// The purpose of a series of random numbers. Each purpose has its own series.
enum class DrawPurpose : std::uint32_t {
  kGap = 1,
  kInputLength,
  kOutputLength,
  kSharedPrefix,
  kBlock,
  kPrompt,
  kSeed,
  kSample,
};

/// A series of random numbers that depends only on seed, purpose and index.
class Draws {
 public:
  Draws(std::uint64_t seed, DrawPurpose purpose, std::uint64_t index)
      : key_{low(seed), high(seed)},
        purpose_(static_cast<std::uint32_t>(purpose)),
        index_(static_cast<std::uint32_t>(index)) {}

  std::uint32_t next() {
    const std::uint64_t block = place_ / 4;
    if (place_ % 4 == 0) four_ = philox4x32({low(block), high(block), index_, purpose_}, key_);
    return four_[place_++ % 4];
  }
  /// Returns a number below n <= 2^32, uniform up to a relative error of n / 2^32.
  std::uint64_t below(std::uint64_t n) { return (next() * n) >> 32; }
  /// Returns a number in (0, 1].
  double uniform() { return (next() + 1.0) * 0x1p-32; }

 private:
  static std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
  static std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

  std::array<std::uint32_t, 2> key_;
  std::uint32_t purpose_;
  std::uint32_t index_;
  std::uint64_t place_ = 0;
  std::array<std::uint32_t, 4> four_{};
};

}  // namespace ingot
