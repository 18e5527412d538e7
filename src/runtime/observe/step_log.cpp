// StepLog: a ring buffer of step records, protected by a mutex.
#include "runtime/observe/step_log.h"

#include <algorithm>

#include "base/check.h"

namespace ingot {

StepLog::StepLog(std::size_t capacity) : ring_(capacity) {
  INGOT_CHECK(capacity > 0, "a log that keeps nothing");
}

void StepLog::add(const StepRecord& record) {
  const std::lock_guard lock(mutex_);
  ring_[added_ % ring_.size()] = record;
  ++added_;
}

std::uint64_t StepLog::added() const {
  const std::lock_guard lock(mutex_);
  return added_;
}

std::optional<StepRecord> StepLog::last() const {
  const std::lock_guard lock(mutex_);
  if (added_ == 0) return std::nullopt;
  return ring_[(added_ - 1) % ring_.size()];
}

std::vector<StepRecord> StepLog::snapshot(std::size_t most) const {
  most = std::min(most, ring_.size());
  std::vector<StepRecord> records;
  records.reserve(most);  // before the mutex is taken
  const std::lock_guard lock(mutex_);
  for (std::uint64_t n = added_ - std::min<std::uint64_t>(added_, most); n < added_; ++n) {
    records.push_back(ring_[n % ring_.size()]);
  }
  return records;
}

}  // namespace ingot
