// Clock: the function that tells an engine the time, real or simulated.
#pragma once

#include <chrono>
#include <functional>
#include <limits>

namespace ingot {

/// Returns the time in seconds since a fixed moment. The time never decreases.
using Clock = std::function<double()>;

/// Returns the system's steady clock, in seconds: the Clock of a real engine.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Infinity, as a time in seconds: there is no limit, or the event has not happened.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace ingot
