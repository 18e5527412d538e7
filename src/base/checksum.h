// checksum: a fast hash of bytes that detects accidental damage. It is not cryptographic.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace ingot {

/// Updates eight hashes with the words of zero-padded `bytes`: h = rotl((h ^ word) * odd, 29). A
/// ninth combines them and the length. As updates are bijections, one wrong word changes the ninth.
inline std::uint64_t checksum(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio, an odd number
  constexpr std::size_t kChains = 8;
  const auto step = [](std::uint64_t h, std::uint64_t word) {
    return std::rotl((h ^ word) * kOdd, 29);
  };
  std::array<std::uint64_t, kChains> h{};
  std::array<std::uint64_t, kChains> words{};
  for (std::size_t at = 0; at < bytes.size(); at += sizeof words) {
    const std::size_t count = std::min(sizeof words, bytes.size() - at);
    if (count < sizeof words) words = {};
    std::memcpy(words.data(), bytes.data() + at, count);
    for (std::size_t i = 0; i < kChains; ++i) h[i] = step(h[i], words[i]);
  }
  std::uint64_t sum = bytes.size();
  for (const std::uint64_t chain : h) sum = step(sum, chain);
  return sum;
}

}  // namespace ingot
