// LoadSchedule: which request is due when, by arrival times or by those that ended. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace ingot {

/// Requests in the order of their numbers.
class LoadSchedule {
 public:
  /// `arrivals` in seconds since the run began, rising; they outlive this. `concurrency` 0: each
  /// starts at its arrival; else so many are under way at once, and arrivals do not count.
  LoadSchedule(std::span<const double> arrivals, std::size_t concurrency)
      : arrivals_(arrivals), concurrency_(concurrency) {}

  /// The next request that is due, which is under way from here on; nothing where none is.
  std::optional<std::size_t> take_due(double now);
  /// One that was under way is not any more.
  void end_one();

  /// Seconds at which the next one is due; nothing where that is when one ends, or never.
  std::optional<double> next_at() const;
  /// When a request that is taken now counts as begun: its arrival, however late it is taken.
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
