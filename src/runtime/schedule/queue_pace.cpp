// QueuePace: sums of admissions and of time, which fade with every admission.
#include "runtime/schedule/queue_pace.h"

#include <algorithm>
#include <cmath>

namespace ingot {

namespace {

/// Admissions after which an older one counts a third. More would follow changes later, less would
/// follow chance.
constexpr double kMemory = 64;
/// Fewer admissions are too few for a mean.
constexpr double kAdmittedMin = 8;

}  // namespace

void QueuePace::add(std::int64_t admitted, std::int64_t waiting, double now) {
  // Time without an admission is added with the next one.
  if (since_ && admitted > 0) {
    const auto count = static_cast<double>(admitted);
    const double kept = std::exp(-count / kMemory);
    admitted_ = admitted_ * kept + count;
    seconds_ = seconds_ * kept + (now - *since_);
    since_ = now;
  }
  if (waiting == 0) {
    since_.reset();
  } else if (!since_) {
    since_ = now;
  }
}

double QueuePace::seconds_each(double now) const {
  if (admitted_ < kAdmittedMin) return 0;
  const double mean = seconds_ / admitted_;
  const double since = since_ ? now - *since_ : 0;
  return std::max(mean, (seconds_ + since) / (admitted_ + 1));
}

}  // namespace ingot
