// INGOT_CHECK: assertions for bugs, active in all builds.
#pragma once

#include <string>

#include "base/text.h"

namespace ingot {

/// A function that handles a failed INGOT_CHECK. It must not return.
using CheckHandler = void (*)(const char* file, int line, const std::string& message);

/// Makes a failed INGOT_CHECK call `handler` instead of abort(); null restores abort(). The
/// simulator (tests/sim) sets a handler to report bugs in its own form.
void set_check_handler(CheckHandler handler);

/// Calls set_check_handler's handler if one is set, else prints the failure to stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace ingot

/// Ends the process if `cond` is false. The other arguments form the message, which should show the
/// values that `cond` uses. For faults of files and requests use Error or a return value instead.
#define INGOT_CHECK(cond, ...)                                                     \
  do {                                                                             \
    if (!(cond)) [[unlikely]]                                                      \
      ::ingot::check_failed(__FILE__, __LINE__, #cond, ::ingot::cat(__VA_ARGS__)); \
  } while (false)
