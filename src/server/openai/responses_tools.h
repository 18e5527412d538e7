// Tools of POST /v1/responses, whose functions are flat objects.
#pragma once

#include "server/common/params.h"
#include "server/common/tool_params.h"

namespace ingot {

/// Reads `tools`, `tool_choice` and `parallel_tool_calls`. Functions and custom tools are {"type",
/// "name", ...}. Web searches are left out, with a warning "not_available". Other tools that a
/// server runs are errors.
///
/// Errors: ApiError that names the member.
RequestTools read_response_tools(Params& params);

}  // namespace ingot
