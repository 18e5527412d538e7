// Reads and writes saved chats.
#include "cli/chat/chat_file.h"

#include <sys/stat.h>

#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"
#include "cli/input.h"
#include "load/json.h"

namespace ingot {

namespace {

constexpr std::string_view kFormat = "ingot-chat";
constexpr std::int64_t kVersion = 1;
constexpr JsonLimits kLimits{.bytes_max = kChatFileBytesMax, .depth_max = 8};

/// Checks a saved chat and splits it into messages.
class ChatReader {
 public:
  explicit ChatReader(const std::string& file) : file_(file) {}

  std::vector<ChatMessage> read(const Json& root) const {
    expect_members(root, "the file", {"format", "version", "model", "messages"});
    const std::string* format = member(root, "format").as_string();
    if (format == nullptr || *format != kFormat) refuse(cat("format is not ", kFormat));
    const std::int64_t* version = member(root, "version").as_int();
    if (version == nullptr || *version != kVersion) refuse(cat("version is not ", kVersion));
    text(root, "model");
    const Json::Array* list = member(root, "messages").as_array();
    if (list == nullptr) refuse("messages is no array");
    if (list->size() > kChatMessagesMax) {
      refuse(cat(list->size(), " messages are more than ", kChatMessagesMax));
    }
    std::vector<ChatMessage> messages;
    std::vector<std::string> calls;  // ids of calls without result, the next one last
    for (const Json& message : *list) add(messages, calls, message);
    if (!messages.empty() && messages.back().role == "user") {
      refuse(cat("message ", messages.size(), " has no reply"));
    }
    if (!calls.empty()) refuse(cat("the call ", printable(calls.back()), " has no result"));
    return messages;
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw model_error(file_, "chat", reason);
  }

  void expect_members(const Json& value, std::string_view what,
                      std::initializer_list<std::string_view> names) const {
    if (value.as_object() == nullptr) {
      refuse(cat(what, " is ", value.kind(), ", expected an object"));
    }
    for (const auto& [name, unused] : *value.as_object()) {
      bool known = false;
      for (const std::string_view n : names) known = known || n == name;
      if (!known) refuse(cat(what, " has a member ", printable(name), ", which is unknown"));
    }
  }

  const Json& member(const Json& object, std::string_view name) const {
    const Json* value = object.find(name);
    if (value == nullptr) refuse(cat(name, " is missing"));
    return *value;
  }

  const std::string& text(const Json& object, std::string_view name) const {
    const Json& value = member(object, name);
    if (value.as_string() == nullptr) refuse(cat(name, " is ", value.kind(), ", not a string"));
    return *value.as_string();
  }

  /// The roles that a message may have behind these messages.
  static std::vector<std::string_view> next_roles(const std::vector<ChatMessage>& messages,
                                                  bool has_open_call) {
    if (has_open_call) return {"tool"};
    if (messages.empty()) return {"system", "user"};
    if (messages.back().role == "user") return {"assistant"};
    if (messages.back().role == "tool") return {"assistant", "user"};
    return {"user"};
  }

  void add(std::vector<ChatMessage>& messages, std::vector<std::string>& calls,
           const Json& json) const {
    const std::string number = cat("message ", messages.size() + 1);
    expect_members(json, number,
                   {"role", "content", "reasoning_content", "tool_calls", "tool_call_id", "name"});
    ChatMessage message{text(json, "role"), text(json, "content")};
    std::string expected;
    bool is_next = false;
    for (const std::string_view role : next_roles(messages, !calls.empty())) {
      is_next = is_next || role == message.role;
      expected += cat(expected.empty() ? "" : " or ", role);
    }
    if (!is_next) {
      refuse(cat(number, " is of role ", printable(message.role), ", expected ", expected));
    }
    if (message.role == "assistant") {
      expect_members(json, number, {"role", "content", "reasoning_content", "tool_calls"});
      if (json.find("reasoning_content") != nullptr) {
        message.reasoning = text(json, "reasoning_content");
      }
      if (const Json* list = json.find("tool_calls")) message.calls = read_calls(number, *list);
      for (auto call = message.calls.rbegin(); call != message.calls.rend(); ++call) {
        calls.push_back(call->id);
      }
    } else if (message.role == "tool") {
      expect_members(json, number, {"role", "content", "tool_call_id", "name"});
      message.call_id = text(json, "tool_call_id");
      message.name = text(json, "name");
      if (message.call_id != calls.back()) {
        refuse(cat(number, " is no result of the call ", printable(calls.back())));
      }
      calls.pop_back();
    } else {
      expect_members(json, number, {"role", "content"});
    }
    messages.push_back(std::move(message));
  }

  std::vector<ChatCall> read_calls(const std::string& number, const Json& json) const {
    const Json::Array* list = json.as_array();
    if (list == nullptr || list->empty() || list->size() > kChatMessagesMax) {
      refuse(cat(number, " has tool_calls that are no list of calls"));
    }
    std::vector<ChatCall> calls;
    for (const Json& call : *list) {
      const std::string what = cat("a call of ", number);
      expect_members(call, what, {"id", "type", "function"});
      if (text(call, "type") != "function") refuse(cat(what, " has a type that is not function"));
      const Json& function = member(call, "function");
      expect_members(function, what, {"name", "arguments"});
      calls.push_back({text(call, "id"), text(function, "name"), text(function, "arguments")});
    }
    return calls;
  }

  const std::string& file_;
};

Json arguments_json(const std::string& text, ArgumentForm form) {
  if (form == ArgumentForm::kText) return text;
  try {
    return parse_json(text, "call", "arguments");
  } catch (const Error&) {
    return text;
  }
}

/// Refuses to replace a file that is not a saved chat, and to wait for the reader of a pipe.
void expect_replaceable(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return;
  if (S_ISFIFO(info.st_mode)) {
    // Opening a pipe would wait for its reader.
    throw Error(ErrorCode::kInvalid, cat(printable(path, 4096), ": it is a pipe, name a file"));
  }
  if (!S_ISREG(info.st_mode) || info.st_size == 0) return;
  try {
    load_chat(path);
  } catch (const Error&) {
    throw Error(ErrorCode::kInvalid,
                cat(printable(path, 4096), ": it is there already and is no saved chat"));
  }
}

}  // namespace

Json message_json(const ChatMessage& message, ArgumentForm form) {
  Json j = Json::object();
  j.set("role", message.role);
  j.set("content", message.content);
  if (!message.reasoning.empty()) j.set("reasoning_content", message.reasoning);
  Json calls = Json::array();
  for (const ChatCall& call : message.calls) {
    Json function = Json::object();
    function.set("name", call.name);
    function.set("arguments", arguments_json(call.arguments, form));
    Json entry = Json::object();
    entry.set("id", call.id);
    entry.set("type", "function");
    entry.set("function", std::move(function));
    calls.push(std::move(entry));
  }
  if (!message.calls.empty()) j.set("tool_calls", std::move(calls));
  if (!message.call_id.empty()) {
    j.set("tool_call_id", message.call_id);
    j.set("name", message.name);
  }
  return j;
}

std::string format_saved_chat(const std::vector<ChatMessage>& messages, std::string_view model) {
  Json list = Json::array();
  for (const ChatMessage& message : messages) {
    list.push(message_json(message, ArgumentForm::kText));
  }
  Json root = Json::object();
  root.set("format", kFormat);
  root.set("version", kVersion);
  root.set("model", model);
  root.set("messages", std::move(list));
  return root.dump(2) + "\n";
}

std::vector<ChatMessage> parse_saved_chat(std::string_view text, const std::string& file) {
  return ChatReader(file).read(parse_json_file(text, file, "chat", kLimits));
}

std::vector<ChatMessage> load_chat(const std::string& path) {
  if (names_stdin(path)) claim_stdin("/load");
  const TextInput input = read_input(path, kChatFileBytesMax);
  return parse_saved_chat(input.text, input.name);
}

void save_chat(const std::string& path, const std::vector<ChatMessage>& messages,
               std::string_view model) {
  expect_replaceable(path);
  OutputFile file(path);
  file.write(format_saved_chat(messages, model));
  file.commit();
}

}  // namespace ingot
