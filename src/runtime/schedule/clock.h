// What times an engine goes by.
#pragma once

#include <functional>
#include <limits>

namespace ingot {

/// Seconds of a clock that only goes forward.
using Clock = std::function<double()>;

/// A time that never comes.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace ingot
