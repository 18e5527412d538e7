// Messages of constraints: errors begin with the request's member.
#pragma once

#include <string>

namespace ingot {

/// Returns `message` behind the name of the request's member, unless it begins with the name:
/// "response_format is too complex", "grammar: line 1, column 2: ...".
std::string named_constraint_message(const std::string& name, const std::string& message);

}  // namespace ingot
