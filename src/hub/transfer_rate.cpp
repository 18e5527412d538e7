// Computes the speed of a transfer over a window of time.
#include "hub/transfer_rate.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/text.h"

namespace ingot {

namespace {

/// Length of the window: long enough to smooth bursts, short enough to follow a change of speed.
constexpr double kWindowSeconds = 5;
/// Least time of a measurement. The first bytes come out of buffers, faster than the network.
constexpr double kMeasureSecondsMin = 1;
/// Least time between two samples, so that the list stays short at any number of calls.
constexpr double kSampleSeconds = 0.1;
/// Longest time that is shown, 99 days.
constexpr double kDurationMax = 99 * 86400.0;

std::string two_digits(std::int64_t number) { return cat(number < 10 ? "0" : "", number); }

}  // namespace

void TransferRate::add(double seconds, std::uint64_t received) {
  // The measurement begins when the first bytes come: what goes before is no transfer.
  if (samples_.size() == 1 && samples_.front().received == received) samples_.clear();
  // The last sample moves until it is old enough, so it always has the newest state.
  const std::size_t count = samples_.size();
  if (count >= 2 && samples_.back().seconds - samples_[count - 2].seconds < kSampleSeconds) {
    samples_.back() = {seconds, received};
  } else {
    samples_.push_back({seconds, received});
  }
  // The first sample may be older than the window: the window begins between two samples.
  while (samples_.size() > 2 && samples_[1].seconds <= seconds - kWindowSeconds) {
    samples_.pop_front();
  }
}

double TransferRate::bytes_per_second() const {
  if (samples_.empty()) return 0;
  const double seconds = samples_.back().seconds - samples_.front().seconds;
  if (seconds < kMeasureSecondsMin) return 0;
  return static_cast<double>(samples_.back().received - samples_.front().received) / seconds;
}

std::string TransferRate::text(std::uint64_t left) const {
  if (samples_.empty() || samples_.back().seconds - samples_.front().seconds < kMeasureSecondsMin) {
    return {};
  }
  const double rate = bytes_per_second();
  std::string text = cat(size_text(static_cast<std::uint64_t>(rate)), "/s");
  if (rate < 1) return text;
  return cat(text, ", ", duration_text(static_cast<double>(left) / rate), " left");
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::string_view kUnits = "kMGTPE";
  if (bytes < 1000) return cat(bytes, " B");
  std::uint64_t scale = 1000;
  std::size_t unit = 0;
  for (; bytes / scale >= 1000; scale *= 1000) ++unit;
  const std::uint64_t hundredths = bytes / (scale / 100) % 100;
  const std::uint64_t whole = bytes / scale;
  std::string text = cat(whole);
  if (whole < 100) text += cat(".", hundredths / 10);
  if (whole < 10) text += cat(hundredths % 10);
  return cat(text, " ", kUnits[unit], "B");
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(std::clamp(seconds, 0.0, kDurationMax)));
  const std::int64_t minutes = whole / 60;
  const std::int64_t hours = minutes / 60;
  if (whole < 60) return cat(whole, " s");
  if (minutes < 60) return cat(minutes, " min ", two_digits(whole % 60), " s");
  if (hours < 24) return cat(hours, " h ", two_digits(minutes % 60), " min");
  return cat(hours / 24, " d ", two_digits(hours % 24), " h");
}

}  // namespace ingot
