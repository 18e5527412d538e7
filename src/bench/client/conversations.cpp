// Parses recorded conversations in ShareGPT's form, as prompts for benchmarks.
#include "bench/client/conversations.h"

#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "cli/input.h"
#include "load/json.h"

namespace ingot {

namespace {

constexpr JsonLimits kConversationLimits{
    .bytes_max = kConversationsBytesMax, .depth_max = 16, .nodes_max = 32'000'000};

const std::string* text_of(const Json& turn) {
  for (const std::string_view name : {"value", "content"}) {
    const Json* member = turn.find(name);
    if (member != nullptr && member->as_string() != nullptr) return member->as_string();
  }
  return nullptr;
}

bool is_of_system(const Json& turn) {
  for (const std::string_view name : {"from", "role"}) {
    const Json* member = turn.find(name);
    if (member != nullptr && member->as_string() != nullptr)
      return *member->as_string() == "system";
  }
  return false;
}

std::optional<Conversation> read_turns(const Json::Array& turns) {
  const std::size_t first = !turns.empty() && is_of_system(turns.front()) ? 1 : 0;
  if (turns.size() < first + 2) return std::nullopt;
  const std::string* prompt = text_of(turns[first]);
  const std::string* answer = text_of(turns[first + 1]);
  if (prompt == nullptr || answer == nullptr || prompt->empty() || answer->empty()) {
    return std::nullopt;
  }
  return Conversation{.prompt = *prompt, .answer_bytes = answer->size()};
}

}  // namespace

std::vector<Conversation> parse_conversations(std::string_view text, const std::string& file) {
  const Json json = parse_json_file(text, file, "conversations", kConversationLimits);
  if (json.as_array() == nullptr) {
    throw model_error(file, "conversations", cat("expected an array, got ", json.kind()));
  }
  std::vector<Conversation> found;
  for (const Json& entry : *json.as_array()) {
    const Json* turns = entry.find("conversations");
    if (turns == nullptr) turns = entry.find("messages");
    if (turns == nullptr || turns->as_array() == nullptr) continue;
    if (auto conversation = read_turns(*turns->as_array())) {
      found.push_back(std::move(*conversation));
    }
  }
  if (found.empty()) {
    throw model_error(file, "conversations", "no entry has conversations of a text and an answer");
  }
  return found;
}

std::vector<Conversation> read_conversations(const std::string& path) {
  const TextInput input = read_input(path, kConversationsBytesMax);
  return parse_conversations(input.text, input.name);
}

}  // namespace ingot
