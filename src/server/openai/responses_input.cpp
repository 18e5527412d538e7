// Reads the input of POST /v1/responses: messages, reasoning, calls and results, item by item.
#include "server/openai/responses_input.h"

#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "load/json_object.h"
#include "server/common/list_entries.h"
#include "server/common/message_calls.h"
#include "server/common/message_text.h"
#include "server/common/thinking_signature.h"

namespace ingot {

namespace {

/// A chat message, and the item from which it comes.
struct Entry {
  std::string place;
  std::string role;
  std::string text{};
  std::string reasoning{};
  Json calls = Json::array();
  std::string call_id{};  ///< for a result: its call

  Json json() const {
    Json j = json_object({{"role", role}, {"content", text}});
    if (!reasoning.empty()) j.set("reasoning_content", reasoning);
    if (!calls.as_array()->empty()) j.set("tool_calls", calls);
    if (!call_id.empty()) j.set("tool_call_id", call_id);
    return j;
  }
};

/// Collects messages in the order of the items. An assistant's reasoning and calls are items of
/// their own. Reasoning belongs to the message or call behind it, and calls to the message before
/// them.
class Items {
 public:
  explicit Items(Params& params) : params_(params) {}

  void add(const std::string& place, const Json& item) {
    if (item.as_object() == nullptr) {
      refuse_at(place, cat("is ", item.kind(), ", expected an object"));
    }
    const std::string& type = type_of(place, item);
    if (type == "message") {
      add_message(place, item);
    } else if (type == "reasoning") {
      add_reasoning(place, item);
    } else if (type == "function_call") {
      const Json* arguments = item.find("arguments");
      const std::string id = call_id(place, item);
      add_call(place, id,
               make_call(&params_, cat(place, ".arguments"), id, part_string(place, item, "name"),
                         arguments == nullptr ? Json() : *arguments));
    } else if (type == "custom_tool_call") {
      const std::string id = call_id(place, item);
      add_call(place, id,
               make_custom_call(id, part_string(place, item, "name"),
                                part_string(place, item, "input")));
    } else if (type == "function_call_output" || type == "custom_tool_call_output") {
      add_result(place, item);
    } else if (type == "item_reference") {
      refuse_at(place, "is a reference: no items are stored");
    } else {
      refuse_at(place, cat("is a ", printable(type, 64),
                           ": only messages, reasoning, and calls of functions and custom tools "
                           "are supported"));
    }
  }

  void add_text(const std::string& place, std::string_view role, std::string text) {
    if (role != "assistant") end_reasoning();
    entries_.push_back({.place = place,
                        .role = std::string(role),
                        .text = std::move(text),
                        .reasoning = role == "assistant" ? std::exchange(reasoning_, {}) : ""});
  }

  std::vector<Entry> take() {
    end_reasoning();
    return std::move(entries_);
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

  static std::string call_id(const std::string& place, const Json& item) {
    std::string id = part_string(place, item, "call_id");
    if (id.empty()) refuse_at(cat(place, ".call_id"), "is empty");
    return id;
  }

  void add_message(const std::string& place, const Json& item) {
    const std::string& role =
        message_role(place, item, {"user", "assistant", "system", "developer"});
    const Json* content = item.find("content");
    if (content == nullptr) refuse_at(place, "has no content");
    std::string text;
    if (!content->is_null()) {
      text = message_text(cat(place, ".content"), *content, {"input_text", "output_text", "text"});
    }
    add_text(place, role, std::move(text));
  }

  /// Clients may send back only what they show, or the sealed text in place of the content. Without
  /// both the reasoning is lost, and the model does without.
  void add_reasoning(const std::string& place, const Json& item) {
    const Json* content = item.find("content");
    if (content != nullptr && content->as_array() != nullptr && content->as_array()->empty()) {
      content = nullptr;
    }
    std::optional<std::string> text;
    if (content != nullptr && !content->is_null()) {
      text = message_text(cat(place, ".content"), *content, {"reasoning_text"});
    } else if (const Json* sealed = item.find("encrypted_content"); sealed && !sealed->is_null()) {
      text = ThinkingSigner::of_process().unseal(part_string(place, item, "encrypted_content"));
    }
    if (!text) {
      params_.warn(place, "ignored",
                   "it is reasoning without content, and without encrypted_content of this server "
                   "since its start");
      return;
    }
    reasoning_place_ = place;
    add_line(reasoning_, *text);
  }

  /// Makes a message of reasoning without a reply: the reply to another message must not get it.
  void end_reasoning() {
    if (!reasoning_.empty()) add_text(reasoning_place_, "assistant", {});
  }

  void add_call(const std::string& place, const std::string& id, Json call) {
    if (!ids_.insert(id).second) refuse_at(cat(place, ".call_id"), "is the id of two calls");
    const bool continues =
        !entries_.empty() && entries_.back().role == "assistant" && reasoning_.empty();
    if (!continues) add_text(place, "assistant", {});
    entries_.back().calls.push(std::move(call));
  }

  void add_result(const std::string& place, const Json& item) {
    end_reasoning();
    const std::string id = call_id(place, item);
    if (ids_.count(id) == 0) {
      refuse_at(cat(place, ".call_id"), cat("is ", printable(id, 64), ", the id of no call"));
    }
    const Json* output = item.find("output");
    if (output == nullptr) refuse_at(place, "has no output");
    std::string text =
        message_text(cat(place, ".output"), *output, {"input_text", "output_text", "text"});
    entries_.push_back({.place = place, .role = "tool", .text = std::move(text), .call_id = id});
  }

  Params& params_;
  std::vector<Entry> entries_;
  std::string reasoning_;  ///< reasoning of the reply that comes next
  std::string reasoning_place_;
  std::set<std::string> ids_;  ///< ids of the calls so far
};

std::vector<Entry> read_items(Params& params, const Call& call) {
  Items items(params);
  if (auto instructions = params.text("instructions", SIZE_MAX)) {
    items.add_text("instructions", "system", std::move(*instructions));
  }
  const Json* input = params.take("input");
  if (input == nullptr) throw invalid_request("input", "input is missing");
  if (const std::string* text = input->as_string()) {
    items.add_text("input", "user", *text);
    return items.take();
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
  each_entry(call, "input", *all,
             [&](const Json& item, const std::string& place) { items.add(place, item); });
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

ChatPrompt read_response_input(Params& params, const Call& call, PromptRoom room,
                               const RequestTools& tools) {
  const std::vector<Entry> entries = read_items(params, call);
  Json messages = Json::array();
  for (const Entry& entry : entries) messages.push(entry.json());
  if (entries.empty()) throw invalid_request("input", "input has no messages");
  messages = normalised_messages(messages, call);
  ChatArguments arguments(params, chat_for(call.service, messages, tools));
  read_reasoning(params, arguments);
  const Json chat =
      json_object({{"messages", messages}, {"chat_template_kwargs", arguments.values()}});
  const auto name_of = [&](std::size_t number) { return entries[number].place; };
  const ChatNames names{.param = "input", .name_of = name_of};
  return encode_chat(params, chat, call, names, room, tools);
}

}  // namespace ingot
