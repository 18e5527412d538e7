// StepLog: the newest records in order, while other threads read.
#include "runtime/observe/step_log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace ingot {
namespace {

/// A record whose fields all follow from its number.
StepRecord numbered(std::uint64_t number) {
  return {.number = number,
          .start_seconds = static_cast<double>(number),
          .cached_tokens = static_cast<std::int64_t>(number)};
}

std::vector<std::uint64_t> numbers(const std::vector<StepRecord>& records) {
  std::vector<std::uint64_t> all;
  for (const StepRecord& record : records) all.push_back(record.number);
  return all;
}

using Numbers = std::vector<std::uint64_t>;

TEST(StepLog, KeepsTheNewestInTheirOrder) {
  StepLog log(3);
  EXPECT_FALSE(log.last());
  EXPECT_TRUE(log.snapshot().empty());
  log.add(numbered(1));
  log.add(numbered(2));
  EXPECT_EQ(numbers(log.snapshot()), (Numbers{1, 2}));
  for (std::uint64_t n = 3; n <= 8; ++n) {
    log.add(numbered(n));
    EXPECT_EQ(log.added(), n);
    ASSERT_TRUE(log.last());
    EXPECT_EQ(log.last()->number, n);
    EXPECT_EQ(numbers(log.snapshot()), (Numbers{n - 2, n - 1, n}));
    EXPECT_EQ(numbers(log.snapshot(2)), (Numbers{n - 1, n}));
    EXPECT_EQ(numbers(log.snapshot(99)), (Numbers{n - 2, n - 1, n}));
    EXPECT_TRUE(log.snapshot(0).empty());
  }
  EXPECT_EQ(log.capacity(), 3u);
}

/// A snapshot at any moment shows whole records, one after the other.
TEST(StepLog, MayBeReadWhileItIsWritten) {
  StepLog log(16);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (std::uint64_t n = 1; !done; ++n) log.add(numbered(n));
  });
  bool whole = true;
  bool in_order = true;
  while (log.added() == 0) {
  }
  for (int look = 0; look < 20'000; ++look) {
    const auto records = log.snapshot();
    for (std::size_t i = 0; i < records.size(); ++i) {
      const StepRecord& r = records[i];
      whole = whole && r.start_seconds == static_cast<double>(r.number) &&
              r.cached_tokens == static_cast<std::int64_t>(r.number);
      in_order = in_order && r.number == records[0].number + i;
    }
  }
  done = true;
  writer.join();
  EXPECT_TRUE(whole);
  EXPECT_TRUE(in_order);
  EXPECT_EQ(log.last().value_or(StepRecord{}).number, log.added());
}

}  // namespace
}  // namespace ingot
