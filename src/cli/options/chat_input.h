// Reads chats that users give as JSON, and chooses their chat template.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/options.h"
#include "load/json.h"
#include "runtime/instance.h"
#include "text/chat/chat_members.h"
#include "text/chat/chat_template.h"
#include "text/chat/named_templates.h"

namespace ingot {

/// Limits on the JSON of a chat or of a template's variables: 16 MiB of text.
inline constexpr JsonLimits kContextLimits{.bytes_max = std::uint64_t{1} << 24};

/// Returns the time now, or midnight of a date YYYY-MM-DD. Errors: Error{kInvalid} naming --now.
std::tm local_time();
std::tm parse_date(const std::string& text);

/// Reads a chat that a user named: an object with only the members of a chat, or its messages
/// alone, as an array.
///
/// Errors: those of read_json; Error{kInvalid} for other JSON.
Json read_chat_json(const std::string& path);

/// Returns the help texts of --template, with the names of built-in templates, and --template-name.
std::string template_help();
std::string template_name_help();

/// Adds the options --template and --template-name.
void add_template_options(CLI::App& app, TemplateChoice& choice);

/// Returns the built-in template named `name_or_file`. If none exists, reads the file, without a
/// byte order mark.
///
/// Errors: those of read_input, with the built-in names added to the message.
NamedTemplate find_template(const std::string& name_or_file);

/// Returns the templates that `choice` names; by default the model's, if the model has one. Reads a
/// file, which may be a pipe: call it once.
///
/// Errors: those of find_template and choose_templates.
std::optional<ChosenTemplates> choose_templates(const Instance& instance,
                                                const TemplateChoice& choice);

/// Returns the templates that `choose_templates` chooses, ready to render. The result refers to the
/// model's tokenizer. The instance need not be started yet.
///
/// Errors: Error{kModel} if there is no tokenizer or no template.
ChatTemplates chat_templates(const Instance& instance, const TemplateChoice& choice);

/// Returns the template for this chat. If the template for tools renders a history with calls, and
/// there are no tools, sets `input.tools` to an empty list, over which templates can iterate.
///
/// Errors: those of ChatTemplates::get.
const ChatTemplate& template_for(const ChatTemplates& templates, ChatInput& input);

/// Logs a warning if the template for chats with tools cannot be used. Others work.
void warn_of_tools_error(const ChatTemplates& templates);

/// A chat's prompt.
struct RenderedChat {
  std::vector<std::int32_t> ids;
  std::string text;
};

/// Renders a chat's prompt. Logs a warning if the template needs other system messages. Errors:
/// those of render_fitted and ChatTemplate::encode.
RenderedChat render_messages(const ChatTemplate& chat_template, ChatInput input);

}  // namespace ingot
