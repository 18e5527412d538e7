// QueuePace: sums of admissions and of time, which fade with every admission.
#include "runtime/schedule/queue_pace.h"

#include <algorithm>
#include <cmath>

namespace ingot {

namespace {

/// Number of admissions after which an older one counts 1/e. With more, the mean follows changes
/// later; with fewer, it follows chance.
constexpr double kMemory = 64;
/// The least number of admissions for a mean. With fewer, one slow admission decides it.
constexpr double kAdmittedMin = 8;

}  // namespace

void QueuePace::add(std::int64_t admitted, std::int64_t waiting, double now) {
  // Time without an admission is counted when the next one comes.
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
