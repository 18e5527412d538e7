// Fits the system messages of a chat to its template, and checks that none is lost.
#include "text/chat/system_messages.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "text/unicode/unicode_text.h"

namespace ingot {

namespace {

bool has_role(const Json& message, std::string_view role) {
  return *message.find("role")->as_string() == role;
}

bool is_system(const Json& message) {
  return has_role(message, "system") || has_role(message, "developer");
}

/// The text of a message: its content, or the content's text parts, a line each.
std::string content_text(const Json& message) {
  const Json* content = message.find("content");
  if (content == nullptr) return {};
  if (content->as_string() != nullptr) return *content->as_string();
  std::string text;
  if (content->as_array() == nullptr) return text;
  for (const Json& part : *content->as_array()) {
    const std::string* line = part.find_string("text");
    if (line != nullptr) text += cat(text.empty() ? "" : "\n", *line);
  }
  return text;
}

/// A copy of a message in which one member has another value.
Json changed(const Json& message, std::string_view name, const std::string& value) {
  Json out = Json::object();
  for (const auto& [key, member] : *message.as_object()) {
    out.set(key, key == name ? Json(value) : member);
  }
  return out;
}

void rename_developers(Json& messages) {
  const Json::Array& all = *messages.as_array();
  const auto is_developer = [](const Json& m) { return has_role(m, "developer"); };
  if (std::none_of(all.begin(), all.end(), is_developer)) return;
  Json renamed = Json::array();
  for (const Json& m : all) renamed.push(is_developer(m) ? changed(m, "role", "system") : m);
  messages = std::move(renamed);
}

void add_paragraph(std::string& text, const std::string& more) {
  if (!text.empty() && !more.empty()) text += "\n\n";
  text += more;
}

/// Replaces the first `count` messages by one: the last of them, with the texts of all.
void merge_front(Json& messages, std::size_t count) {
  const Json::Array& all = *messages.as_array();
  std::string text;
  for (std::size_t i = 0; i < count; ++i) add_paragraph(text, content_text(all[i]));
  Json merged = Json::array();
  merged.push(changed(all[count - 1], "content", text));
  for (std::size_t i = count; i < all.size(); ++i) merged.push(all[i]);
  messages = std::move(merged);
}

[[noreturn]] void refuse_place(const std::string& name) {
  throw Error(ErrorCode::kInvalid,
              cat(name,
                  ": the model's chat template cannot express a system message here: make it "
                  "a user message, or put its text into the system message in front"));
}

/// A text of fewer bytes can occur in a prompt by chance: other messages may contain it.
constexpr std::size_t kDistinctBytes = 32;

/// Whether all system messages stand in front, and the prompt surely has their texts unchanged.
/// White space around a text may be missing, because many templates trim it.
bool has_system_texts(const Json::Array& all, std::string_view prompt) {
  std::size_t at = 0;
  bool is_front = true;
  for (const Json& message : all) {
    if (!is_system(message)) {
      is_front = false;
      continue;
    }
    const std::string text = content_text(message);
    std::string_view stripped = std::string_view(text).substr(leading_space(text));
    stripped.remove_suffix(trailing_space(stripped));
    const std::size_t found = prompt.find(stripped, at);
    const bool is_distinct = stripped.empty() || stripped.size() >= kDistinctBytes;
    if (!is_front || !is_distinct || found == std::string_view::npos) return false;
    at = found + stripped.size();
  }
  return true;
}

/// Renders the chat with trial texts in its system messages. Templates neither contain nor change
/// trial texts. Errors: Error{kInvalid} if the prompt lacks a trial text, or has one too early.
void require_system_texts(const ChatTemplate& chat_template, ChatInput input, MessageName name_of) {
  const Json::Array all = *input.messages.as_array();
  const auto trial_text = [](std::size_t i) { return cat("qjsystem", i, "qj"); };
  Json trial = Json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    trial.push(is_system(all[i]) ? changed(all[i], "content", trial_text(i)) : all[i]);
  }
  input.messages = std::move(trial);
  input.continue_final_message = false;
  const std::string prompt = chat_template.render(input).bytes;
  std::size_t at = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_system(all[i])) continue;
    at = prompt.find(trial_text(i), at);
    if (at == std::string::npos) refuse_place(name_of(i));
  }
}

/// The change to the messages in front: `merged` messages become one.
struct FrontChange {
  std::size_t merged = 1;
  std::string_view change{};
  std::string_view detail{};
};

/// Returns the change to the first `front` messages, which are all system messages.
FrontChange change_front(const SystemRule& rule, const Json::Array& all, std::size_t front,
                         MessageName name_of) {
  if (front > 0 && !rule.one) {
    if (front < all.size() && has_role(all[front], "user")) {
      return {front + 1, "moved",
              "the chat template writes no system message: the user message begins with its text"};
    }
    throw Error(ErrorCode::kInvalid, cat(name_of(0),
                                         ": the model's chat template has no system message: put "
                                         "its text into the first user message"));
  }
  if (front < 2 || rule.several) return {};
  return {front, "joined",
          "the chat template writes one system message: it has the texts of all in front"};
}

}  // namespace

FittedPrompt render_fitted(const ChatTemplate& chat_template, ChatInput input,
                           MessageName name_of) {
  check_chat(input);
  const SystemRule& rule = chat_template.system_rule();
  if (!rule.developer) rename_developers(input.messages);
  const Json::Array& all = *input.messages.as_array();
  const auto front = std::find_if_not(all.begin(), all.end(), is_system);
  const auto later = std::find_if(front, all.end(), is_system);
  const auto number_of = [&](auto at) { return to_size(at - all.begin()); };
  if (later != all.end() && !rule.later) refuse_place(name_of(number_of(later)));
  const FrontChange fit = change_front(rule, all, number_of(front), name_of);
  if (fit.merged > 1) merge_front(input.messages, fit.merged);
  FittedPrompt fitted{chat_template.render(input), fit.change, fit.detail};
  if (rule.is_known && !has_system_texts(*input.messages.as_array(), fitted.text.bytes)) {
    const auto sent_name = [&](std::size_t i) { return name_of(i == 0 ? 0 : i + fit.merged - 1); };
    require_system_texts(chat_template, std::move(input), sent_name);
  }
  return fitted;
}

}  // namespace ingot
