// Input of /v1/messages: its messages as a prompt.
#pragma once

#include "server/common/chat_prompt.h"
#include "server/common/params.h"
#include "server/common/service.h"

namespace ingot {

/// Reads `system`, `messages`, `thinking`, `output_config`, `tools` and chat_template_kwargs. A
/// last message of the assistant is the beginning of the reply.
///
/// Errors: ApiError naming the member.
ChatPrompt read_messages(Params& params, const Service& service, PromptRoom room);

}  // namespace ingot
