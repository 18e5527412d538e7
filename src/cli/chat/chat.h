// ingot chat: what its files share.
#pragma once

#include "cli/chat/chat_session.h"

namespace ingot {

/// Answers every line of stdin as a message of one conversation, each reply ending a line on
/// stdout. Blank lines are none; commands, fences and prompts are for terminals.
///
/// Errors: Error{kInvalid} when the context is full; as of ChatSession::reply.
void chat_in_pipe(ChatSession& session);

}  // namespace ingot
