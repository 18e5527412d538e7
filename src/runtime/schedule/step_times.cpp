// Means of step times by size, and the line through two of them.
#include "runtime/schedule/step_times.h"

#include <algorithm>
#include <bit>

namespace ingot {

namespace {

/// Of a new time in a mean that has seen many: the machine's speed changes with what else it does.
constexpr double kNewest = 0.1;
/// Times as many rows, of which a size still says something: beside decodes the first rows of
/// prompts cost least, since weights are read anyway.
constexpr double kNear = 4;

}  // namespace

void StepTimes::Mean::add(double rows_now, double seconds_now) {
  ++count;
  const double weight = std::max(kNewest, 1.0 / static_cast<double>(count));
  rows += weight * (rows_now - rows);
  seconds += weight * (seconds_now - seconds);
}

/// Fewer rows should take no more time, and somewhat more rows no more for each. Times that look
/// long are moved towards that; those that look short are asked for again, and measured.
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
  return static_cast<std::size_t>(std::min(static_cast<int>(width), kSizes - 1));
}

/// On the line through the nearest known sizes on either side. Smaller than all known ones: as long
/// as those; larger: in proportion.
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
  // At least a tenth of the step: what is known of the decodes may be out of date.
  const double added = std::max(seconds - decode_seconds(decodes), seconds / 10);
  learn(prefills_, prefill, added);
}

double StepTimes::decode_seconds(std::int32_t decodes) const {
  return decodes == 0 ? 0 : estimate(decodes_, decodes);
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
