// Reads the input of POST /v1/messages. Consecutive messages of one role become one turn.
#include "server/anthropic/messages_input.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/text.h"
#include "load/json_object.h"
#include "server/common/common_params.h"
#include "server/common/message_text.h"

namespace ingot {

namespace {

/// Joined consecutive messages of one role, or one system message.
struct ChatTurn {
  std::string place;  ///< the first message's member, such as "messages[3]"
  std::string role;
  std::string text{};
  std::string reasoning{};

  Json json() const {
    Json j = json_object({{"role", role}, {"content", text}});
    if (!reasoning.empty()) j.set("reasoning_content", reasoning);
    return j;
  }
};

/// Adds blocks of text and of thinking to `turn`.
void add_blocks(const std::string& place, const Json::Array& blocks, ChatTurn& turn) {
  if (blocks.empty()) refuse_at(place, "has no blocks");
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string at = entry_place(place, i);
    const std::string& type = part_type(at, blocks[i]);
    if (type == "text") {
      add_line(turn.text, part_string(at, blocks[i], "text"));
    } else if (type == "thinking" && turn.role == "assistant") {
      add_line(turn.reasoning, part_string(at, blocks[i], "thinking"));
    } else {
      refuse_at(at, cat("is of type ", printable(type, 64),
                        ": only text is supported, and thinking of the assistant"));
    }
  }
}

ChatTurn read_turn(const std::string& place, const Json& message) {
  ChatTurn turn{.place = place,
                .role = message_role(place, message, {"user", "assistant", "system"})};
  const Json* content = message.find("content");
  if (content == nullptr) refuse_at(place, "has no content");
  const std::string content_place = cat(place, ".content");
  if (const Json::Array* blocks = content->as_array()) {
    add_blocks(content_place, *blocks, turn);
  } else {
    turn.text = message_text(content_place, *content, {});
  }
  return turn;
}

void add_turn(ChatTurn turn, std::vector<ChatTurn>& turns) {
  if (turns.empty() || turns.back().role != turn.role || turn.role == "system") {
    turns.push_back(std::move(turn));
    return;
  }
  add_line(turns.back().text, turn.text);
  if (!turn.reasoning.empty()) add_line(turns.back().reasoning, turn.reasoning);
}

std::vector<ChatTurn> read_turns(Params& params) {
  const Json* messages = params.array("messages");
  if (messages == nullptr) throw invalid_request("messages", "messages is missing");
  const Json::Array& all = *messages->as_array();
  // The system message takes one place.
  if (all.empty() || all.size() >= kMessagesMax) {
    throw invalid_request("messages", cat("messages has ", all.size(),
                                          " entries, possible are 1 to ", kMessagesMax - 1));
  }
  std::vector<ChatTurn> turns;
  if (const Json* system = params.take("system")) {
    turns.push_back(
        {.place = "system", .role = "system", .text = message_text("system", *system, {"text"})});
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    add_turn(read_turn(entry_place("messages", i), all[i]), turns);
  }
  return turns;
}

/// Turns reasoning on or off if the template can; warns if it cannot.
void set_thinking(Params& thinking, std::string_view type, const Service& service,
                  ChatArguments& arguments) {
  const bool is_wanted = type != "disabled";
  const bool has_reasoning = service.chat_knows("</think>");
  if (arguments.set("enable_thinking", is_wanted) || is_wanted == has_reasoning) return;
  thinking.warn("type", "ignored",
                is_wanted ? "the model does not reason" : "the model cannot leave reasoning out");
}

void read_thinking(Params& params, const Service& service, ChatArguments& arguments) {
  params.within("thinking", [&](Params& thinking) {
    const auto type = thinking.one_of("type", {"enabled", "adaptive", "disabled"});
    if (!type) throw invalid_request("thinking.type", "thinking.type is missing");
    set_thinking(thinking, *type, service, arguments);
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    const auto budget = thinking.whole("budget_tokens", 1, kMost);
    if (budget && !arguments.set("thinking_budget", *budget)) {
      thinking.warn("budget_tokens", "ignored", "max_tokens bounds reasoning and text together");
    }
    if (thinking.one_of("display", {"summarized", "omitted"}) == "omitted") {
      thinking.warn("display", "ignored", "reasoning is given as it is");
    }
  });
  params.within("output_config", [&](Params& config) {
    arguments.read_effort(config, "effort");
    config.refuse("format", "constrained output is not supported yet");
  });
}

void read_tools_of_messages(Params& params) {
  bool is_none_chosen = false;
  params.within("tool_choice", [&](Params& choice) {
    is_none_chosen = choice.one_of("type", {"auto", "none"}) == "none";
    choice.flag("disable_parallel_tool_use");
  });
  read_tool_list(params, is_none_chosen);
}

}  // namespace

ChatPrompt read_messages(Params& params, const Service& service, PromptRoom room) {
  const std::vector<ChatTurn> turns = read_turns(params);
  ChatArguments arguments(params, service);
  read_thinking(params, service, arguments);
  read_tools_of_messages(params);
  Json messages = Json::array();
  for (const ChatTurn& turn : turns) messages.push(turn.json());
  const bool is_begun = turns.back().role == "assistant";
  if (is_begun && turns.back().text.empty()) {
    const std::string last =
        entry_place("messages", params.array("messages")->as_array()->size() - 1);
    refuse_at(last, "is the last one, a reply of the assistant, and has no text");
  }
  Json chat = json_object({{"messages", normalised_messages(messages)},
                           {"continue_final_message", is_begun},
                           {"chat_template_kwargs", arguments.values()}});
  const auto name_of = [&](std::size_t number) { return turns[number].place; };
  const ChatNames names{.param = "messages", .name_of = name_of};
  return encode_chat(params, chat, service, names, room);
}

}  // namespace ingot
