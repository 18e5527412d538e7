// Chat prompts: checks messages and renders them with the template.
#include "server/common/chat_prompt.h"

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "base/index.h"
#include "base/text.h"
#include "load/json_object.h"
#include "server/common/list_entries.h"
#include "server/common/message_calls.h"
#include "server/common/message_text.h"
#include "text/chat/chat_members.h"

namespace ingot {

namespace {

Json normalised_content(const std::string& place, std::string_view role, const Json* content) {
  if (content == nullptr && role != "assistant") refuse_at(place, "has no content");
  if (content == nullptr || content->is_null()) return Json("");
  return Json(
      message_text(cat(place, ".content"), *content, {"text", "input_text", "output_text"}));
}

/// Adds the reasoning of a message under both names in use.
void add_reasoning(const std::string& place, const Json& message, Json& out) {
  const Json* reasoning = message.find("reasoning_content");
  if (reasoning == nullptr || reasoning->is_null()) reasoning = message.find("reasoning");
  if (reasoning == nullptr || reasoning->is_null()) return;
  if (reasoning->as_string() == nullptr) refuse_at(place, "has a reasoning that is not a string");
  out.set("reasoning_content", *reasoning);
  out.set("reasoning", *reasoning);
}

/// Converts messages one by one. Results in the older form belong to the last older call.
class MessageReader {
 public:
  explicit MessageReader(Params* params) : params_(params) {}

  Json read(const std::string& place, const Json& message) {
    const std::string& role = message_role(
        place, message, {"system", "developer", "user", "assistant", "tool", "function"});
    Json out = json_object({{"role", role == "function" ? "tool" : role},
                            {"content", normalised_content(place, role, message.find("content"))}});
    if (role == "function") out.set("tool_call_id", function_id_);
    if (role == "tool") {
      const Json* call = message.find("tool_call_id");
      if (call == nullptr || call->as_string() == nullptr) refuse_at(place, "has no tool_call_id");
    }
    add_reasoning(place, message, out);
    for (const auto& [name, value] : *message.as_object()) {
      // Clients send back whole messages, with null for absent members. Templates only check
      // whether a member exists.
      if (!value.is_null()) add_member(place, name, value, out);
    }
    return out;
  }

 private:
  void add_member(const std::string& place, const std::string& name, const Json& value, Json& out) {
    for (const std::string_view done : {"role", "content", "reasoning_content", "reasoning"}) {
      if (name == done) return;
    }
    const std::string at = cat(place, ".", name);
    if (name == "tool_calls") {
      Json calls = normalised_calls(params_, at, value);
      if (!calls.as_array()->empty()) out.set(name, std::move(calls));
    } else if (name == "function_call") {
      function_id_ = cat("call_", ++functions_);
      if (out.find("tool_calls") != nullptr) refuse_at(at, "stands beside tool_calls");
      out.set("tool_calls", normalised_function_call(params_, at, function_id_, value));
    } else {
      out.set(name, value);
    }
  }

  Params* params_;
  std::string function_id_ = "call_0";  ///< id of the last `function_call`
  int functions_ = 0;
};

/// The members of a chat, in an object of their own.
Json chat_members(Params& params, const Call& call) {
  const Json* messages = params.take("messages");
  if (messages == nullptr) throw invalid_request("messages", "messages is missing");
  Json chat = Json::object();
  chat.set("messages", normalised_messages(*messages, call, &params));
  for (const std::string_view name :
       {"documents", "add_generation_prompt", "continue_final_message"}) {
    if (const Json* value = params.take(name)) chat.set(std::string(name), *value);
  }
  return chat;
}

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return local;
}

}  // namespace

Json normalised_messages(const Json& messages, const Call& call, Params* params) {
  const Json::Array* all = messages.as_array();
  if (all == nullptr) {
    throw invalid_request("messages", cat("messages is ", messages.kind(), ", expected an array"));
  }
  if (all->empty() || all->size() > kMessagesMax) {
    throw invalid_request("messages", cat("messages has ", all->size(),
                                          " entries, possible are 1 to ", kMessagesMax));
  }
  MessageReader reader(params);
  Json out = Json::array();
  each_entry(call, "messages", *all, [&](const Json& message, const std::string& place) {
    out.push(reader.read(place, message));
  });
  return out;
}

namespace {

/// Calls `body`. Errors of the template about the messages become errors about `param`.
template <class Body>
auto about_chat(std::string_view param, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    ApiError named = api_error(error);
    if (named.param.empty() || named.param == "messages") named.param = param;
    throw ApiError(std::move(named));
  }
}

bool is_system(const Json& message) {
  const std::string* role = message.find_string("role");
  return role != nullptr && (*role == "system" || *role == "developer");
}

/// Whether messages have calls of tools, their results, or reasoning. Templates differ in the form
/// of these.
bool needs_dialect(const Json& messages) {
  const Json::Array& all = *messages.as_array();
  return std::any_of(all.begin(), all.end(), [](const Json& message) {
    const std::string* role = message.find_string("role");
    return message.find("tool_calls") != nullptr || message.find("reasoning_content") != nullptr ||
           (role != nullptr && *role == "tool");
  });
}

/// Finds the names of system messages in a chat to which a dialect added tools. It may put a system
/// message in front, and join results of tools.
class SystemNames {
 public:
  explicit SystemNames(const Json& before)
      : messages_(before.as_array()->size()), before_(numbers_of(before)) {}

  void set_after(const Json& after) { after_ = numbers_of(after); }

  std::string name_of(std::size_t number, MessageName name) const {
    const auto at = std::find(after_.begin(), after_.end(), number);
    if (at == after_.end()) return name(std::min(number, messages_ - 1));
    const std::size_t added = after_.size() - before_.size();
    const auto place = to_size(at - after_.begin());
    return place < added ? std::string("tools") : name(before_[place - added]);
  }

 private:
  static std::vector<std::size_t> numbers_of(const Json& messages) {
    std::vector<std::size_t> numbers;
    const Json::Array& all = *messages.as_array();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (is_system(all[i])) numbers.push_back(i);
    }
    return numbers;
  }

  std::size_t messages_;
  std::vector<std::size_t> before_;
  std::vector<std::size_t> after_;
};

/// Renders a chat. Warns if its system messages had to be changed.
MarkedText rendered(Params& params, const Json& chat, const ServedChat& served,
                    const ChatNames& names, const RequestTools& tools) {
  ChatInput input = parse_chat(chat, local_time());
  SystemNames systems(input.messages);
  if (!tools.empty() || needs_dialect(input.messages)) {
    for (const LostParts& lost : served.dialect->add_tools(input, tools.tools, tools.choice)) {
      const std::string more =
          lost.messages > 1 ? cat(" (and in ", lost.messages - 1, " more)") : std::string();
      params.warn(cat(names.name_of(lost.first), ".", lost.member), "ignored",
                  cat(lost.reason, more));
    }
  }
  // Without tools, only their calls are in the history. Templates can iterate over an empty list.
  if (served.is_for_tools && input.tools.is_null()) input.tools = Json::array();
  systems.set_after(input.messages);
  const auto name_of = [&](std::size_t number) { return systems.name_of(number, names.name_of); };
  FittedPrompt prompt = render_fitted(served.chat, std::move(input), name_of);
  if (!prompt.change.empty()) params.warn(names.param, prompt.change, prompt.detail);
  return std::move(prompt.text);
}

}  // namespace

const ServedChat& chat_for(const Service& service, const Json& messages,
                           const RequestTools& tools) {
  return service.chat(!tools.empty() || takes_tools(nullptr, &messages));
}

ChatPrompt encode_chat(Params& params, const Json& chat, const Call& call, const ChatNames& names,
                       PromptRoom room, const RequestTools& tools) {
  const Service& service = call.service;
  const std::string_view param = names.param;
  return about_chat(param, [&] {
    const ServedChat& served = chat_for(service, *chat.find("messages"), tools);
    const MarkedText text = rendered(params, chat, served, names, tools);
    const bool is_bounded = room == PromptRoom::kContext;
    if (is_bounded) service.check_text_room(text.bytes.size(), param);
    ChatPrompt prompt{.ids = served.chat.encode(text), .chat = &served};
    if (is_bounded) service.check_room(prompt.ids.size(), param);
    const Json* continues = chat.find("continue_final_message");
    prompt.is_continued =
        continues != nullptr && continues->as_bool() != nullptr && *continues->as_bool();
    prompt.begin = served.dialect->begin_of(text.bytes);
    return prompt;
  });
}

ChatArguments::ChatArguments(Params& params, const ServedChat& chat) : chat_(chat) {
  const Json* given = params.object("chat_template_kwargs");
  if (given == nullptr) return;
  values_ = *given;
  // `parse_chat` refuses all other names.
  for (const std::string_view name : chat_arguments()) {
    if (values_.find(name) == nullptr || chat.knows(name)) continue;
    params.warn(cat("chat_template_kwargs.", name), "ignored",
                "the chat template does not mention it");
  }
}

bool ChatArguments::set(std::string_view name, Json value) {
  if (!chat_.knows(name)) return false;
  if (values_.find(name) == nullptr) values_.set(std::string(name), std::move(value));
  return true;
}

void ChatArguments::check_effort(const std::string& name, const std::string& effort) {
  const Json* given = values_.find("reasoning_effort");
  if (effort_from_.empty() && given != nullptr) {
    effort_ = *given;
    effort_from_ = "chat_template_kwargs.reasoning_effort";
  }
  const bool is_equal = effort_.as_string() != nullptr && *effort_.as_string() == effort;
  if (!effort_from_.empty() && !is_equal) {
    throw invalid_request(name, cat(name, " and ", effort_from_, " contradict each other"));
  }
  effort_ = effort;
  effort_from_ = name;
}

void ChatArguments::read_effort(Params& params, std::string_view name) {
  constexpr std::size_t kEffortBytesMax = 32;
  const auto effort = params.text(name, kEffortBytesMax);
  if (!effort) return;
  check_effort(params.full(name), *effort);
  if (*effort == "none" && set("enable_thinking", false)) return;
  if (!set("reasoning_effort", *effort)) {
    params.warn(name, "ignored", "the chat template knows of no effort");
  }
}

namespace {

constexpr auto kMessagesEntry = [](std::size_t number) { return cat("messages[", number, "]"); };

/// A chat and its template's arguments, read from the request.
Json whole_chat(Params& params, const Call& call, const RequestTools& tools,
                ReasoningDemand& reasoning) {
  Json chat = chat_members(params, call);
  ChatArguments arguments(params, chat_for(call.service, *chat.find("messages"), tools));
  reasoning = read_chat_reasoning(params, arguments);
  chat.set("chat_template_kwargs", arguments.values());
  return chat;
}

}  // namespace

ChatText render_chat(Params& params, const Call& call) {
  const RequestTools tools = read_chat_tools(params);
  ReasoningDemand reasoning;
  const Json chat = whole_chat(params, call, tools, reasoning);
  const ServedChat& served = chat_for(call.service, *chat.find("messages"), tools);
  const ChatNames names{.param = "messages", .name_of = kMessagesEntry};
  return about_chat("messages", [&] {
    return ChatText{rendered(params, chat, served, names, tools), served};
  });
}

ChatPrompt read_chat(Params& params, const Call& call, const RequestTools& tools) {
  ReasoningDemand reasoning;
  const Json chat = whole_chat(params, call, tools, reasoning);
  const ChatNames names{.param = "messages", .name_of = kMessagesEntry};
  ChatPrompt prompt = encode_chat(params, chat, call, names, PromptRoom::kContext, tools);
  prompt.reasoning = reasoning;
  return prompt;
}

}  // namespace ingot
