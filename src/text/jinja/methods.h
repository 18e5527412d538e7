// The methods of strings, which are many: a file of their own.
#pragma once

#include <span>

#include "text/jinja/library.h"

namespace ingot::jinja {

/// The methods of strings, by name.
std::span<const MethodInfo> string_methods();

/// Whether a string has letters, all of them in upper case, or in lower case.
bool has_case(const String& string, bool upper);

}  // namespace ingot::jinja
