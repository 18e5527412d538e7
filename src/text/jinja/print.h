// Prints values as Python does: str(), repr() and json.dumps().
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace ingot::jinja {

/// Returns Python's repr() of a float: the shortest text that parses to `value` ("1e-05", "inf").
std::string python_float(double value);

/// Whether Python's repr() prints the character without an escape.
bool is_printable(char32_t code);

/// Appends str(value).
///
/// Errors:  RunError for a namespace that contains itself, or beyond the render's limits.
void print(const Value& value, TextBuilder& out);
/// Appends repr(value).
void print_repr(const Value& value, TextBuilder& out);

/// Returns str(value) as a new string; `markup` says whether the string is markup.
Value printed(Heap& heap, const Value& value, bool markup = false);
/// Returns str(value) as a string value. Returns a string unchanged.
Value to_string(Heap& heap, const Value& value);

/// Arguments of Python's json.dumps, with Python's defaults except for ensure_ascii.
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
