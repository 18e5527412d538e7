// The messages of a request as a prompt.
#pragma once

#include <cstdint>
#include <vector>

#include "server/params.h"
#include "server/service.h"

namespace ingot {

/// A chat through the model's template.
struct ChatPrompt {
  std::vector<std::int32_t> ids;
  bool has_reasoning = false;    ///< the model may write <think>
  bool opens_reasoning = false;  ///< the prompt ends in it
};

/// Reads messages, chat_template_kwargs and what else makes the prompt.
///
/// Errors: ApiError naming the member; context_length_exceeded.
ChatPrompt read_chat(Params& params, const Service& service);

/// Messages in the one form that templates know: parts of text become one text, "developer" speaks
/// as the system where the template does not know it, reasoning has both of its names.
///
/// Errors: ApiError naming the message, for roles and contents that cannot be shown to the model.
Json normalised_messages(const Json& messages, bool knows_developer);

}  // namespace ingot
