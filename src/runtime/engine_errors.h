// The errors that an engine gives to requests that it ends: out of memory, too late, timed out.
#pragma once

#include <optional>
#include <string_view>

#include "base/error.h"
#include "runtime/schedule/scheduler.h"

namespace ingot {

/// Makes Error{kDoesNotFit}. Allocates nothing, because the text fits into the string object.
Error out_of_memory();
/// Copies `*error`. Returns out_of_memory() if memory is lacking, and nullopt if `error` is null.
std::optional<Error> copy_of(const Error* error);
/// Makes Error{kUnavailable}: `parameter` allows `given` seconds, the prediction is `predicted`.
Error too_late(std::string_view parameter, double given, double predicted);
/// The error for the request of a sequence that the scheduler dropped.
Error error_of(Dropped::Reason reason);

}  // namespace ingot
