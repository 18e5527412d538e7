// ingot chat on pipes: a message a line, a reply a line.
#pragma once

#include "cli/chat/chat_session.h"

namespace ingot {

/// Answers each line of stdin as a message of one conversation, with a line break after each reply.
/// Blank lines are skipped; commands, fences and prompts are for terminals.
///
/// Errors: Error{kInvalid} when the context is full; as of ChatSession::reply.
void chat_in_pipe(ChatSession& session);

}  // namespace ingot
