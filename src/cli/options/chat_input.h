// Chats as users write them: JSON objects with messages, and the model's template or another.
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

/// Bounds on a chat or a template's variables as JSON.
inline constexpr JsonLimits kContextLimits{.bytes_max = std::uint64_t{1} << 24};

/// Local time now; a date as YYYY-MM-DD, at midnight. Errors: Error{kInvalid} naming --now.
std::tm local_time();
std::tm parse_date(const std::string& text);

/// Errors: Error{kInvalid} for a value that is no object, and for an unknown member.
void expect_chat_members(const Json& object);

/// The help of --template, with the names of built-in templates.
std::string template_help();

/// The template that `name_or_file` means, or else the model's own; nothing where it has none.
///
/// Errors: as of find_template.
std::optional<NamedTemplate> choose_template(const Instance& instance,
                                             const std::optional<std::string>& name_or_file);

/// The template for a model that is open but not started, as `choose_template`. It refers to the
/// model's tokenizer.
///
/// Errors: Error{kModel} without a tokenizer or a template.
ChatTemplate chat_template(const Instance& instance,
                           const std::optional<std::string>& name_or_file);

}  // namespace ingot
