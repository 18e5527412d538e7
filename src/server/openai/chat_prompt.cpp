// From messages to tokens.
#include "server/openai/chat_prompt.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "base/text.h"
#include "text/chat_members.h"
#include "text/reasoning.h"

namespace ingot {

namespace {

constexpr std::array<std::string_view, 6> kRoles = {"system",    "developer", "user",
                                                    "assistant", "tool",      "function"};

[[noreturn]] void refuse(std::size_t number, std::string_view what) {
  throw invalid_request("messages", cat("messages[", number, "] ", what));
}

/// The parts of a message's content as one text.
std::string joined(std::size_t number, const Json::Array& parts) {
  std::string text;
  for (const Json& part : parts) {
    const Json* type = part.find("type");
    if (type == nullptr || type->as_string() == nullptr) refuse(number, "has a part without type");
    const bool is_text = *type->as_string() == "text" || *type->as_string() == "input_text" ||
                         *type->as_string() == "output_text";
    if (!is_text) refuse(number, "has a part that is no text: only text is supported");
    const Json* value = part.find("text");
    if (value == nullptr || value->as_string() == nullptr) {
      refuse(number, "has a part of text without a string");
    }
    if (!text.empty()) text += '\n';
    text += *value->as_string();
  }
  return text;
}

Json normalised_content(std::size_t number, std::string_view role, const Json* content) {
  if (content == nullptr || content->is_null()) {
    if (role == "assistant") return Json("");
    refuse(number, "has no content");
  }
  if (content->as_string() != nullptr) return *content;
  if (content->as_array() != nullptr) {
    if (content->as_array()->empty()) refuse(number, "has a content without parts");
    return Json(joined(number, *content->as_array()));
  }
  refuse(number, cat("has a content that is ", content->kind(), ", expected a string or parts"));
}

Json normalised_message(std::size_t number, const Json& message, bool knows_developer) {
  const Json::Object* members = message.as_object();
  if (members == nullptr) refuse(number, cat("is ", message.kind(), ", expected an object"));
  const Json* role = message.find("role");
  if (role == nullptr || role->as_string() == nullptr ||
      std::find(kRoles.begin(), kRoles.end(), *role->as_string()) == kRoles.end()) {
    refuse(number, "has a role that is not system, developer, user, assistant or tool");
  }
  Json out = Json::object();
  const bool is_renamed = *role->as_string() == "developer" && !knows_developer;
  out.set("role", is_renamed ? Json("system") : *role);
  out.set("content", normalised_content(number, *role->as_string(), message.find("content")));
  const Json* reasoning = message.find("reasoning_content");
  if (reasoning == nullptr) reasoning = message.find("reasoning");
  if (reasoning != nullptr && !reasoning->is_null()) {
    if (reasoning->as_string() == nullptr) refuse(number, "has a reasoning that is no string");
    out.set("reasoning_content", *reasoning);
    out.set("reasoning", *reasoning);
  }
  for (const auto& [name, value] : *members) {
    const bool is_done =
        name == "role" || name == "content" || name == "reasoning_content" || name == "reasoning";
    if (!is_done) out.set(name, value);
  }
  return out;
}

/// The members of a chat, in an object of their own.
Json chat_members(Params& params, const Service& service) {
  const Json* messages = params.take("messages");
  if (messages == nullptr) throw invalid_request("messages", "messages is missing");
  Json chat = Json::object();
  chat.set("messages", normalised_messages(*messages, service.chat_knows("developer")));
  for (const std::string_view name :
       {"documents", "add_generation_prompt", "continue_final_message", "chat_template_kwargs"}) {
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

Json normalised_messages(const Json& messages, bool knows_developer) {
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
    out.push(normalised_message(i, (*all)[i], knows_developer));
  }
  return out;
}

ChatPrompt read_chat(Params& params, const Service& service) {
  const ChatTemplate& chat = service.chat();
  const Json members = chat_members(params, service);
  const auto effort = params.text("reasoning_effort", 32);
  return as_api([&] {
    ChatInput input = parse_chat(members, local_time());
    if (effort) input.arguments.emplace_back("reasoning_effort", *effort);
    const MarkedText text = chat.render(input);
    ChatPrompt prompt{.ids = chat.encode(text)};
    service.check_room(prompt.ids.size(), "messages");
    prompt.has_reasoning = service.chat_knows("</think>");
    prompt.opens_reasoning = prompt.has_reasoning && opens_reasoning(text.bytes);
    return prompt;
  });
}

}  // namespace ingot
