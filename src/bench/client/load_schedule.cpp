// LoadSchedule: decides which request starts next, and when.
#include "bench/client/load_schedule.h"

#include "base/check.h"

namespace ingot {

std::optional<std::size_t> LoadSchedule::take_due(double now) {
  if (next_ == arrivals_.size()) return std::nullopt;
  const bool is_due = concurrency_ > 0 ? next_ - ended_ < concurrency_ : arrivals_[next_] <= now;
  if (!is_due) return std::nullopt;
  return next_++;
}

void LoadSchedule::end_one() {
  INGOT_CHECK(ended_ < next_, "a request ended that was not under way, after ", ended_);
  ++ended_;
}

std::optional<double> LoadSchedule::next_at() const {
  if (concurrency_ > 0 || next_ == arrivals_.size()) return std::nullopt;
  return arrivals_[next_];
}

}  // namespace ingot
