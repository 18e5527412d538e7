// Clock: the function that tells an engine the time, real or simulated.
#pragma once

#include <functional>
#include <limits>

namespace ingot {

/// Returns the time in seconds since any fixed moment. It never decreases.
using Clock = std::function<double()>;

/// The time limit that stands for "no limit", in seconds.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace ingot
