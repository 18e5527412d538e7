// The table of string methods.
#pragma once

#include <span>

#include "text/jinja/library.h"

namespace ingot::jinja {

/// The methods of strings, by name.
std::span<const MethodInfo> string_methods();

/// Whether a string has letters and all are upper case (`upper`), or all lower case.
bool has_case(const String& string, bool upper);

}  // namespace ingot::jinja
