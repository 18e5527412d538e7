// strftime in the C locale, for strftime_now.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

namespace ingot::jinja {

/// `format` with its % directives replaced, as C's strftime does in the C locale. %Z and %z are
/// empty, as for Python's datetime.now().
///
/// Errors:  RunError for an unknown directive, or a result beyond 64 KiB.
std::string format_time(std::string_view format, const std::tm& time);

}  // namespace ingot::jinja
