// The table of request fields as Markdown, for the docs.
#pragma once

#include <string>

namespace ingot {

/// A line for each field: name, possible values, default, places that take it, meaning.
std::string field_table();

}  // namespace ingot
