// ingot chat without commands: answers each line of stdin, or one prompt.
#pragma once

#include <string>

#include "cli/chat/chat_session.h"

namespace ingot {

/// Makes the prompt of the next reply. `place` begins error messages: "line 3: ", or nothing.
///
/// Errors: Error{kInvalid} if the context has no room for a reply; those of ChatSession::prepare.
void prepare_reply(ChatSession& session, const std::string& place);

/// Writes the reply to the prepared prompt and a line break. Returns the exit code: kDone, or
/// kCheckFailed after an error message if the context cut the reply.
///
/// Errors: those of ChatSession::reply.
int write_reply(ChatSession& session, const std::string& place);

/// Reads each line of stdin as a message of one conversation, and writes each reply. Skips blank
/// lines. Supports no commands and no multi-line messages, and shows no prompt. Ends behind a reply
/// that the context cut. Returns the exit code of `write_reply`.
///
/// Errors: those of prepare_reply and write_reply.
int chat_in_pipe(ChatSession& session);

}  // namespace ingot
