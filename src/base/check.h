// INGOT_CHECK: conditions that no input may break.
#pragma once

#include <string>

#include "base/text.h"

namespace ingot {

/// Receives a broken invariant. Must not return.
using CheckHandler = void (*)(const char* file, int line, const std::string& message);

/// Calls `handler` for later failures instead of ending the process; null restores that. For
/// programs that search for bugs and report them themselves.
void set_check_handler(CheckHandler handler);

/// Reports a broken invariant on stderr and ends the process (abort).
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace ingot

/// Ends the process when `cond` is false. The other arguments are joined to the message; name the
/// values. For bugs only: anything that a file or a request can cause is an Error or a value.
#define INGOT_CHECK(cond, ...)                                                     \
  do {                                                                             \
    if (!(cond)) [[unlikely]]                                                      \
      ::ingot::check_failed(__FILE__, __LINE__, #cond, ::ingot::cat(__VA_ARGS__)); \
  } while (false)
