// Reads and writes saved chats.
#include "cli/chat/chat_file.h"

#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/output_file.h"
#include "base/text.h"
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
    for (const Json& message : *list) add(messages, message);
    if (!messages.empty() && messages.back().role == "user") {
      refuse(cat("message ", messages.size(), " has no reply"));
    }
    return messages;
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw model_error(file_, "chat", 0, reason);
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

  void add(std::vector<ChatMessage>& messages, const Json& json) const {
    const std::string number = cat("message ", messages.size() + 1);
    expect_members(json, number, {"role", "content"});
    ChatMessage message{text(json, "role"), text(json, "content")};
    const bool after_user = !messages.empty() && messages.back().role == "user";
    const bool is_next =
        after_user ? message.role == "assistant"
                   : message.role == "user" || (message.role == "system" && messages.empty());
    if (!is_next) {
      refuse(cat(number, " is of role ", printable(message.role), ", expected ",
                 after_user         ? "assistant"
                 : messages.empty() ? "system or user"
                                    : "user"));
    }
    messages.push_back(std::move(message));
  }

  const std::string& file_;
};

/// Refuses to replace a file that is not a saved chat.
void expect_replaceable(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return;
  try {
    load_chat(path);
  } catch (const Error&) {
    throw Error(ErrorCode::kInvalid,
                cat(printable(path, 4096), ": it is there already and is no saved chat"));
  }
}

}  // namespace

std::string format_saved_chat(const std::vector<ChatMessage>& messages, std::string_view model) {
  Json list = Json::array();
  for (const ChatMessage& message : messages) {
    Json j = Json::object();
    j.set("role", message.role);
    j.set("content", message.content);
    list.push(std::move(j));
  }
  Json root = Json::object();
  root.set("format", kFormat);
  root.set("version", kVersion);
  root.set("model", model);
  root.set("messages", std::move(list));
  return root.dump(2) + "\n";
}

std::vector<ChatMessage> parse_saved_chat(std::string_view text, const std::string& file) {
  return ChatReader(file).read(parse_json(text, file, "chat", kLimits));
}

std::vector<ChatMessage> load_chat(const std::string& path) {
  return parse_saved_chat(File(path).read_all(kChatFileBytesMax), path);
}

void save_chat(const std::string& path, const std::vector<ChatMessage>& messages,
               std::string_view model) {
  expect_replaceable(path);
  OutputFile file(path);
  file.write(format_saved_chat(messages, model));
  file.commit();
}

}  // namespace ingot
