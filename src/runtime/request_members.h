// The members of a request as JSON names them: the one way by which numbers that others wrote get
// into a Request.
#pragma once

#include <string_view>
#include <vector>

#include "load/json.h"
#include "runtime/request.h"

namespace ingot {

/// Sets one member of a request, by its name in the API ("max_tokens", "stop", ...). What it says
/// is checked for its kind here and for its range by `check_request`.
///
/// Returns false for a name that there is not.
/// Errors: Error{kInvalid} naming the member, what it is and what is possible.
[[nodiscard]] bool set_member(Request& request, std::string_view name, const Json& value);

/// Brings biases into the order that SamplingParams have.
///
/// Errors: Error{kInvalid} for a token that has two, naming `name`.
void sort_biases(std::vector<LogitBias>& biases, std::string_view name);

}  // namespace ingot
