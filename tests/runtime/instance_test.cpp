// Instance: what is planned before a model is loaded.
#include "runtime/instance.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/error.h"

namespace ingot {
namespace {

/// A plan for the whole pool and the plan that decides are the same plan, whatever else takes
/// memory in between.
TEST(Instance, EveryPlanIsMadeForTheSameMemory) {
  ThreadPool pool(1);
  const Instance instance(pool, {.path = INGOT_TINY_MODEL});
  const StartOptions options{.sequences = 4, .rows = 4, .generates = true};
  const std::int64_t before = instance.plan(options).host.available_bytes;
  const std::vector<char> taken(std::size_t{64} << 20, 1);
  EXPECT_EQ(instance.plan(options).host.available_bytes, before);
  EXPECT_EQ(taken.back(), 1);
}

TEST(Instance, ALimitIsWhatIsAvailable) {
  ThreadPool pool(1);
  const Instance instance(pool, {.path = INGOT_TINY_MODEL, .memory_limit = 12345});
  EXPECT_EQ(instance.plan({}).host.available_bytes, 12345);
}

std::string refusal_of(const InstanceOptions& options) {
  ThreadPool pool(1);
  try {
    const Instance instance(pool, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    return error.message();
  }
  return "";
}

TEST(Instance, OffersOnlyTheDevicesOfThisBuild) {
  const auto refusal = [](std::string device) {
    return refusal_of({.path = INGOT_TINY_MODEL, .device = std::move(device)});
  };
  EXPECT_EQ(refusal("cpu"), "");
  EXPECT_EQ(refusal("cuda"),
            "`device` cuda is not offered: this build has no CUDA; it offers auto, cpu");
  EXPECT_EQ(refusal("cuda:0"),
            "`device` cuda:0 is not offered: this build has no CUDA; it offers auto, cpu");
  EXPECT_EQ(refusal("gpu"), "`device` gpu is unknown; this build offers auto, cpu");
}

TEST(Instance, OffersOnlyTheNumericsOfItsDevice) {
  const auto refusal = [](std::string numerics) {
    return refusal_of({.path = INGOT_TINY_MODEL, .numerics = std::move(numerics)});
  };
  EXPECT_EQ(refusal("canon"), "");
  EXPECT_EQ(refusal("fast"),
            "`numerics` fast is not offered on device cpu, which computes canon-1; it offers auto, "
            "canon");
  EXPECT_EQ(refusal("canon-1"),
            "`numerics` canon-1 is unknown; the possible names are auto, canon, fast");
}

}  // namespace
}  // namespace ingot
