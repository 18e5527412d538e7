// Checks chats given as JSON, and finds their template.
#include "cli/options/chat_input.h"

#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/input.h"
#include "cli/log.h"
#include "cli/options/model_options.h"
#include "cli/options/options.h"
#include "text/chat/system_messages.h"
#include "text/jinja/lexer.h"

namespace ingot {

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return local;
}

std::tm parse_date(const std::string& text) {
  const auto expect = [&](bool holds) {
    if (!holds) throw bad_option("--now", text, "expected a date: YYYY-MM-DD");
  };
  expect(text.size() == 10 && text[4] == '-' && text[7] == '-');
  std::tm date{};
  date.tm_year = parse_whole(text.substr(0, 4), "--now", 1, 9999) - 1900;
  date.tm_mon = parse_whole(text.substr(5, 2), "--now", 1, 12) - 1;
  date.tm_mday = parse_whole(text.substr(8), "--now", 1, 31);
  std::tm normal = date;
  timegm(&normal);  // fills in the days of the week and the year
  expect(normal.tm_mday == date.tm_mday);
  return normal;
}

Json read_chat_json(const std::string& path) {
  Json chat = read_json(path, "messages", kContextLimits);
  if (chat.as_array() != nullptr) {
    Json object = Json::object();
    object.set("messages", std::move(chat));
    return object;
  }
  if (chat.as_object() == nullptr) {
    throw Error(ErrorCode::kInvalid,
                cat("messages: expected an object or an array, got ", chat.kind()));
  }
  for (const auto& [name, value] : *chat.as_object()) {
    if (is_chat_member(name)) continue;
    throw Error(ErrorCode::kInvalid, cat("messages: unknown member ", printable(name)));
  }
  return chat;
}

std::string template_help() {
  return cat("The chat template: a file, or a built-in one (", builtin_template_names(), ")");
}

std::string template_name_help() {
  return "One of the model's own chat templates (default: tool_use for chats with tools if the "
         "model has it, otherwise default)";
}

NamedTemplate find_template(const std::string& name_or_file) {
  if (auto known = builtin_template(name_or_file)) return *std::move(known);
  try {
    const TextInput file = read_input(name_or_file, jinja::kTemplateBytesMax);
    return {file.name, std::string(without_byte_order_mark(file.text))};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kModel) throw;
    throw error.with_end(cat(" (templates that are built in: ", builtin_template_names(), ")"));
  }
}

void add_template_options(CLI::App& app, TemplateChoice& choice) {
  add_text(app, choice.source, "--template", template_help());
  add_text(app, choice.name, "--template-name", template_name_help());
  exclude(app, "--template", {"--template-name"});
}

std::optional<ChosenTemplates> choose_templates(const Instance& instance,
                                                const TemplateChoice& choice) {
  if (choice.source) return ChosenTemplates{find_template(*choice.source)};
  const TokenizerData* data = instance.checkpoint().tokenizer();
  return choose_templates(data == nullptr ? TemplateSet() : data->templates, instance.name(),
                          choice.name);
}

ChatTemplates chat_templates(const Instance& instance, const TemplateChoice& choice) {
  const Tokenizer& tokenizer = require_tokenizer(instance, kUseTokens);
  const auto chosen = choose_templates(instance, choice);
  if (!chosen) throw no_template(instance.name());
  return parse_templates(*chosen, tokenizer);
}

const ChatTemplate& template_for(const ChatTemplates& templates, ChatInput& input) {
  const bool has_tools = takes_tools(&input.tools, &input.messages);
  if (has_tools && templates.differ() && input.tools.is_null()) input.tools = Json::array();
  return templates.get(has_tools);
}

void warn_of_tools_error(const ChatTemplates& templates) {
  if (!templates.tools_error()) return;
  log_warning(cat(stderr_message(*templates.tools_error()), "; chats with tools are refused"));
}

RenderedChat render_messages(const ChatTemplate& chat_template, ChatInput input) {
  const auto name_of = [](std::size_t number) { return cat("messages[", number, "]"); };
  FittedPrompt prompt = render_fitted(chat_template, std::move(input), name_of);
  if (!prompt.change.empty()) log_warning(cat("messages: ", prompt.detail));
  std::vector<std::int32_t> ids = chat_template.encode(prompt.text);
  return {.ids = std::move(ids), .text = std::move(prompt.text.bytes)};
}

}  // namespace ingot
