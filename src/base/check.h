// INGOT_CHECK: assertions for bugs, active in all builds.
#pragma once

#include <string>

#include "base/text.h"

namespace ingot {

/// A function that handles a failed INGOT_CHECK. It must not return.
using CheckHandler = void (*)(const char* file, int line, const std::string& message);

/// Makes later failures call `handler` instead of abort; null restores abort. For programs that
/// search for bugs and report them themselves.
void set_check_handler(CheckHandler handler);

/// Prints a failed INGOT_CHECK to stderr and ends the process (abort), or calls the handler.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace ingot

/// Ends the process if `cond` is false. The other arguments form the message, which should print
/// the values. For bugs only: use Error or a return value for what a file or request can cause.
#define INGOT_CHECK(cond, ...)                                                     \
  do {                                                                             \
    if (!(cond)) [[unlikely]]                                                      \
      ::ingot::check_failed(__FILE__, __LINE__, #cond, ::ingot::cat(__VA_ARGS__)); \
  } while (false)
