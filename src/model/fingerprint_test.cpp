// Fingerprints of results: what changes them.
#include "model/fingerprint.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(SystemFingerprint, DependsOnTheModelTheKvTypeAndTheNumerics) {
  const std::string one = system_fingerprint({1, 2}, "F16", "canon-1");
  EXPECT_EQ(one.size(), 19u);
  EXPECT_TRUE(one.starts_with("fp_"));
  EXPECT_EQ(one, system_fingerprint({1, 2}, "F16", "canon-1"));
  EXPECT_NE(one, system_fingerprint({1, 2}, "F32", "canon-1"));
  EXPECT_NE(one, system_fingerprint({2, 1}, "F16", "canon-1"));
  EXPECT_NE(one, system_fingerprint({1, 2}, "F16", "fast-1"));
}

}  // namespace
}  // namespace ingot
