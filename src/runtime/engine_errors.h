// The errors with which an engine ends requests: out of memory, too late, timed out.
#pragma once

#include <exception>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "runtime/schedule/scheduler.h"

namespace ingot {

/// Makes Error{kDoesNotFit}. Allocates nothing, because the text fits into the string object.
Error out_of_memory();
/// Copies `*error`. Returns out_of_memory() if the copy fails, and nullopt if `error` is null.
std::optional<Error> copy_of(const Error* error);
/// Returns the error of an exception: a copy of an Error, out_of_memory() for std::bad_alloc, and
/// Error{kInternal} for others. Throws nothing.
Error error_of(const std::exception_ptr& failure);
/// Makes Error{kUnavailable}: `parameter` allows `given` seconds, but `predicted` are needed.
Error too_late(std::string_view parameter, double given, double predicted);
/// Returns the error for a request whose sequence the scheduler dropped for this reason.
Error error_of(Dropped::Reason reason);

}  // namespace ingot
