// Python's string formatting: "%s" % x and "{}".format(x).
#pragma once

#include "text/jinja/library.h"
#include "text/jinja/value.h"

namespace ingot::jinja {

/// Returns Python's `format % values`; `values` is a tuple, a dict or a single value.
Value format_percent(Environment& environment, const Value& format, const Value& values);

/// Python's format.format(*arguments). "{0.name}" and "{0[key]}" look up values as templates do.
Value format_braces(Environment& environment, const Value& format, const Arguments& arguments);

/// Returns Python's format(value, spec) of a string or number. Examples of `spec`: ">8", ".2f".
///
/// Errors:  RunError if `spec` is malformed or does not fit the value.
Value format_value(Environment& environment, const Value& value, std::string_view spec);

}  // namespace ingot::jinja
