// Methods of strings in Jinja templates, such as "a b".split().
#pragma once

#include <span>

#include "text/jinja/library.h"

namespace ingot::jinja {

/// The table of string methods.
std::span<const MethodInfo> string_methods();

/// Python's str.isupper() if `upper`, otherwise str.islower().
bool has_case(const String& string, bool upper);

}  // namespace ingot::jinja
