// Reads the tools of a chat, and the calls in its replies.
#include "cli/chat/chat_tools.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "cli/input.h"
#include "cli/log.h"
#include "text/chat/constraint_tokens.h"
#include "text/chat/marker_tokens.h"

namespace ingot {

namespace {

constexpr std::size_t kFileBytesMax = std::size_t{4} << 20;
constexpr std::size_t kNameBytesMax = 64;
constexpr std::size_t kWordsMax = 256;

bool is_name(std::string_view text) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  return !text.empty() && text.size() <= kNameBytesMax &&
         std::all_of(text.begin(), text.end(), is_allowed);
}

/// Reads the entries of a file of tools.
class ToolsReader {
 public:
  explicit ToolsReader(const std::string& file) : file_(file) {}

  std::vector<ChatTool> read(const Json& root) const {
    const Json::Array* list = root.as_array();
    if (list == nullptr) refuse("tools", cat("is ", root.kind(), ", expected an array"));
    if (list->empty() || list->size() > kToolsMax) {
      refuse("tools", cat("has ", list->size(), " entries, possible are 1 to ", kToolsMax));
    }
    std::vector<ChatTool> tools;
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string place = cat("tools[", i, "]");
      ChatTool tool = read_tool(place, (*list)[i]);
      for (const ChatTool& other : tools) {
        if (other.tool.name != tool.tool.name) continue;
        refuse(cat(place, ".function.name"), cat(tool.tool.name, " is the name of two tools"));
      }
      tools.push_back(std::move(tool));
    }
    return tools;
  }

 private:
  [[noreturn]] void refuse(const std::string& place, const std::string& reason) const {
    throw Error(ErrorCode::kInvalid, cat(printable(file_, 4096), ": ", place, ": ", reason));
  }

  void expect_members(const std::string& place, const Json& value,
                      std::initializer_list<std::string_view> names) const {
    if (value.as_object() == nullptr) {
      refuse(place, cat("is ", value.kind(), ", expected an object"));
    }
    for (const auto& [name, unused] : *value.as_object()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        refuse(place, cat("has an unknown member ", printable(name)));
      }
    }
  }

  const Json& member(const std::string& place, const Json& object, std::string_view name) const {
    const Json* value = object.find(name);
    if (value == nullptr) refuse(cat(place, ".", name), "is missing");
    return *value;
  }

  const std::string& text(const std::string& place, const Json& value) const {
    if (value.as_string() == nullptr) {
      refuse(place, cat("is ", value.kind(), ", expected a string"));
    }
    return *value.as_string();
  }

  ChatTool read_tool(const std::string& place, const Json& entry) const {
    expect_members(place, entry, {"type", "function", "command"});
    const std::string type_place = cat(place, ".type");
    if (text(type_place, member(place, entry, "type")) != "function") {
      refuse(type_place, "is not \"function\"");
    }
    ChatTool tool{.tool = read_function(cat(place, ".function"), member(place, entry, "function")),
                  .command = {}};
    read_command(cat(place, ".command"), member(place, entry, "command"), tool.command);
    return tool;
  }

  Tool read_function(const std::string& place, const Json& function) const {
    expect_members(place, function, {"name", "description", "parameters", "strict"});
    Tool tool{.name = text(cat(place, ".name"), member(place, function, "name"))};
    tool.path = cat(printable(file_, 4096), ": ", place);
    if (!is_name(tool.name)) {
      refuse(cat(place, ".name"), cat("expected 1 to ", kNameBytesMax, " of a-z A-Z 0-9 _ -"));
    }
    if (const Json* description = function.find("description")) {
      tool.description = text(cat(place, ".description"), *description);
    }
    if (const Json* parameters = function.find("parameters")) {
      if (!parameters->is_null() && parameters->as_object() == nullptr) {
        refuse(cat(place, ".parameters"), cat("is ", parameters->kind(), ", expected an object"));
      }
      tool.parameters = *parameters;
    }
    if (const Json* strict = function.find("strict")) {
      if (strict->as_bool() == nullptr) {
        refuse(cat(place, ".strict"), cat("is ", strict->kind(), ", expected true or false"));
      }
      tool.is_strict = *strict->as_bool();
    }
    return tool;
  }

  void read_command(const std::string& place, const Json& words,
                    std::vector<std::string>& command) const {
    const Json::Array* list = words.as_array();
    if (list == nullptr) refuse(place, cat("is ", words.kind(), ", expected an array of strings"));
    if (list->empty() || list->size() > kWordsMax) {
      refuse(place, cat("has ", list->size(), " words, possible are 1 to ", kWordsMax));
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string at = cat(place, "[", i, "]");
      command.push_back(text(at, (*list)[i]));
      if (command.back().find('\0') != std::string::npos) refuse(at, "has a NUL character");
    }
    if (command.front().empty()) refuse(cat(place, "[0]"), "is empty, expected a program");
  }

  const std::string& file_;
};

/// Makes the id of a call: nine letters and digits, as Mistral's templates demand.
std::string call_id(std::size_t number) {
  const std::string digits = cat(number);
  return cat("call", std::string(5 - std::min<std::size_t>(digits.size(), 5), '0'), digits);
}

}  // namespace

std::vector<ChatTool> parse_chat_tools(std::string_view text, const std::string& file) {
  Json root;
  try {
    root = parse_json_file(text, file, "tools", {.bytes_max = kFileBytesMax, .depth_max = 256});
  } catch (const Error& error) {
    throw Error(ErrorCode::kInvalid, error.message());
  }
  return ToolsReader(file).read(root);
}

std::vector<ChatTool> load_chat_tools(const std::string& path) {
  const TextInput input = read_input(path, kFileBytesMax);
  return parse_chat_tools(input.text, input.name);
}

std::string ToolReply::add(std::string_view piece) {
  std::vector<ReplyEvent> events;
  parser_->add(piece, events);
  return collect(events);
}

std::string ToolReply::finish() {
  std::vector<ReplyEvent> events;
  parser_->finish(events);
  return collect(events);
}

std::string ToolReply::collect(const std::vector<ReplyEvent>& events) {
  std::string shown;
  for (const ReplyEvent& event : events) {
    const bool is_reasoning = event.kind == ReplyEvent::Kind::kReasoning;
    if (is_reasoning != shows_reasoning_) shown += is_reasoning ? "<think>\n" : "\n</think>\n\n";
    shows_reasoning_ = is_reasoning;
    switch (event.kind) {
      case ReplyEvent::Kind::kReasoning:
        message_.reasoning += event.text;
        shown += event.text;
        break;
      case ReplyEvent::Kind::kContent:
        message_.content += event.text;
        shown += event.text;
        break;
      case ReplyEvent::Kind::kCallBegin:
        calls_.push_back(
            {.id = call_id(first_call_ + calls_.size()), .name = event.text, .arguments = {}});
        break;
      case ReplyEvent::Kind::kCallArguments:
        calls_.back().arguments += event.text;
        break;
      case ReplyEvent::Kind::kCallEnd:
        complete_ = calls_.size();
        break;
    }
  }
  return shown;
}

ChatMessage ToolReply::take() {
  calls_.resize(complete_);
  message_.calls = std::move(calls_);
  return std::move(message_);
}

ChatTools::ChatTools(std::vector<ChatTool> tools, std::shared_ptr<const ToolDialect> dialect,
                     const Tokenizer& tokenizer, std::int64_t ids)
    : tools_(std::move(tools)),
      dialect_(std::move(dialect)),
      markers_(marker_tokens(tokenizer, dialect_->markers(), ids, kMarkersMax)),
      constraints_(
          make_token_trie(tokenizer, static_cast<std::int32_t>(ids), dialect_->markers())) {
  for (const ChatTool& tool : tools_) specs_.push_back(tool.tool);
  const auto constraint = constrain({});
  for (const SchemaNote& note : constraint->notes) {
    log_warning(cat("not enforced: ", printable(note.pointer, 1024), ": ", note.reason));
  }
}

void ChatTools::add_to(ChatInput& input) {
  for (const LostParts& lost : dialect_->add_tools(input, specs_, choice_)) {
    if (told_.insert(lost.reason).second) {
      log_warning(cat("the model does not see all of the earlier replies: ", lost.reason));
    }
  }
}

const ChatTool* ChatTools::find(std::string_view name) const {
  const auto found = std::find_if(tools_.begin(), tools_.end(),
                                  [&](const ChatTool& tool) { return tool.tool.name == name; });
  return found == tools_.end() ? nullptr : &*found;
}

std::shared_ptr<const Constraint> ChatTools::constrain(const ReplyBegin& begin) {
  return constraints_.get(cat("reply:", begin.in_reasoning, ",", begin.can_reason),
                          [&] { return compile(begin); });
}

std::shared_ptr<const Constraint> ChatTools::compile(const ReplyBegin& begin) const {
  Grammar grammar;
  CompileBudget budget;
  std::vector<SchemaNote> notes;
  grammar.set_root(dialect_->add_reply(grammar, begin, specs_, choice_, notes, budget));
  return make_constraint(std::move(grammar), std::move(notes), constraints_.trie(), budget);
}

std::unique_ptr<ReplyParser> ChatTools::begin_reply(std::string_view prompt, Request& request) {
  const ReplyBegin begin = dialect_->begin_of(prompt);
  request.constraint = constrain(begin);
  request.markers = markers_;
  return dialect_->make_parser(begin, specs_);
}

}  // namespace ingot
