// Reads the input of POST /v1/messages. Consecutive messages of one role become one turn.
#include "server/anthropic/messages_input.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "load/json_object.h"
#include "server/anthropic/messages_tools.h"
#include "server/common/list_entries.h"
#include "server/common/message_calls.h"
#include "server/common/message_text.h"
#include "server/common/reasoning_params.h"
#include "server/common/thinking_signature.h"

namespace ingot {

namespace {

/// Joined consecutive messages of one role, one system message, or the result of a call.
struct ChatTurn {
  std::string place;  ///< the first message's member, such as "messages[3]"
  std::string role;
  std::string text{};
  std::string reasoning{};
  Json calls = Json::array();
  std::string call_id{};  ///< for the result of a call

  Json json() const {
    Json j = json_object({{"role", role}, {"content", text}});
    if (!reasoning.empty()) j.set("reasoning_content", reasoning);
    if (!calls.as_array()->empty()) j.set("tool_calls", calls);
    if (!call_id.empty()) j.set("tool_call_id", call_id);
    return j;
  }
};

/// Collects turns from messages and their blocks.
class TurnReader {
 public:
  explicit TurnReader(Params& params) : params_(params) {}

  void add_system(const Json& system) {
    turns_.push_back(
        {.place = "system", .role = "system", .text = message_text("system", system, {"text"})});
  }

  void add_message(const std::string& place, const Json& message) {
    const std::string& role = message_role(place, message, {"user", "assistant", "system"});
    const Json* content = message.find("content");
    if (content == nullptr) refuse_at(place, "has no content");
    message_ = {.place = place, .role = role};
    const std::string content_place = cat(place, ".content");
    if (const Json::Array* blocks = content->as_array()) {
      if (blocks->empty()) refuse_at(content_place, "has no blocks");
      for (std::size_t i = 0; i < blocks->size(); ++i) {
        add_block(entry_place(content_place, i), (*blocks)[i]);
      }
    } else {
      add_line(turn().text, message_text(content_place, *content, {}));
    }
    has_turn_ = false;
  }

  std::vector<ChatTurn> take() { return std::move(turns_); }

 private:
  void add_block(const std::string& at, const Json& block) {
    const std::string& type = part_type(at, block);
    const bool is_assistant = message_.role == "assistant";
    if (type == "text") {
      add_line(turn().text, part_string(at, block, "text"));
    } else if (type == "thinking" && is_assistant) {
      add_thinking(at, block);
    } else if (type == "redacted_thinking" && is_assistant) {
      params_.warn(at, "ignored", "this server cannot read it: another server wrote it");
      turn();
    } else if (type == "tool_use" && is_assistant) {
      add_call(at, block);
    } else if (type == "tool_result" && message_.role == "user") {
      add_result(at, block);
    } else {
      refuse_at(at, cat("is of type ", printable(type, 64),
                        ": possible are text, thinking and tool_use of the assistant, and "
                        "tool_result of the user"));
    }
  }

  /// The turn to which the blocks of the current message belong.
  ChatTurn& turn() {
    const bool joins = !turns_.empty() && turns_.back().role == message_.role &&
                       (has_turn_ || message_.role != "system");
    if (!joins) turns_.push_back(message_);
    has_turn_ = true;
    return turns_.back();
  }

  void add_thinking(const std::string& at, const Json& block) {
    const std::string text = part_string(at, block, "thinking");
    const std::string signature = part_string(at, block, "signature");
    switch (ThinkingSigner::of_process().check(text, signature)) {
      case SignatureCheck::kGenuine:
        add_line(turn().reasoning, text);
        break;
      case SignatureCheck::kOtherProcess:
        params_.warn(at, "ignored", "its signature is of before the server's restart");
        turn();
        break;
      case SignatureCheck::kWrong:
        refuse_at(cat(at, ".signature"),
                  "is not this server's signature of the block: send blocks back as they came, "
                  "without those of other servers");
    }
  }

  void add_call(const std::string& at, const Json& block) {
    const std::string id = part_string(at, block, "id");
    if (id.empty()) refuse_at(cat(at, ".id"), "is empty");
    if (!ids_.insert(id).second) refuse_at(cat(at, ".id"), "is the id of two calls");
    const Json* input = block.find("input");
    if (input == nullptr || input->as_object() == nullptr) {
      refuse_at(at, "has no object as its input");
    }
    turn().calls.push(
        make_call(&params_, cat(at, ".input"), id, part_string(at, block, "name"), *input));
  }

  void add_result(const std::string& at, const Json& block) {
    const std::string id = part_string(at, block, "tool_use_id");
    if (ids_.count(id) == 0) {
      refuse_at(cat(at, ".tool_use_id"), cat("is ", printable(id, 64), ", the id of no call"));
    }
    std::string text;
    const Json* content = block.find("content");
    const bool has_content = content != nullptr && !content->is_null() &&
                             (content->as_array() == nullptr || !content->as_array()->empty());
    if (has_content) text = message_text(cat(at, ".content"), *content, {"text"});
    const Json* error = block.find("is_error");
    if (error != nullptr && !error->is_null()) {
      if (error->as_bool() == nullptr) refuse_at(cat(at, ".is_error"), "is no boolean");
      // Templates know of no failed calls.
      if (*error->as_bool()) text = cat("error: ", text);
    }
    turns_.push_back({.place = message_.place, .role = "tool", .text = text, .call_id = id});
    has_turn_ = false;
  }

  Params& params_;
  std::vector<ChatTurn> turns_;
  ChatTurn message_{};         ///< an empty turn for the current message
  bool has_turn_ = false;      ///< whether the current message has a turn that is the last one
  std::set<std::string> ids_;  ///< ids of the calls so far
};

std::vector<ChatTurn> read_turns(Params& params, const Call& call) {
  const Json* messages = params.array("messages");
  if (messages == nullptr) throw invalid_request("messages", "messages is missing");
  const Json::Array& all = *messages->as_array();
  // The system message takes one place.
  if (all.empty() || all.size() >= kMessagesMax) {
    throw invalid_request("messages", cat("messages has ", all.size(),
                                          " entries, possible are 1 to ", kMessagesMax - 1));
  }
  TurnReader reader(params);
  if (const Json* system = params.take("system")) reader.add_system(*system);
  each_entry(call, "messages", all, [&](const Json& message, const std::string& place) {
    reader.add_message(place, message);
  });
  return reader.take();
}

/// Turns reasoning on or off if the template can; warns if it cannot.
void set_thinking(Params& thinking, std::string_view type, ChatArguments& arguments) {
  const bool is_wanted = type != "disabled";
  const bool can_reason = !arguments.chat().dialect->reasoning_end().empty();
  if (arguments.set("enable_thinking", is_wanted) || is_wanted == can_reason) return;
  thinking.warn("type", "ignored",
                is_wanted ? "the model does not reason" : "the model cannot leave reasoning out");
}

ReasoningDemand read_thinking(Params& params, ChatArguments& arguments) {
  ReasoningDemand demand;
  params.within("thinking", [&](Params& thinking) {
    const auto type = thinking.one_of("type", {"enabled", "adaptive", "disabled"});
    if (!type) throw invalid_request("thinking.type", "thinking.type is missing");
    set_thinking(thinking, *type, arguments);
    read_reasoning_budget(thinking, "budget_tokens", 1, arguments, demand);
    if (thinking.one_of("display", {"summarized", "omitted"}) == "omitted") {
      thinking.warn("display", "ignored", "reasoning is given as it is");
    }
  });
  return demand;
}

/// Reads the effort and the format of the reply. The format's older name is output_format.
std::optional<ConstraintSpec> read_output(Params& params, ChatArguments& arguments) {
  std::optional<ConstraintSpec> format;
  params.within("output_config", [&](Params& config) {
    arguments.read_effort(config, "effort");
    format = read_output_format(config, "format", true);
  });
  auto older = read_output_format(params, "output_format", true);
  if (!older) return format;
  if (format) {
    throw invalid_request("output_format",
                          "output_format and output_config.format exclude each other");
  }
  return older;
}

/// Checks that the assistant's last message can be continued.
void check_begun(const ChatTurn& turn, const std::string& place) {
  if (!turn.calls.as_array()->empty()) {
    refuse_at(place, "is the last one, and its calls have no results");
  }
  if (turn.text.empty()) {
    refuse_at(place, "is the last one, a reply of the assistant, and has no text");
  }
}

}  // namespace

MessagesInput read_messages(Params& params, const Call& call, PromptRoom room) {
  const std::vector<ChatTurn> turns = read_turns(params, call);
  MessagesInput input{.tools = read_message_tools(params)};
  Json messages = Json::array();
  for (const ChatTurn& turn : turns) messages.push(turn.json());
  messages = normalised_messages(messages, call);
  ChatArguments arguments(params, chat_for(call.service, messages, input.tools));
  const ReasoningDemand reasoning = read_thinking(params, arguments);
  input.format = read_output(params, arguments);
  const bool is_begun = turns.back().role == "assistant";
  if (is_begun) {
    const std::size_t count = params.array("messages")->as_array()->size();
    check_begun(turns.back(), entry_place("messages", count - 1));
  }
  const Json chat = json_object({{"messages", messages},
                                 {"continue_final_message", is_begun},
                                 {"chat_template_kwargs", arguments.values()}});
  const auto name_of = [&](std::size_t number) { return turns[number].place; };
  const ChatNames names{.param = "messages", .name_of = name_of};
  input.prompt = encode_chat(params, chat, call, names, room, input.tools);
  input.prompt.reasoning = reasoning;
  return input;
}

}  // namespace ingot
