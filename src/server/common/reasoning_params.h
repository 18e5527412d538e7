// Reasoning of a request: reads its effort, its limit, and whether the response shows it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/common/params.h"

namespace ingot {

class ChatArguments;

/// What a request demands of the reasoning in its reply.
struct ReasoningDemand {
  std::int64_t budget = -1;   ///< maximum tokens of reasoning; -1: no limit
  std::string budget_from{};  ///< the member that sets `budget`, for messages
  bool is_hidden = false;     ///< whether the response leaves out the reasoning
};

/// Reads a limit on the tokens of reasoning: -1 (no limit) and `least` or more. Also tells the
/// template, if it knows of thinking_budget. Errors: ApiError that names the member, or both
/// members if two limits differ.
void read_reasoning_budget(Params& params, std::string_view name, std::int64_t least,
                           ChatArguments& arguments, ReasoningDemand& demand);
/// Turns reasoning on or off, if the template can. Warns if it cannot.
void read_thinking_switch(Params& params, std::string_view name, ChatArguments& arguments);

/// Reads the reasoning of a chat: `reasoning_effort`, `enable_thinking`, `thinking_budget` and its
/// other names, and the object `reasoning` {effort, max_tokens, exclude, enabled}.
///
/// Errors: ApiError that names the member.
ReasoningDemand read_chat_reasoning(Params& params, ChatArguments& arguments);

}  // namespace ingot
