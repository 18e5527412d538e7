// Tools of POST /v1/messages.
#pragma once

#include "server/common/params.h"
#include "server/common/tool_params.h"

namespace ingot {

/// Reads `tools` and `tool_choice`. Tools have an `input_schema`. Two tools that Anthropic defines
/// need none, bash and the text editor: they run at the client, and their schemas are public. All
/// others are errors.
///
/// Errors: ApiError that names the member.
RequestTools read_message_tools(Params& params);

}  // namespace ingot
