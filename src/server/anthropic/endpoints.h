// HTTP endpoints of Anthropic's Messages API.
#pragma once

#include "server/common/endpoint.h"

namespace ingot {

/// POST /v1/messages: replies to a chat.
Reply messages(const Call& call);
/// POST /v1/messages/count_tokens: counts the tokens of a prompt.
Reply count_tokens(const Call& call);

}  // namespace ingot
