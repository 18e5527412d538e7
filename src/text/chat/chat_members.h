// Reads a chat from the members of a JSON object: of a file, a line or a request.
#pragma once

#include <ctime>
#include <string_view>

#include "load/json.h"
#include "text/chat/chat_template.h"

namespace ingot {

/// Whether `name` is a member of a chat: messages, tools, documents, add_generation_prompt,
/// continue_final_message, chat_template_kwargs.
bool is_chat_member(std::string_view name);

/// The chat in an object's members; other members are ignored.
///
/// Errors:  Error{kInvalid} that names a member of the wrong type; those of check_chat.
ChatInput parse_chat(const Json& object, const std::tm& now);

}  // namespace ingot
