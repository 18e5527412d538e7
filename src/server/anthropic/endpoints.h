// The endpoints that Anthropic's clients use, one file each.
#pragma once

#include "server/common/endpoint.h"

namespace ingot {

/// POST /v1/messages
Reply messages(const Call& call);
/// POST /v1/messages/count_tokens
Reply count_tokens(const Call& call);

}  // namespace ingot
