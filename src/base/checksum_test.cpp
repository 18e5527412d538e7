// Tests of checksum: it detects any single changed byte and any changed length.
#include "base/checksum.h"

#include <gtest/gtest.h>

#include <vector>

namespace ingot {
namespace {

TEST(Checksum, TellsEveryChangedByte) {
  for (const std::size_t count : {1u, 7u, 8u, 63u, 64u, 65u, 200u}) {
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(37 * i);
    const std::uint64_t sum = checksum(bytes);
    for (std::byte& b : bytes) {
      b ^= std::byte{1};
      EXPECT_NE(checksum(bytes), sum);
      b ^= std::byte{1};
    }
    EXPECT_EQ(checksum(bytes), sum);
  }
}

TEST(Checksum, TellsZerosBehindTheEnd) {
  const std::vector<std::byte> zeros(130);
  const std::span<const std::byte> all(zeros);
  for (std::size_t count = 0; count < zeros.size(); ++count) {
    EXPECT_NE(checksum(all.first(count)), checksum(all.first(count + 1))) << count;
  }
}

TEST(Checksum, TellsSwappedWords) {
  std::vector<std::byte> bytes(128, std::byte{1});
  bytes[3] = std::byte{9};
  std::vector<std::byte> swapped(128, std::byte{1});
  swapped[64 + 3] = std::byte{9};
  EXPECT_NE(checksum(bytes), checksum(swapped));
}

}  // namespace
}  // namespace ingot
