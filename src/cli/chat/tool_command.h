// Runs the command of a tool: arguments to its standard input, result from its standard output.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"

namespace ingot {

/// Limits on a command.
struct CommandLimits {
  std::size_t output_bytes = std::size_t{64} << 10;  ///< output that is kept
  std::chrono::milliseconds time{60'000};            ///< time from start to exit
};

/// What a command wrote, and how it ended.
struct CommandResult {
  enum class End {
    kExited,    ///< `code` is its exit status
    kSignal,    ///< `code` is the signal that ended it
    kCut,       ///< it wrote more than the limit, and lost its standard output
    kTimeout,   ///< it took longer than the limit, and was killed
    kStopped,   ///< the caller stopped it
    kNotBegun,  ///< the system could not run it: `code` is an errno
  };
  End end = End::kExited;
  int code = 0;
  std::string output{};  ///< the first bytes of its standard output
};

/// Runs a program without a shell, in a process group of its own. A name without '/' is searched
/// in PATH. Its standard error is the caller's. Asks `stop` at least every 100 ms; if it returns
/// true, or throws, kills the group. The caller must ignore SIGPIPE.
///
/// Errors: those of `stop`; Error{kIo} if the system has no pipes.
CommandResult run_tool_command(const std::vector<std::string>& argv, std::string_view input,
                               const CommandLimits& limits, FunctionRef<bool()> stop);

/// Returns the text that the model gets as the result of a call: the output as valid UTF-8, and a
/// line in brackets that says how the command ended, if it did not exit with 0.
std::string tool_result_text(const CommandResult& result);

}  // namespace ingot
