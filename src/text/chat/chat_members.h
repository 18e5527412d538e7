// Reads a chat (messages, tools, documents) from a JSON object, such as a request's body.
#pragma once

#include <ctime>
#include <string_view>

#include "load/json.h"
#include "text/chat/chat_template.h"

namespace ingot {

/// Whether `parse_chat` reads a member of this name: messages, tools, documents,
/// add_generation_prompt, continue_final_message, chat_template_kwargs.
bool is_chat_member(std::string_view name);

/// Reads a chat from an object's members. Ignores all other members. `now` is the local time.
///
/// Errors:  Error{kInvalid} that names a member of the wrong type; the errors of `check_chat`.
ChatInput parse_chat(const Json& object, const std::tm& now);

}  // namespace ingot
