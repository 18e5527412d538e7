// Notes and warnings on stderr, by level. Results never go through here.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

/// What is shown: everything at or above this level.
enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Sets what is shown from here on; kInfo before.
void set_log_level(LogLevel level);
/// What is shown.
LogLevel log_level();

/// One line each, "warning: <text>".
void log_debug(std::string_view text);
void log_info(std::string_view text);
void log_warning(std::string_view text);

/// A line that scripts wait for, as it is. Shown at every level.
void log_always(std::string_view text);

/// A warning that nobody should pass over: shown at every level, in red on a terminal.
void log_alarm(std::string_view text);

/// The one line that says why a command ended: "error: <text>". Shown at every level.
void log_error(std::string_view text);

}  // namespace ingot
