// Reads the input of POST /v1/messages: turns its messages into a prompt.
#pragma once

#include <optional>

#include "server/common/chat_prompt.h"
#include "server/common/constraint_params.h"
#include "server/common/params.h"
#include "server/common/service.h"
#include "server/common/tool_params.h"

namespace ingot {

/// The prompt of a request, and what its reply must be.
struct MessagesInput {
  RequestTools tools{};
  std::optional<ConstraintSpec> format{};  ///< the reply's format; nothing: free text
  ChatPrompt prompt{};
};

/// Reads `system`, `messages`, `thinking`, `output_config`, `tools`, `tool_choice` and
/// `chat_template_kwargs`, and makes the prompt. If the assistant wrote the last message, the reply
/// continues this message. Blocks of thinking must have their signature; blocks that were signed
/// before a restart are left out, with a warning.
///
/// Errors: ApiError naming the JSON member; those of Call::require_wanted.
MessagesInput read_messages(Params& params, const Call& call, PromptRoom room);

}  // namespace ingot
