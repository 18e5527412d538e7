// strftime without a locale.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

namespace ingot::jinja {

/// `format` with its % directives replaced, as C's strftime does in the C locale, but for %Z and
/// %z: those are empty, as for Python's datetime.now().
///
/// Errors:  RunError for a directive that is unknown, or a result beyond 64 KiB.
std::string format_time(std::string_view format, const std::tm& time);

}  // namespace ingot::jinja
