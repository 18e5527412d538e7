// Renders chats whose system messages the chat template cannot express as they are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "text/chat/chat_template.h"

namespace ingot {

/// Returns a message's name in errors, such as "messages[3]", from its number.
using MessageName = FunctionRef<std::string(std::size_t)>;

/// A rendered chat, and what was changed in its messages.
struct FittedPrompt {
  MarkedText text;
  std::string_view change{};  ///< "joined" or "moved"; empty: nothing was changed
  std::string_view detail{};  ///< the change as a sentence
};

/// Renders a chat so that the prompt has the text of each system message.
///
/// The template's SystemRule decides. Messages of the role "developer" become system messages if
/// the template has no such role. Several system messages in front become one, with blank lines
/// between their texts, if the template writes only one. If the template writes none, their text
/// begins the user message behind them.
///
/// Errors:  Error{kInvalid}: "messages[3]: ..." for a system message that the template would drop
///          or put elsewhere; those of ChatTemplate::render.
FittedPrompt render_fitted(const ChatTemplate& chat_template, ChatInput input, MessageName name_of);

}  // namespace ingot
