// Checks for bugs: conditions that no input may break.
#pragma once

#include <string>

#include "base/text.h"

namespace ingot {

/// Told of a broken invariant. Must not return.
using CheckHandler = void (*)(const char* file, int line, const std::string& message);

/// From here on `handler` is called in place of ending the process; null: the process ends again.
/// For programs that look for bugs and report them their own way.
void set_check_handler(CheckHandler handler);

/// Reports a broken invariant on stderr and ends the process (abort).
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace ingot

/// Ends the process when `cond` is false; the other arguments are joined to a message with the
/// values at hand. For bugs only: whatever a file or a request can cause is an Error or a value.
#define INGOT_CHECK(cond, ...)                                                     \
  do {                                                                             \
    if (!(cond)) [[unlikely]]                                                      \
      ::ingot::check_failed(__FILE__, __LINE__, #cond, ::ingot::cat(__VA_ARGS__)); \
  } while (false)
