// ingot chat without a terminal: answers each line of stdin.
#pragma once

#include "cli/chat/chat_session.h"

namespace ingot {

/// Answers each line of stdin as a message of one conversation, with a line break after each reply.
/// Skips blank lines. Commands, messages of several lines and prompts exist only on a terminal.
///
/// Errors: Error{kInvalid} if the context is full; those of ChatSession::reply.
void chat_in_pipe(ChatSession& session);

}  // namespace ingot
