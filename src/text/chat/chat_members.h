// A chat as the members of a JSON object, which files, lines and requests have alike.
#pragma once

#include <ctime>
#include <string_view>

#include "load/json.h"
#include "text/chat/chat_template.h"

namespace ingot {

/// Whether `name` is a member of a chat: messages, tools, documents, add_generation_prompt,
/// continue_final_message, chat_template_kwargs.
bool is_chat_member(std::string_view name);

/// The chat in an object's members; others are left alone.
///
/// Errors:  Error{kInvalid} that names a member of another kind, or what check_chat says.
ChatInput parse_chat(const Json& object, const std::tm& now);

}  // namespace ingot
