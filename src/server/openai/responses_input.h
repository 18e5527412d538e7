// Input of /v1/responses: its items as messages of a chat.
#pragma once

#include <string>
#include <vector>

#include "load/json.h"
#include "server/common/chat_prompt.h"
#include "server/common/params.h"
#include "server/common/service.h"

namespace ingot {

/// Reads `input`, `instructions`, `reasoning` and chat_template_kwargs.
///
/// Errors: ApiError naming the member; context_length_exceeded.
ChatPrompt read_response_input(Params& params, const Service& service);

}  // namespace ingot
