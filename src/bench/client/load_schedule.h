// LoadSchedule: decides when requests start, by arrival times or by a fixed concurrency.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace ingot {

/// Starts requests in the order of their numbers. It has no clock: callers pass times.
class LoadSchedule {
 public:
  /// `arrivals` are seconds from the run's start, ascending, and must outlive the schedule. If
  /// `concurrency` is 0, each request starts at its arrival. Otherwise `concurrency` requests are
  /// in flight at once, and arrival times are ignored.
  LoadSchedule(std::span<const double> arrivals, std::size_t concurrency)
      : arrivals_(arrivals), concurrency_(concurrency) {}

  /// Starts the next request if it is due at time `now`. Returns its number, else nullopt.
  std::optional<std::size_t> take_due(double now);
  /// Records that a running request has ended.
  void end_one();

  /// Returns the next request's arrival time; nullopt if there is none or the concurrency is fixed.
  std::optional<double> next_at() const;
  /// Returns a request's start time: its arrival, or `now` if the concurrency is fixed.
  double start_of(std::size_t number, double now) const {
    return concurrency_ > 0 ? now : arrivals_[number];
  }
  /// Returns whether all requests have ended.
  bool is_over() const { return ended_ == arrivals_.size(); }
  std::size_t ended() const { return ended_; }

 private:
  std::span<const double> arrivals_;
  std::size_t concurrency_;
  std::size_t next_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace ingot
