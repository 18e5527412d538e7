// Tests of the floating-point environment: a changed one is seen, and repaired.
#include "base/fp_env.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cstdint>

namespace ingot {
namespace {

#if defined(__x86_64__)
constexpr std::uint64_t kFlushToZero = 0x8000;
constexpr std::uint64_t kDenormalsAreZero = 0x0040;
constexpr std::uint64_t kRoundUp = 0x4000;
void toggle(std::uint64_t bits) {
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() ^ static_cast<std::uint32_t>(bits));
}
#elif defined(__aarch64__)
constexpr std::uint64_t kFlushToZero = std::uint64_t{1} << 24;
constexpr std::uint64_t kDenormalsAreZero = std::uint64_t{1} << 24;
constexpr std::uint64_t kRoundUp = std::uint64_t{1} << 22;
void toggle(std::uint64_t bits) {
  std::uint64_t value;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  value ^= bits;
  asm volatile("msr fpcr, %0" : : "r"(value));
}
#endif

/// Half of the smallest normal float, computed now.
float half_of_smallest() {
  volatile float smallest = 0x1p-126f;
  volatile float half = 0.5f;
  return smallest * half;
}

class FpEnv : public ::testing::Test {
 protected:
  void SetUp() override { set_canonical_fp(); }
  void TearDown() override { set_canonical_fp(); }
};

TEST_F(FpEnv, FlushToZeroIsSeenAndRepaired) {
  EXPECT_TRUE(fp_is_canonical());
  EXPECT_EQ(half_of_smallest(), 0x1p-127f);
  toggle(kFlushToZero);
  EXPECT_EQ(half_of_smallest(), 0.0f);
  EXPECT_FALSE(fp_is_canonical());
  set_canonical_fp();
  EXPECT_TRUE(fp_is_canonical());
  EXPECT_EQ(half_of_smallest(), 0x1p-127f);
}

TEST_F(FpEnv, DenormalsAreZeroIsSeenAndRepaired) {
  toggle(kDenormalsAreZero);
  EXPECT_FALSE(fp_is_canonical());
  set_canonical_fp();
  volatile float denormal = 0x1p-140f;
  volatile float big = 0x1p100f;
  EXPECT_EQ(denormal * big, 0x1p-40f);
}

TEST_F(FpEnv, RoundingIsSeenAndRepaired) {
  toggle(kRoundUp);
  volatile float one = 1.0f;
  volatile float little = 0x1p-40f;
  EXPECT_GT(one + little, 1.0f);
  EXPECT_FALSE(fp_is_canonical());
  set_canonical_fp();
  EXPECT_EQ(one + little, 1.0f);
}

TEST_F(FpEnv, AScopeIsCanonicalAndGivesBackWhatWasThere) {
  toggle(kRoundUp | kFlushToZero);
  {
    const CanonicalFp canonical;
    EXPECT_TRUE(fp_is_canonical());
  }
  volatile float one = 1.0f;
  volatile float little = 0x1p-40f;
  EXPECT_GT(one + little, 1.0f);
  EXPECT_EQ(half_of_smallest(), 0.0f);
}

TEST_F(FpEnv, StickyFlagsDoNotCount) {
  std::feclearexcept(FE_ALL_EXCEPT);
  volatile float one = 1.0f;
  volatile float zero = 0.0f;
  volatile float infinity = one / zero;
  static_cast<void>(infinity);
  EXPECT_NE(std::fetestexcept(FE_DIVBYZERO), 0);
  EXPECT_TRUE(fp_is_canonical());
}

}  // namespace
}  // namespace ingot
