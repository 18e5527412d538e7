// Errors with which an engine ends requests.
#pragma once

#include <optional>
#include <string_view>

#include "base/error.h"
#include "runtime/schedule/scheduler.h"

namespace ingot {

/// Error{kDoesNotFit}. Allocates nothing: the text is short enough to lie in the string itself.
Error out_of_memory();
/// A copy of `*error`, or out_of_memory() if there is no memory for it; nothing for null.
std::optional<Error> copy_of(const Error* error);
/// Error{kUnavailable}: `parameter` allows `given` seconds, and the engine needs `predicted`.
Error too_late(std::string_view parameter, double given, double predicted);
/// The error of a sequence that the scheduler dropped.
Error error_of(Dropped::Reason reason);

}  // namespace ingot
