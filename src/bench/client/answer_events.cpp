// Parses streamed events of several servers. Every byte is untrusted.
#include "bench/client/answer_events.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "load/json.h"

namespace ingot {

namespace {

constexpr JsonLimits kEventLimits{.bytes_max = 4 << 20, .depth_max = 32, .nodes_max = 200'000};
constexpr std::int64_t kTokensMax = std::int64_t{1} << 40;

std::optional<Json> parse(std::string_view text) {
  try {
    return parse_json(text, "answer", "json", kEventLimits);
  } catch (const Error&) {
    return std::nullopt;
  }
}

const std::string* text_member(const Json& object, std::string_view name) {
  const Json* member = object.find(name);
  return member == nullptr ? nullptr : member->as_string();
}

std::int64_t count_member(const Json& object, std::string_view name) {
  const Json* member = object.find(name);
  const std::int64_t* count = member == nullptr ? nullptr : member->as_int();
  return count == nullptr ? 0 : std::clamp<std::int64_t>(*count, 0, kTokensMax);
}

/// Appends an object's text. Returns whether it has text, even an empty one.
bool append_text(const Json& object, std::string& text) {
  bool has_text = false;
  for (const std::string_view name : {"reasoning_content", "content", "text"}) {
    const std::string* part = text_member(object, name);
    if (part == nullptr) continue;
    has_text = true;
    text += *part;
  }
  // Servers that have both names repeat the text.
  if (text_member(object, "reasoning_content") == nullptr) {
    if (const std::string* part = text_member(object, "reasoning")) {
      has_text = true;
      text += *part;
    }
  }
  return has_text;
}

void read_choice(const Json& choice, AnswerEvent& event) {
  bool has_text = append_text(choice, event.text);
  for (const std::string_view name : {"delta", "message"}) {
    const Json* part = choice.find(name);
    if (part == nullptr) continue;
    // The empty text beside a role stands for no token.
    has_text = (append_text(*part, event.text) && part->find("role") == nullptr) || has_text;
  }
  if (const std::string* reason = text_member(choice, "finish_reason")) {
    event.finish_reason = *reason;
  }
  // The empty text of the last event stands for no token either.
  event.has_token =
      event.has_token || !event.text.empty() || (has_text && event.finish_reason.empty());
}

AnswerUsage read_usage(const Json& usage) {
  AnswerUsage counts{.prompt_tokens = count_member(usage, "prompt_tokens"),
                     .completion_tokens = count_member(usage, "completion_tokens")};
  if (const Json* details = usage.find("prompt_tokens_details")) {
    counts.cached_tokens = std::min(count_member(*details, "cached_tokens"), counts.prompt_tokens);
    counts.says_cached = details->find("cached_tokens") != nullptr;
  }
  return counts;
}

/// The message of an error: a text, an object with a message, or any JSON.
std::string message_of(const Json& error) {
  if (const std::string* text = error.as_string()) return printable(*text, 512);
  if (const std::string* text = text_member(error, "message")) return printable(*text, 512);
  return printable(error.dump(), 512);
}

}  // namespace

AnswerEvent read_answer_event(std::string_view data) {
  AnswerEvent event;
  if (data == "[DONE]") {
    event.is_done = true;
    return event;
  }
  const std::optional<Json> json = parse(data);
  if (!json || json->as_object() == nullptr) {
    event.error = cat("an event is no JSON object: ", printable(data, 64));
    return event;
  }
  if (const Json* error = json->find("error"); error != nullptr && !error->is_null()) {
    event.error = message_of(*error);
    return event;
  }
  const Json* choices = json->find("choices");
  if (choices != nullptr && choices->as_array() != nullptr) {
    for (const Json& choice : *choices->as_array()) read_choice(choice, event);
  }
  const Json* usage = json->find("usage");
  if (usage != nullptr && usage->as_object() != nullptr) event.usage = read_usage(*usage);
  return event;
}

std::string error_message(std::string_view body) {
  if (body.empty()) return "no message";
  const std::optional<Json> json = parse(body);
  if (!json) return printable(body, 256);
  if (const Json* error = json->find("error"); error != nullptr && !error->is_null()) {
    return message_of(*error);
  }
  return message_of(*json);
}

std::string first_model(std::string_view body) {
  const std::optional<Json> json = parse(body);
  const Json* data = json ? json->find("data") : nullptr;
  if (data == nullptr || data->as_array() == nullptr || data->as_array()->empty()) return {};
  const std::string* id = text_member(data->as_array()->front(), "id");
  return id == nullptr ? std::string() : *id;
}

}  // namespace ingot
