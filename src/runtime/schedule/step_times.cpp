// StepTimes: means of step times by size class, and interpolation between them.
#include "runtime/schedule/step_times.h"

#include <algorithm>
#include <bit>

#include "base/index.h"

namespace ingot {

namespace {

/// Least weight of a new time in a mean, so that old times fade: the machine's speed changes with
/// its other work.
constexpr double kNewest = 0.1;
/// A step corrects the means of sizes up to 4 times its own. It says little about larger ones: the
/// first prompt rows beside decode rows cost least, because the weights are read anyway.
constexpr double kNear = 4;

}  // namespace

void StepTimes::Mean::add(double rows_now, double seconds_now) {
  ++count;
  const double weight = std::max(kNewest, 1.0 / static_cast<double>(count));
  rows += weight * (rows_now - rows);
  seconds += weight * (seconds_now - seconds);
}

/// Lowers this mean towards a newer one: a smaller step should not take longer, and a step of up to
/// kNear times the rows not longer per row. A mean that is too low needs no correction, because the
/// scheduler plans such steps again and measures them.
void StepTimes::Mean::agree_with(const Mean& newer) {
  if (rows > kNear * newer.rows) return;
  const double most = newer.seconds * std::max(1.0, rows / newer.rows);
  seconds += kNewest * (std::min(seconds, most) - seconds);
}

void StepTimes::learn(Means& means, std::int32_t rows, double seconds) {
  Mean& newest = means[size_of(rows)];
  newest.add(rows, seconds);
  for (Mean& mean : means) {
    if (&mean != &newest && mean.count > 0) mean.agree_with(newest);
  }
}

std::size_t StepTimes::size_of(std::int64_t rows) {
  const auto width =
      std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(1, rows) - 1));
  return to_size(std::min(static_cast<int>(width), kSizes - 1));
}

/// Interpolates between the nearest measured sizes. A size below all of them takes as long as the
/// smallest; a size above all of them takes time in proportion to the largest.
double StepTimes::estimate(const Means& means, double rows) {
  const Mean* below = nullptr;
  const Mean* above = nullptr;
  for (const Mean& mean : means) {
    if (mean.count == 0) continue;
    if (mean.rows <= rows) below = &mean;
    if (mean.rows >= rows && above == nullptr) above = &mean;
  }
  if (below == nullptr && above == nullptr) return 0;
  if (below == nullptr) return above->seconds;
  if (above == nullptr) return below->seconds * rows / below->rows;
  if (above->rows <= below->rows) return below->seconds;
  const double part = (rows - below->rows) / (above->rows - below->rows);
  return below->seconds + part * (above->seconds - below->seconds);
}

void StepTimes::add(std::int32_t decodes, std::int32_t prefill, double seconds) {
  if (prefill == 0) {
    if (decodes > 0) learn(decodes_, decodes, seconds);
    return;
  }
  // At least a tenth of the step, because the mean of the decodes may be out of date.
  const double added = std::max(seconds - decode_seconds(decodes), seconds / 10);
  learn(prefills_, prefill, added);
}

double StepTimes::decode_seconds(std::int32_t decodes) const {
  return decodes == 0 ? 0 : estimate(decodes_, decodes);
}

double StepTimes::decode_rows_max() const {
  double most = 0;
  for (const Mean& mean : decodes_) most = mean.count > 0 ? mean.rows : most;
  return most;
}

double StepTimes::decode_seconds_least(std::int32_t decodes) const {
  const double rows = std::min(static_cast<double>(decodes), decode_rows_max());
  const double seconds = estimate(decodes_, rows);
  return seconds > 0 ? seconds : 1;
}

double StepTimes::prefill_seconds(std::int64_t rows) const {
  return rows == 0 ? 0 : estimate(prefills_, static_cast<double>(rows));
}

double StepTimes::min_row_seconds(std::int32_t rows_max) const {
  double least = 0;
  for (const Mean& mean : prefills_) {
    if (mean.count == 0 || mean.rows * 4 < rows_max) continue;
    const double row = mean.seconds / mean.rows;
    least = least == 0 ? row : std::min(least, row);
  }
  return least;
}

std::int32_t StepTimes::prefill_rows(double seconds, std::int32_t rows_max) const {
  std::int32_t low = 1, high = std::max(1, rows_max);
  while (low < high) {
    const std::int32_t middle = low + (high - low + 1) / 2;
    if (prefill_seconds(middle) <= seconds) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace ingot
