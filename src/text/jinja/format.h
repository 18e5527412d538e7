// Python's string formatting: "%s" % x and "{}".format(x).
#pragma once

#include "text/jinja/library.h"
#include "text/jinja/value.h"

namespace ingot::jinja {

/// format % values, where values is a tuple, a dict or one value.
Value format_percent(Environment& environment, const Value& format, const Value& values);

/// format.format(*arguments); attributes and elements are looked up as in templates.
Value format_braces(Environment& environment, const Value& format, const Arguments& arguments);

/// format(value, spec) for Python's mini language of strings and numbers.
///
/// Errors:  RunError for a spec that is malformed or does not fit the value.
Value format_value(Environment& environment, const Value& value, std::string_view spec);

}  // namespace ingot::jinja
