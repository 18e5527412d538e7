// Tests of failed loads: how long they count, and for which state of a folder.
#include "server/common/load_failures.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(LoadFailures, OneCountsForSecondsAndForOneStateOfItsFolder) {
  LoadFailures failures;
  const LoadFailures::Clock::time_point now{};
  const FolderState state{.device = 1, .inode = 2, .modified_ns = 3};
  failures.add("a", state, Error(ErrorCode::kModel, "a: wrong"), now);
  const Error* found = failures.find("a", state, now);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->message(), "a: wrong");
  EXPECT_EQ(failures.find("b", state, now), nullptr);
  EXPECT_EQ(failures.find("a", {.device = 1, .inode = 4, .modified_ns = 3}, now), nullptr);
  EXPECT_EQ(failures.find("a", {.device = 1, .inode = 2, .modified_ns = 4}, now), nullptr);
  EXPECT_NE(failures.find("a", state, now + LoadFailures::kKept - std::chrono::seconds(1)),
            nullptr);
  EXPECT_EQ(failures.find("a", state, now + LoadFailures::kKept), nullptr);
  failures.clear();
  EXPECT_EQ(failures.find("a", state, now), nullptr);
}

TEST(LoadFailures, TheirNumberIsLimited) {
  LoadFailures failures;
  const LoadFailures::Clock::time_point now{};
  const Error error(ErrorCode::kModel, "wrong");
  for (int i = 0; i <= 1024; ++i) failures.add(std::to_string(i), {}, error, now);
  EXPECT_EQ(failures.find("0", {}, now), nullptr);
  EXPECT_NE(failures.find("1024", {}, now), nullptr);
}

}  // namespace
}  // namespace ingot
