// Known-answer tests of Philox4x32-10.
#include "base/philox.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

using Counter = std::array<std::uint32_t, 4>;

/// Source: the known answers that accompany the paper's own implementation (Random123, kat_vectors,
/// philox4x32 10).
TEST(Philox, KnownAnswers) {
  constexpr std::uint32_t kOnes = 0xFFFFFFFF;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Counter{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Counter{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  // Digits of pi.
  EXPECT_EQ(philox4x32({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}),
            (Counter{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

TEST(Philox, IsUsableInConstants) {
  static_assert(philox4x32({0, 0, 0, 0}, {0, 0})[0] == 0x6627E8D5);
}

}  // namespace
}  // namespace ingot
