// Reads the input of POST /v1/responses: turns its items into a chat prompt.
#pragma once

#include <string>
#include <vector>

#include "load/json.h"
#include "server/common/chat_prompt.h"
#include "server/common/params.h"
#include "server/common/service.h"
#include "server/common/tool_params.h"

namespace ingot {

/// Makes the prompt from `input`, `instructions`, `reasoning` and `chat_template_kwargs`. The model
/// is told about `tools`.
///
/// Errors: ApiError that names the JSON member; context_length_exceeded for a too long prompt;
/// those of Call::require_wanted.
ChatPrompt read_response_input(Params& params, const Call& call, PromptRoom room,
                               const RequestTools& tools);

}  // namespace ingot
