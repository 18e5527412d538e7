// Tests of Checked: sums and products are exact or absent.
#include "base/checked.h"

#include <gtest/gtest.h>

#include <limits>

namespace ingot {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
using Value = std::optional<std::uint64_t>;

TEST(Checked, ExactUpToTheLastValue) {
  EXPECT_EQ((Checked(kMax - 1) + 1).value(), Value(kMax));
  EXPECT_EQ((Checked(1ull << 32) * ((1ull << 32) - 1)).value(), Value(kMax - 0xFFFFFFFF));
  EXPECT_EQ((Checked(kMax) * 0).value(), Value(0));
  EXPECT_EQ((Checked(0) + Checked(0)).value(), Value(0));
}

TEST(Checked, OverflowIsAbsent) {
  EXPECT_EQ((Checked(kMax) + 1).value(), std::nullopt);
  EXPECT_EQ((Checked(1ull << 32) * (1ull << 32)).value(), std::nullopt);
}

TEST(Checked, OverflowSticks) {
  const Checked lost = Checked(kMax) + 1;
  EXPECT_EQ((lost * 0).value(), std::nullopt);
  EXPECT_EQ((lost + 5).value(), std::nullopt);
  EXPECT_EQ((Checked(5) + lost).value(), std::nullopt);
  EXPECT_EQ((Checked(0) * lost).value(), std::nullopt);
  EXPECT_EQ(lost.align_up(32).value(), std::nullopt);
}

TEST(Checked, AlignsUp) {
  EXPECT_EQ(Checked(0).align_up(32).value(), Value(0));
  EXPECT_EQ(Checked(1).align_up(32).value(), Value(32));
  EXPECT_EQ(Checked(32).align_up(32).value(), Value(32));
  EXPECT_EQ(Checked(33).align_up(32).value(), Value(64));
  EXPECT_EQ(Checked(33).align_up(1).value(), Value(33));
  EXPECT_EQ(Checked(kMax - 31).align_up(32).value(), Value(kMax - 31));
  EXPECT_EQ(Checked(kMax - 30).align_up(32).value(), std::nullopt);
}

TEST(Checked, Limits) {
  EXPECT_EQ(Checked(7).at_most(7), Value(7));
  EXPECT_EQ(Checked(8).at_most(7), std::nullopt);
  EXPECT_EQ((Checked(kMax) + 1).at_most(kMax), std::nullopt);
}

TEST(Checked, IsUsableInConstants) {
  static_assert((Checked(6) * 7 + 1).align_up(8).value() == 48);
}

}  // namespace
}  // namespace ingot
