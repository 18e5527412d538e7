// LoadSchedule: decides when requests start, by arrival times or by a fixed concurrency.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace ingot {

/// Starts requests in the order of their numbers. It has no clock: callers pass times.
class LoadSchedule {
 public:
  /// `arrivals` are seconds from the run's start, ascending; they must outlive the schedule. If
  /// `concurrency` is 0, each request starts at its arrival. Otherwise `concurrency` requests are
  /// in flight at once, and arrival times are ignored.
  LoadSchedule(std::span<const double> arrivals, std::size_t concurrency)
      : arrivals_(arrivals), concurrency_(concurrency) {}

  /// Starts the next request due at time `now`, returns its number; nullopt if no request is due.
  std::optional<std::size_t> take_due(double now);
  /// Records that a running request has ended.
  void end_one();

  /// Arrival time of the next request; nullopt after the last, or if the concurrency is fixed.
  std::optional<double> next_at() const;
  /// Start time of a request taken at `now`: its arrival, or `now` if the concurrency is fixed.
  double start_of(std::size_t number, double now) const {
    return concurrency_ > 0 ? now : arrivals_[number];
  }
  /// Whether all requests have ended.
  bool is_over() const { return ended_ == arrivals_.size(); }
  std::size_t ended() const { return ended_; }

 private:
  std::span<const double> arrivals_;
  std::size_t concurrency_;
  std::size_t next_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace ingot
