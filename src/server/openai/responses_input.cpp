// Reads the input of POST /v1/responses: messages and reasoning, item by item.
#include "server/openai/responses_input.h"

#include <cstdint>
#include <utility>

#include "base/text.h"
#include "load/json_object.h"
#include "server/common/message_text.h"

namespace ingot {

namespace {

Json message(std::string_view role, std::string text) {
  return json_object({{"role", role}, {"content", std::move(text)}});
}

/// Collects messages in the order of the items. An assistant's reasoning is an item of its own, and
/// belongs to the message after it.
class Items {
 public:
  void add(const std::string& place, const Json& item) {
    if (item.as_object() == nullptr) {
      refuse_at(place, cat("is ", item.kind(), ", expected an object"));
    }
    const std::string& type = type_of(place, item);
    if (type == "message") {
      add_message(place, item);
    } else if (type == "reasoning") {
      add_reasoning(place, item);
    } else if (type == "item_reference") {
      refuse_at(place, "is a reference: no items are stored");
    } else {
      refuse_at(place,
                cat("is a ", printable(type, 64), ": only messages and reasoning are supported"));
    }
  }

  Json take() {
    if (!reasoning_.empty()) push(message("assistant", {}));
    return std::move(messages_);
  }

 private:
  /// The "type" of an item; a message may omit it.
  static const std::string& type_of(const std::string& place, const Json& item) {
    static const std::string kMessage = "message";
    const Json* type = item.find("type");
    if (type == nullptr || type->is_null()) return kMessage;
    if (type->as_string() == nullptr) refuse_at(place, "has a type that is no string");
    return *type->as_string();
  }

  void add_message(const std::string& place, const Json& item) {
    const std::string& role =
        message_role(place, item, {"user", "assistant", "system", "developer"});
    const Json* content = item.find("content");
    if (content == nullptr) refuse_at(place, "has no content");
    push(message(role, message_text(place, *content, {"input_text", "output_text", "text"})));
  }

  void add_reasoning(const std::string& place, const Json& item) {
    const Json* content = item.find("content");
    if (content == nullptr || content->is_null()) {
      refuse_at(place, "is reasoning without its content: it is kept nowhere else");
    }
    add_line(reasoning_, message_text(place, *content, {"reasoning_text"}));
  }

  void push(Json message) {
    if (*message.find("role")->as_string() == "assistant" && !reasoning_.empty()) {
      message.set("reasoning_content", std::exchange(reasoning_, {}));
    }
    messages_.push(std::move(message));
  }

  Json messages_ = Json::array();
  std::string reasoning_;
};

Json read_messages(Params& params) {
  const Json* input = params.take("input");
  if (input == nullptr) throw invalid_request("input", "input is missing");
  Json messages = Json::array();
  if (const std::string* text = input->as_string()) {
    messages.push(message("user", *text));
    return messages;
  }
  const Json::Array* all = input->as_array();
  if (all == nullptr) {
    throw invalid_request("input",
                          cat("input is ", input->kind(), ", expected a string or an array"));
  }
  // The instructions take one message.
  if (all->empty() || all->size() >= kMessagesMax) {
    throw invalid_request(
        "input", cat("input has ", all->size(), " entries, possible are 1 to ", kMessagesMax - 1));
  }
  Items items;
  for (std::size_t i = 0; i < all->size(); ++i) items.add(cat("input[", i, "]"), (*all)[i]);
  return items.take();
}

void read_reasoning(Params& params, ChatArguments& arguments) {
  params.within("reasoning", [&](Params& reasoning) {
    arguments.read_effort(reasoning, "effort");
    reasoning.ignore("summary", "the reasoning itself is given");
    reasoning.ignore("generate_summary", "the reasoning itself is given");
  });
}

}  // namespace

ChatPrompt read_response_input(Params& params, const Service& service, PromptRoom room) {
  Json messages = Json::array();
  if (auto instructions = params.text("instructions", SIZE_MAX)) {
    messages.push(message("system", std::move(*instructions)));
  }
  const Json input = read_messages(params);
  for (const Json& entry : *input.as_array()) messages.push(entry);
  ChatArguments arguments(params, service);
  read_reasoning(params, arguments);
  Json chat = json_object({{"messages", normalised_messages(messages, service)},
                           {"chat_template_kwargs", arguments.values()}});
  return encode_chat(chat, service, "input", room);
}

}  // namespace ingot
