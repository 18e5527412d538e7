// Formats times: strftime in the C locale, for the template function strftime_now.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

namespace ingot::jinja {

/// C's strftime in the C locale. %Z and %z give nothing, as in Python's datetime.now().
///
/// Errors:  RunError for an unknown directive, or a result of more than 64 KiB.
std::string format_time(std::string_view format, const std::tm& time);

}  // namespace ingot::jinja
