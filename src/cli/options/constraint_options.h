// Options that constrain a text (--json-schema, --regex, --grammar, --choice), as flags and in
// lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "constraint/constraint.h"

namespace CLI {
class App;
}

namespace ingot {

/// Values of the flags, as typed. At most one is present.
struct ConstraintValues {
  std::optional<std::string> json_schema;  ///< a file
  std::optional<std::string> regex;
  std::optional<std::string> grammar;  ///< a file
  std::optional<std::string> choice;   ///< texts between commas
};

/// Declares the flags. Each excludes the others.
void add_constraint_options(CLI::App& app, ConstraintValues& values);

/// Returns the constraint that the flags give; nothing without these flags. Reads files.
///
/// Errors: Error{kModel} for a file that cannot be read; Error{kInvalid} that names the flag.
std::optional<ConstraintSpec> constraint_of(const ConstraintValues& values);

/// Returns whether a member of a JSON line is a constraint: json_schema, regex, grammar, choice.
bool is_constraint_member(std::string_view name);

/// Returns the constraint of a JSON line; nothing if all its members are absent or null.
///
/// Errors: Error{kInvalid} that names the member: a wrong type, or two constraints.
std::optional<ConstraintSpec> constraint_of_line(const Json& line);

}  // namespace ingot
