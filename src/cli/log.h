// Log messages on stderr, by level. Results of commands are not written here.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

/// The level of a message. Messages below the set level are not shown.
enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Sets the lowest level that is shown; kInfo by default.
void set_log_level(LogLevel level);
/// The lowest level that is shown.
LogLevel log_level();

/// Each function writes one line with its level: "warning: <text>".
void log_debug(std::string_view text);
void log_info(std::string_view text);
void log_warning(std::string_view text);

/// Writes a line without a prefix, for scripts that wait for it. Shown at every level.
void log_always(std::string_view text);

/// Writes a warning that is shown at every level, in red on a terminal.
void log_alarm(std::string_view text);

/// Writes the line that says why a command failed: "error: <text>". Shown at every level.
void log_error(std::string_view text);

}  // namespace ingot
