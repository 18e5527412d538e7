// Tests of raising the limit of descriptors.
#include "server/descriptors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace ingot {
namespace {

TEST(Descriptors, AreRaisedAsFarAsTheSystemLets) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_GE(before.rlim_max, 512U);
  rlimit low = before;
  low.rlim_cur = 256;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(raise_descriptor_limit(100), 256) << "what is higher stays";
  EXPECT_EQ(raise_descriptor_limit(300), 300);
  rlimit now{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, 300U);
  if (before.rlim_max != RLIM_INFINITY) {
    const auto most = static_cast<std::int64_t>(before.rlim_max);
    EXPECT_EQ(raise_descriptor_limit(most + 1), most);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace ingot
