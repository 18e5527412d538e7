// Makes the errors that an engine gives to requests that it ends.
#include "runtime/engine_errors.h"

#include <new>
#include <string>

#include "base/text.h"

namespace ingot {

namespace {

std::string milliseconds(double seconds) {
  return cat(static_cast<std::int64_t>(seconds * 1000 + 0.5), " ms");
}

}  // namespace

Error out_of_memory() { return {ErrorCode::kDoesNotFit, "out of memory"}; }

std::optional<Error> copy_of(const Error* error) {
  if (error == nullptr) return std::nullopt;
  try {
    return *error;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

Error error_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return *copy_of(&error);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (...) {
    return {ErrorCode::kInternal, "internal error"};  // so short that it needs no memory
  }
}

Error too_late(std::string_view parameter, double given, double predicted) {
  return {ErrorCode::kUnavailable,
          cat(parameter, ": ", milliseconds(given),
              " cannot be kept: at the rates measured here it takes ", milliseconds(predicted),
              " at least; try again later or allow more time")};
}

Error error_of(Dropped::Reason reason) {
  switch (reason) {
    case Dropped::Reason::kNoMemory:
      return out_of_memory();
    case Dropped::Reason::kQueue:
      return {ErrorCode::kTimeout, "queue_timeout: the request waited too long"};
    case Dropped::Reason::kFirstToken:
      return {ErrorCode::kTimeout, "max_ttft_ms: the first token was not drawn in time"};
    case Dropped::Reason::kEnd:
      break;
  }
  return {ErrorCode::kTimeout, "The time is over in which the request had to end"};
}

}  // namespace ingot
