// Reads the effort and the limits of reasoning.
#include "server/common/reasoning_params.h"

#include <limits>
#include <optional>
#include <string>

#include "base/text.h"
#include "server/common/chat_prompt.h"

namespace ingot {

namespace {

constexpr std::int64_t kBudgetMax = std::numeric_limits<std::int32_t>::max();

}  // namespace

void read_reasoning_budget(Params& params, std::string_view name, std::int64_t least,
                           ChatArguments& arguments, ReasoningDemand& demand) {
  const auto budget = params.whole(name, -1, kBudgetMax);
  if (!budget) return;
  const std::string full = params.full(name);
  if (*budget != -1 && *budget < least) {
    throw invalid_request(
        full, cat(full, " is ", *budget, ", possible are -1 and ", least, " to ", kBudgetMax));
  }
  if (!demand.budget_from.empty() && demand.budget != *budget) {
    throw invalid_request(full, cat(full, " and ", demand.budget_from, " contradict each other"));
  }
  demand.budget = *budget;
  demand.budget_from = full;
  // The engine keeps the limit, whether the template tells the model about it or not.
  if (*budget >= 0) static_cast<void>(arguments.set("thinking_budget", *budget));
}

void read_thinking_switch(Params& params, std::string_view name, ChatArguments& arguments) {
  const auto wanted = params.flag(name);
  if (!wanted) return;
  const bool can_reason = !arguments.chat().dialect->reasoning_end().empty();
  if (arguments.set("enable_thinking", *wanted) || *wanted == can_reason) return;
  params.warn(name, "ignored",
              *wanted ? "the model does not reason" : "the model cannot leave reasoning out");
}

ReasoningDemand read_chat_reasoning(Params& params, ChatArguments& arguments) {
  ReasoningDemand demand;
  arguments.read_effort(params, "reasoning_effort");
  read_thinking_switch(params, "enable_thinking", arguments);
  for (const std::string_view name :
       {"thinking_budget", "thinking_token_budget", "thinking_budget_tokens"}) {
    read_reasoning_budget(params, name, 0, arguments, demand);
  }
  params.within("reasoning", [&](Params& reasoning) {
    arguments.read_effort(reasoning, "effort");
    read_reasoning_budget(reasoning, "max_tokens", 0, arguments, demand);
    demand.is_hidden = reasoning.flag("exclude").value_or(false);
    read_thinking_switch(reasoning, "enabled", arguments);
    reasoning.ignore("summary", "the reasoning itself is given");
  });
  if (!params.flag("include_reasoning").value_or(true)) demand.is_hidden = true;
  return demand;
}

}  // namespace ingot
