// LoadSchedule: when each request is due, by arrival times or by finished requests. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace ingot {

/// Starts requests in the order of their numbers.
class LoadSchedule {
 public:
  /// `arrivals` in seconds from the run's start, ascending; they outlive this. `concurrency` 0:
  /// each request starts at its arrival. Otherwise it is the number of requests in flight, and
  /// arrivals are ignored.
  LoadSchedule(std::span<const double> arrivals, std::size_t concurrency)
      : arrivals_(arrivals), concurrency_(concurrency) {}

  /// Starts the next due request and returns its number; nothing when none is due.
  std::optional<std::size_t> take_due(double now);
  /// A running request ended.
  void end_one();

  /// When the next request is due, in seconds; nothing when it waits for an end, or none is left.
  std::optional<double> next_at() const;
  /// The start time of a request taken now: its arrival, even if it is taken late.
  double start_of(std::size_t number, double now) const {
    return concurrency_ > 0 ? now : arrivals_[number];
  }
  /// Whether all have ended.
  bool is_over() const { return ended_ == arrivals_.size(); }
  std::size_t ended() const { return ended_; }

 private:
  std::span<const double> arrivals_;
  std::size_t concurrency_;
  std::size_t next_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace ingot
