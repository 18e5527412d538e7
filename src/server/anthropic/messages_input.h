// Reads the input of POST /v1/messages: turns its messages into a prompt.
#pragma once

#include "server/common/chat_prompt.h"
#include "server/common/params.h"
#include "server/common/service.h"

namespace ingot {

/// Reads `system`, `messages`, `thinking`, `output_config`, `tools` and `chat_template_kwargs`, and
/// makes the prompt. If the assistant wrote the last message, the reply continues this message.
///
/// Errors: ApiError naming the JSON member.
ChatPrompt read_messages(Params& params, const Service& service, PromptRoom room);

}  // namespace ingot
