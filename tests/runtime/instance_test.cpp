// Instance: what is planned before a model is loaded.
#include "runtime/instance.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

/// A plan for the whole pool and the plan that decides are the same plan, whatever else takes
/// memory in between.
TEST(Instance, EveryPlanIsMadeForTheSameMemory) {
  ThreadPool pool(1);
  const Instance instance(pool, {.path = INGOT_TINY_MODEL});
  const StartOptions options{.sequences = 4, .rows = 4, .generates = true};
  const std::int64_t before = instance.plan(options).available_bytes;
  const std::vector<char> taken(std::size_t{64} << 20, 1);
  EXPECT_EQ(instance.plan(options).available_bytes, before);
  EXPECT_EQ(taken.back(), 1);
}

TEST(Instance, ALimitIsWhatIsAvailable) {
  ThreadPool pool(1);
  const Instance instance(pool, {.path = INGOT_TINY_MODEL, .memory_limit = 12345});
  EXPECT_EQ(instance.plan({}).available_bytes, 12345);
}

}  // namespace
}  // namespace ingot
