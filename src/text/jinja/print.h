// Prints values as Python does: str(), repr() and json.dumps().
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace ingot::jinja {

/// repr() of a float: the shortest digits that parse to `value`, "1e-05", "inf".
std::string python_float(double value);

/// Whether repr() prints the character unescaped.
bool is_printable(char32_t code);

/// Appends str(value).
///
/// Errors:  RunError for a namespace that contains itself, or an exhausted budget.
void print(const Value& value, TextBuilder& out);
/// Appends repr(value).
void print_repr(const Value& value, TextBuilder& out);

/// str(value) as a string; a string stays itself.
Value to_string(Heap& heap, const Value& value);

/// The arguments of json.dumps: Python's defaults except ensure_ascii, as chat templates expect.
struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool breaks_lines = false;
  std::string indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

/// Appends `value` as JSON.
///
/// Errors:  RunError for values without a JSON form: undefined, a macro, a generator.
void print_json(const Value& value, const JsonStyle& style, TextBuilder& out);

}  // namespace ingot::jinja
