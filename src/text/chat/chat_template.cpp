// ChatTemplate: checks a chat, renders it to a prompt, and encodes the prompt to tokens.
#include "text/chat/chat_template.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "text/unicode/unicode_text.h"

namespace ingot {

namespace {

constexpr std::array<std::string_view, 9> kArguments = {
    "date_string",    "enable_thinking",   "keep_past_thinking",
    "model_identity", "preserve_thinking", "reasoning_effort",
    "thinking",       "thinking_budget",   "tools_in_user_message"};

[[noreturn]] void refuse(const std::string& reason) { throw Error(ErrorCode::kInvalid, reason); }

void check_list(const Json& list, std::string_view name, std::size_t count_max) {
  if (list.as_array() == nullptr) {
    refuse(cat(name, ": expected an array, got ", list.kind()));
  }
  if (list.as_array()->size() > count_max) {
    refuse(cat(name, ": ", list.as_array()->size(), " entries, at most ", count_max));
  }
  for (std::size_t i = 0; i < list.as_array()->size(); ++i) {
    const Json& entry = (*list.as_array())[i];
    if (entry.as_object() == nullptr) {
      refuse(cat(name, "[", i, "]: expected an object, got ", entry.kind()));
    }
  }
}

}  // namespace

std::span<const std::string_view> chat_arguments() { return kArguments; }

void check_chat(const ChatInput& input) {
  check_list(input.messages, "messages", kMessagesMax);
  const Json::Array& messages = *input.messages.as_array();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Json* role = messages[i].find("role");
    if (role == nullptr || role->as_string() == nullptr) {
      refuse(cat("messages[", i, "]: no role, or one that is no string"));
    }
  }
  if (!input.tools.is_null()) check_list(input.tools, "tools", kToolsMax);
  if (!input.documents.is_null()) check_list(input.documents, "documents", kMessagesMax);
  if (input.add_generation_prompt && input.continue_final_message) {
    refuse("add_generation_prompt and continue_final_message exclude each other");
  }
  for (const auto& [name, value] : input.arguments) {
    const std::string path = cat("chat_template_kwargs[\"", printable(name, 64), "\"]");
    if (std::find(kArguments.begin(), kArguments.end(), name) == kArguments.end()) {
      refuse(cat(path, ": it cannot be set"));
    }
    if (value.as_array() != nullptr || value.as_object() != nullptr) {
      refuse(cat(path, " is ", value.kind(), ", expected a scalar"));
    }
  }
}

jinja::Limits chat_limits(std::size_t input_bytes) {
  constexpr std::size_t kTextBytes = std::size_t{256} << 10;
  jinja::Limits limits;
  limits.output_bytes_max = std::min(
      limits.memory_bytes_max, kTextBytes + 4 * std::min(input_bytes, limits.memory_bytes_max));
  return limits;
}

namespace {

/// Bytes of a chat's strings, plus 8 bytes per value: the size that limits the prompt.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the JSON parser allows
std::size_t size_of(const Json& json) {
  constexpr std::size_t kNodeBytes = 8;
  std::size_t bytes = kNodeBytes;
  if (const auto* text = json.as_string()) bytes += text->size();
  if (const auto* array = json.as_array()) {
    for (const Json& item : *array) bytes += size_of(item);
  }
  if (const auto* object = json.as_object()) {
    for (const auto& [key, member] : *object) bytes += key.size() + size_of(member);
  }
  return bytes;
}

/// The text of the last message: the last text part if it has several.
const std::string& final_text(const Json& messages) {
  const auto& all = *messages.as_array();
  const Json* content = all.empty() ? nullptr : all.back().find("content");
  if (content != nullptr && content->as_array() != nullptr) {
    const auto& parts = *content->as_array();
    const auto part = std::find_if(parts.rbegin(), parts.rend(),
                                   [](const Json& p) { return p.find("text") != nullptr; });
    content = part == parts.rend() ? nullptr : part->find("text");
  }
  if (content == nullptr || content->as_string() == nullptr) {
    refuse("continue_final_message: the last message has no text");
  }
  return *content->as_string();
}

/// Cuts `prompt` behind the last message's text, as Hugging Face's apply_chat_template does. White
/// space that the template trimmed from the text's end is not restored.
void cut_behind(const std::string& text, MarkedText& prompt) {
  const std::string_view with_end = std::string_view(text).substr(leading_space(text));
  const std::string_view stripped = with_end.substr(0, with_end.size() - trailing_space(with_end));
  const std::size_t at = prompt.bytes.rfind(stripped);
  if (at == std::string::npos) {
    refuse(
        "continue_final_message: the template does not put the last message into the prompt as "
        "it is");
  }
  const std::string_view found = std::string_view(prompt.bytes).substr(at, with_end.size());
  MarkedText cut;
  cut.append(prompt, 0, at + (found == text ? with_end.size() : stripped.size()));
  prompt = std::move(cut);
}

/// Sets the variables that FireFunction's template reads in place of `tools` and strftime_now.
/// Source: the model card of firefunction-v2.
constexpr std::string_view kFireFunctionPrelude =
    "{%- if functions is not defined -%}{%- set functions = "
    "(tools or []) | map(attribute='function') | list | tojson(indent=4) -%}{%- endif -%}"
    "{%- if datetime is not defined -%}{%- set datetime = "
    "strftime_now('%Y-%m-%d %H:%M:%S %p') -%}{%- endif -%}";

std::string with_prelude(std::string_view source) {
  const auto has = [&](std::string_view word) {
    return source.find(word) != std::string_view::npos;
  };
  const bool is_fire_function = has("functools") && has("functions -%}") && has("datetime +");
  return cat(is_fire_function ? kFireFunctionPrelude : "", source);
}

}  // namespace

ChatTemplate::ChatTemplate(std::string_view source, const std::string& file,
                           const Tokenizer& tokenizer)
    : source_(source), template_(with_prelude(source), file), tokenizer_(tokenizer) {
  const auto add = [this](std::string_view name, std::optional<std::int32_t> id) {
    if (id) tokens_.emplace_back(name, Json(tokenizer_.piece(*id)));
  };
  add("bos_token", tokenizer.bos());
  add("eos_token", tokenizer.eos());
  add("unk_token", tokenizer.unknown());
  add("pad_token", tokenizer.padding());
  system_rule_ = find_system_rule(*this, source.find("developer") != std::string_view::npos);
}

MarkedText ChatTemplate::render(const ChatInput& input) const {
  check_chat(input);
  const Json generation(input.add_generation_prompt);
  std::vector<JinjaVariable> variables = {
      {.name = "messages", .value = &input.messages, .origin = VariableOrigin::kMessages},
      {.name = "tools", .value = &input.tools},
      {.name = "documents", .value = &input.documents},
      {.name = "add_generation_prompt", .value = &generation}};
  for (const auto& [name, text] : tokens_) {
    variables.push_back({.name = name, .value = &text, .origin = VariableOrigin::kTemplate});
  }
  for (const auto& [name, value] : input.arguments) {
    variables.push_back({.name = name, .value = &value});
  }
  const std::size_t bytes =
      size_of(input.messages) + size_of(input.tools) + size_of(input.documents);
  MarkedText prompt = template_.render(variables, {.limits = chat_limits(bytes), .now = input.now});
  if (input.continue_final_message) cut_behind(final_text(input.messages), prompt);
  return prompt;
}

std::vector<std::int32_t> ChatTemplate::encode(const MarkedText& prompt) const {
  auto ids = tokenizer_.encode(prompt.bytes, {.parse_special = true, .added_within = prompt.own});
  if (ids.empty()) refuse("empty prompt: the chat template writes nothing for these messages");
  const bool lacks_bos = tokenizer_.adds_bos() && ids.front() != *tokenizer_.bos();
  if (lacks_bos) ids.insert(ids.begin(), *tokenizer_.bos());
  return ids;
}

}  // namespace ingot
