// Reads the texts of chat messages: strings, or lists of text parts.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "load/json.h"

namespace ingot {

/// Throws an error about a place in a request: "messages[3] has no content".
///
/// Errors: ApiError{invalid_value} naming `place`.
[[noreturn]] void refuse_at(const std::string& place, std::string_view what);

/// Returns the role of a message, which must be one of `roles`. Errors: see refuse_at.
const std::string& message_role(const std::string& place, const Json& message,
                                std::initializer_list<std::string_view> roles);
/// Returns the text of a message's content: a string, or text parts joined by line breaks. `place`
/// is the content's own: "messages[3].content".
///
/// Errors: see refuse_at; for content of another type, an empty list, a part without a string
/// "text", and a part with a "type" that is not in `types`. They name the part.
std::string message_text(const std::string& place, const Json& content,
                         std::initializer_list<std::string_view> types);
/// Returns the place of a list's entry: "messages[3]".
std::string entry_place(std::string_view list, std::size_t index);
/// Returns the string in the member `member` of a part. Errors: see refuse_at.
std::string part_string(const std::string& place, const Json& part, std::string_view member);
/// Returns the "type" of a part. Errors: see refuse_at.
const std::string& part_type(const std::string& place, const Json& part);
/// Appends `line` to `text`. If `text` is not empty, first appends a line break.
void add_line(std::string& text, std::string_view line);

}  // namespace ingot
