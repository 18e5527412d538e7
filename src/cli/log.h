// Notes and warnings on stderr, by level. Results never go through here.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

/// The level from which on lines are shown.
enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Sets the level from here on; kInfo before.
void set_log_level(LogLevel level);
/// The level that is set.
LogLevel log_level();

/// One line each, "warning: <text>".
void log_debug(std::string_view text);
void log_info(std::string_view text);
void log_warning(std::string_view text);

/// A line that scripts wait for, without a prefix. Shown at every level.
void log_always(std::string_view text);

/// A warning that is shown at every level, in red on a terminal.
void log_alarm(std::string_view text);

/// The one line that says why a command ended: "error: <text>". Shown at every level.
void log_error(std::string_view text);

}  // namespace ingot
