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

/// Messages, and the member from which each comes.
struct NamedMessages {
  Json messages = Json::array();
  std::vector<std::string> names{};

  void add(std::string name, Json message) {
    messages.push(std::move(message));
    names.push_back(std::move(name));
  }
};

/// Collects messages in the order of the items. An assistant's reasoning is an item of its own, and
/// belongs to the message after it.
class Items {
 public:
  explicit Items(NamedMessages& out) : out_(out) {}

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

  /// Adds the reasoning that no message follows.
  void finish(const std::string& place) {
    if (!reasoning_.empty()) push(place, message("assistant", {}));
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
    push(place, message(role, message_text(cat(place, ".content"), *content,
                                           {"input_text", "output_text", "text"})));
  }

  void add_reasoning(const std::string& place, const Json& item) {
    const Json* content = item.find("content");
    if (content == nullptr || content->is_null()) {
      refuse_at(place, "is reasoning without its content: it is kept nowhere else");
    }
    add_line(reasoning_, message_text(cat(place, ".content"), *content, {"reasoning_text"}));
  }

  void push(const std::string& place, Json message) {
    if (*message.find("role")->as_string() == "assistant" && !reasoning_.empty()) {
      message.set("reasoning_content", std::exchange(reasoning_, {}));
    }
    out_.add(place, std::move(message));
  }

  NamedMessages& out_;
  std::string reasoning_;
};

void read_items(Params& params, NamedMessages& out) {
  const Json* input = params.take("input");
  if (input == nullptr) throw invalid_request("input", "input is missing");
  if (const std::string* text = input->as_string()) {
    return out.add("input", message("user", *text));
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
  Items items(out);
  for (std::size_t i = 0; i < all->size(); ++i) items.add(entry_place("input", i), (*all)[i]);
  items.finish(entry_place("input", all->size() - 1));
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
  NamedMessages all;
  if (auto instructions = params.text("instructions", SIZE_MAX)) {
    all.add("instructions", message("system", std::move(*instructions)));
  }
  read_items(params, all);
  ChatArguments arguments(params, service);
  read_reasoning(params, arguments);
  const Json chat = json_object({{"messages", normalised_messages(all.messages)},
                                 {"chat_template_kwargs", arguments.values()}});
  const auto name_of = [&](std::size_t number) { return all.names[number]; };
  const ChatNames names{.param = "input", .name_of = name_of};
  return encode_chat(params, chat, service, names, room);
}

}  // namespace ingot
