// Reads chats that users give as JSON, and chooses their chat template.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "load/json.h"
#include "runtime/instance.h"
#include "text/chat/chat_members.h"
#include "text/chat/chat_template.h"

namespace ingot {

/// Limits on the JSON of a chat or of a template's variables.
inline constexpr JsonLimits kContextLimits{.bytes_max = std::uint64_t{1} << 24};

/// The current local time, or midnight of a date YYYY-MM-DD. Errors: Error{kInvalid} naming --now.
std::tm local_time();
std::tm parse_date(const std::string& text);

/// Checks a chat's members. Errors: Error{kInvalid} for a non-object, or an unknown member.
void expect_chat_members(const Json& object);

/// The help text of --template, with the names of built-in templates.
std::string template_help();

/// The template that `name_or_file` names; without it the model's own, or nothing if there is none.
///
/// Errors: those of find_template.
std::optional<NamedTemplate> choose_template(const Instance& instance,
                                             const std::optional<std::string>& name_or_file);

/// The template that `choose_template` gives, ready to render. The template refers to the
/// model's tokenizer; the model need not be started.
///
/// Errors: Error{kModel} if there is no tokenizer or no template.
ChatTemplate chat_template(const Instance& instance,
                           const std::optional<std::string>& name_or_file);

}  // namespace ingot
