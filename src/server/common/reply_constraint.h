// Constrains a reply: compiles the tools and the output format of a request to one grammar.
#pragma once

#include <optional>

#include "runtime/request.h"
#include "server/common/chat_prompt.h"
#include "server/common/constraint_params.h"
#include "server/common/reply_reader.h"
#include "server/common/tool_params.h"

namespace ingot {

/// Constrains the replies to a chat, and returns how to read them. Call it after the fields of
/// `request` were read. Compiles in the caller's thread.
///
/// - Tools: calls fit the tools' schemas. With the choice "auto", the text before a call is free.
/// - A format: the content has this format, behind the reasoning.
/// - Tools with the choice "auto" and a format: the reply is calls, or content of this format.
/// - A demanded call and a format: the format does not apply, with a warning.
///
/// Stop strings end only content that no format constrains, but no reasoning and no call. Where
/// they do not apply, the function adds the warning "not_applied" about `stop_name`. Also sets the
/// budget of reasoning. What a schema demands and the grammar cannot enforce becomes warnings
/// "not_enforced".
///
/// Errors: ApiError that names the member.
ReplyFormat constrain_chat(Params& params, const Service& service, const ChatPrompt& prompt,
                           const RequestTools& tools, const std::optional<ConstraintSpec>& format,
                           Request& request, std::string_view stop_name = "stop");

/// Constrains a text that has neither reasoning nor calls, as in completions.
///
/// Errors: ApiError that names the member.
void constrain_text(Params& params, const Service& service, const ConstraintSpec& format,
                    Request& request);

}  // namespace ingot
