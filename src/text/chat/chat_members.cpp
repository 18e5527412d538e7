// Reads a chat (messages, tools, documents) from the members of a JSON object.
#include "text/chat/chat_members.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::string_view kMembers[] = {"messages",
                                         "tools",
                                         "documents",
                                         "add_generation_prompt",
                                         "continue_final_message",
                                         "chat_template_kwargs"};

bool flag(const Json& object, std::string_view name, bool fallback) {
  const Json* member = object.find(name);
  if (member == nullptr) return fallback;
  if (member->as_bool() == nullptr) {
    throw Error(ErrorCode::kInvalid,
                cat(name, ": is ", member->kind(), ", expected true or false"));
  }
  return *member->as_bool();
}

}  // namespace

bool is_chat_member(std::string_view name) {
  return std::find(std::begin(kMembers), std::end(kMembers), name) != std::end(kMembers);
}

ChatInput parse_chat(const Json& object, const std::tm& now) {
  const Json* messages = object.find("messages");
  if (messages == nullptr) throw Error(ErrorCode::kInvalid, "messages: missing");
  ChatInput input{.messages = *messages, .now = now};
  if (const Json* tools = object.find("tools")) input.tools = *tools;
  if (const Json* documents = object.find("documents")) input.documents = *documents;
  input.continue_final_message = flag(object, "continue_final_message", false);
  input.add_generation_prompt =
      flag(object, "add_generation_prompt", !input.continue_final_message);
  if (const Json* arguments = object.find("chat_template_kwargs")) {
    if (arguments->as_object() == nullptr) {
      throw Error(ErrorCode::kInvalid,
                  cat("chat_template_kwargs: is ", arguments->kind(), ", expected an object"));
    }
    for (const auto& [name, value] : *arguments->as_object()) {
      input.arguments.emplace_back(name, value);
    }
  }
  check_chat(input);
  return input;
}

}  // namespace ingot
