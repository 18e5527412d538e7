// Log messages on stderr, by level. Commands write their results to stdout instead.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace ingot {

/// A message's level. `set_log_level` hides messages of lower levels.
enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Hides messages below `level`. The default level is kInfo.
void set_log_level(LogLevel level);
/// Returns the lowest level that is shown.
LogLevel log_level();

/// Writes one line. The line begins with the message's level: "warning: <text>".
void log_debug(std::string_view text);
void log_info(std::string_view text);
void log_warning(std::string_view text);

/// Writes a line without a prefix, for scripts that wait for this line. Shown at every level.
void log_always(std::string_view text);

/// Writes a warning, in red on a terminal. Shown at every level.
void log_alarm(std::string_view text);

/// Writes the line that says why a command failed: "error: <text>". Shown at every level.
void log_error(std::string_view text);

/// Returns an error's message for a line on stderr: for people if stderr is a terminal, otherwise
/// for scripts (see Error).
std::string stderr_message(const Error& error);

}  // namespace ingot
