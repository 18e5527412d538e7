// LoadFailures: a bounded map of failures with the time until which they count.
#include "server/common/load_failures.h"

#include <utility>

namespace ingot {

namespace {

/// Failures that are remembered. When there are more, all are forgotten.
constexpr std::size_t kFailuresMax = 1024;

}  // namespace

void LoadFailures::add(const std::string& name, const FolderState& state, const Error& error,
                       Clock::time_point now) {
  if (failures_.size() >= kFailuresMax) failures_.clear();
  failures_.insert_or_assign(name, Failure{state, error, now + kKept});
}

const Error* LoadFailures::find(const std::string& name, const FolderState& state,
                                Clock::time_point now) const {
  const auto found = failures_.find(name);
  if (found == failures_.end()) return nullptr;
  const Failure& failure = found->second;
  return failure.state == state && now < failure.until ? &failure.error : nullptr;
}

}  // namespace ingot
