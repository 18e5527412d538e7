// Chat prompts: checks messages and renders them with the template.
#include "server/common/chat_prompt.h"

#include <ctime>
#include <utility>

#include "base/text.h"
#include "load/json_object.h"
#include "server/common/message_text.h"
#include "text/chat/chat_members.h"
#include "text/chat/reasoning.h"

namespace ingot {

namespace {

/// Parses `text` as a JSON object; nothing if it is not one.
std::optional<Json> object_in(const std::string& text) {
  try {
    Json value = parse_json(text, "arguments", "json");
    if (value.as_object() != nullptr) return value;
  } catch (const Error&) {
    return std::nullopt;
  }
  return std::nullopt;
}

Json normalised_content(const std::string& place, std::string_view role, const Json* content) {
  if (content != nullptr && !content->is_null()) {
    return Json(
        message_text(cat(place, ".content"), *content, {"text", "input_text", "output_text"}));
  }
  if (role != "assistant") refuse_at(place, "has no content");
  return Json("");
}

/// A copy of an object in which one member has another value.
Json with(const Json::Object& members, std::string_view name, const Json& value) {
  Json out = Json::object();
  for (const auto& [key, member] : members) {
    out.set(key, key == name ? value : member);
  }
  return out;
}

/// Tool calls with arguments as objects, as templates expect. The API has them as strings.
Json calls_for_template(const Json& calls) {
  Json out = Json::array();
  for (const Json& call : *calls.as_array()) {
    const Json* function = call.find("function");
    const Json* arguments = function == nullptr ? nullptr : function->find("arguments");
    const bool is_text = arguments != nullptr && arguments->as_string() != nullptr;
    const auto parsed = is_text ? object_in(*arguments->as_string()) : std::nullopt;
    if (!parsed) {
      out.push(call);
      continue;
    }
    out.push(
        with(*call.as_object(), "function", with(*function->as_object(), "arguments", *parsed)));
  }
  return out;
}

Json normalised_message(const std::string& place, const Json& message) {
  const std::string& role = message_role(
      place, message, {"system", "developer", "user", "assistant", "tool", "function"});
  if (role == "tool") {
    const Json* call = message.find("tool_call_id");
    if (call == nullptr || call->as_string() == nullptr) refuse_at(place, "has no tool_call_id");
  }
  Json out = json_object(
      {{"role", role}, {"content", normalised_content(place, role, message.find("content"))}});
  const Json* reasoning = message.find("reasoning_content");
  if (reasoning == nullptr || reasoning->is_null()) reasoning = message.find("reasoning");
  if (reasoning != nullptr && !reasoning->is_null()) {
    if (reasoning->as_string() == nullptr) refuse_at(place, "has a reasoning that is not a string");
    out.set("reasoning_content", *reasoning);
    out.set("reasoning", *reasoning);
  }
  for (const auto& [name, value] : *message.as_object()) {
    const bool is_done =
        name == "role" || name == "content" || name == "reasoning_content" || name == "reasoning";
    // Clients send back whole messages, with null for absent members. Templates only check whether
    // a member exists.
    if (is_done || value.is_null()) continue;
    const bool is_calls = name == "tool_calls" && value.as_array() != nullptr;
    if (!is_calls) {
      out.set(name, value);
    } else if (!value.as_array()->empty()) {
      out.set(name, calls_for_template(value));
    }
  }
  return out;
}

/// The members of a chat, in an object of their own.
Json chat_members(Params& params) {
  const Json* messages = params.take("messages");
  if (messages == nullptr) throw invalid_request("messages", "messages is missing");
  Json chat = Json::object();
  chat.set("messages", normalised_messages(*messages));
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

Json normalised_messages(const Json& messages) {
  const Json::Array* all = messages.as_array();
  if (all == nullptr) {
    throw invalid_request("messages", cat("messages is ", messages.kind(), ", expected an array"));
  }
  if (all->empty() || all->size() > kMessagesMax) {
    throw invalid_request("messages", cat("messages has ", all->size(),
                                          " entries, possible are 1 to ", kMessagesMax));
  }
  Json out = Json::array();
  for (std::size_t i = 0; i < all->size(); ++i) {
    out.push(normalised_message(entry_place("messages", i), (*all)[i]));
  }
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

/// Renders a chat. Warns if its system messages had to be changed.
MarkedText rendered(Params& params, const Json& chat, const ChatTemplate& format,
                    const ChatNames& names) {
  FittedPrompt prompt = render_fitted(format, parse_chat(chat, local_time()), names.name_of);
  if (!prompt.change.empty()) params.warn(names.param, prompt.change, prompt.detail);
  return std::move(prompt.text);
}

}  // namespace

ChatPrompt encode_chat(Params& params, const Json& chat, const Service& service,
                       const ChatNames& names, PromptRoom room) {
  const ChatTemplate& format = service.chat();
  const std::string_view param = names.param;
  return about_chat(param, [&] {
    const MarkedText text = rendered(params, chat, format, names);
    const bool is_bounded = room == PromptRoom::kContext;
    if (is_bounded) service.check_text_room(text.bytes.size(), param);
    ChatPrompt prompt{.ids = format.encode(text)};
    if (is_bounded) service.check_room(prompt.ids.size(), param);
    prompt.has_reasoning = service.chat_knows("</think>");
    prompt.opens_reasoning = prompt.has_reasoning && opens_reasoning(text.bytes);
    return prompt;
  });
}

ChatArguments::ChatArguments(Params& params, const Service& service) : service_(service) {
  const Json* given = params.object("chat_template_kwargs");
  if (given == nullptr) return;
  values_ = *given;
  // `parse_chat` refuses all other names.
  for (const std::string_view name : chat_arguments()) {
    if (values_.find(name) == nullptr || service.chat_knows(name)) continue;
    params.warn(cat("chat_template_kwargs.", name), "ignored",
                "the chat template does not mention it");
  }
}

bool ChatArguments::set(std::string_view name, Json value) {
  if (!service_.chat_knows(name)) return false;
  if (values_.find(name) == nullptr) values_.set(std::string(name), std::move(value));
  return true;
}

void ChatArguments::read_effort(Params& params, std::string_view name) {
  constexpr std::size_t kEffortBytesMax = 32;
  const auto effort = params.text(name, kEffortBytesMax);
  if (!effort || (*effort == "none" && set("enable_thinking", false))) return;
  if (!set("reasoning_effort", *effort)) {
    params.warn(name, "ignored", "the chat template knows of no effort");
  }
}

namespace {

constexpr auto kMessagesEntry = [](std::size_t number) { return cat("messages[", number, "]"); };

/// A chat and its template's arguments, read from the request.
Json whole_chat(Params& params, const Service& service) {
  Json chat = chat_members(params);
  ChatArguments arguments(params, service);
  arguments.read_effort(params, "reasoning_effort");
  chat.set("chat_template_kwargs", arguments.values());
  return chat;
}

}  // namespace

MarkedText render_chat(Params& params, const Service& service) {
  const ChatTemplate& format = service.chat();
  const Json chat = whole_chat(params, service);
  const ChatNames names{.param = "messages", .name_of = kMessagesEntry};
  return about_chat("messages", [&] { return rendered(params, chat, format, names); });
}

ChatPrompt read_chat(Params& params, const Service& service) {
  const Json chat = whole_chat(params, service);
  const ChatNames names{.param = "messages", .name_of = kMessagesEntry};
  return encode_chat(params, chat, service, names, PromptRoom::kContext);
}

}  // namespace ingot
