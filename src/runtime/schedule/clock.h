// Clock: the function that tells an engine the time, real or simulated.
#pragma once

#include <functional>
#include <limits>

namespace ingot {

/// Returns the time in seconds since some fixed moment. It never decreases.
using Clock = std::function<double()>;

/// A time in seconds that never comes: there is no limit, or the event has not happened.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace ingot
