// ingot chat without a terminal: answers each line of stdin.
#pragma once

#include "cli/chat/chat_session.h"

namespace ingot {

/// Reads each line of stdin as a message of one conversation. Writes each reply and a line break.
/// Skips blank lines. Supports no commands and no multi-line messages, and shows no prompt.
///
/// Errors: Error{kInvalid} if the context is full; those of ChatSession::reply.
void chat_in_pipe(ChatSession& session);

}  // namespace ingot
