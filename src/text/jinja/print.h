// Values as text, as Python prints them: str(), repr() and json.dumps().
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace ingot::jinja {

/// repr() of a float: the shortest digits that read back as the same, "1e-05", "inf".
std::string python_float(double value);

/// Whether repr() shows the character as it is.
bool is_printable(char32_t code);

/// Appends str(value).
///
/// Errors:  RunError for a namespace that holds itself, or out of budget.
void print(const Value& value, TextBuilder& out);
/// Appends repr(value).
void print_repr(const Value& value, TextBuilder& out);

/// str(value) as a string; a string stays itself.
Value to_string(Heap& heap, const Value& value);

/// How json.dumps is called. Python's defaults but for ensure_ascii, as chat templates expect.
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
/// Errors:  RunError for what JSON cannot hold: an undefined value, a macro, a generator.
void print_json(const Value& value, const JsonStyle& style, TextBuilder& out);

}  // namespace ingot::jinja
