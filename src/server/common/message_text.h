// Texts of messages, in the forms in which requests write them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "load/json.h"

namespace ingot {

/// Refuses a part of a request, named by its place: "messages[3] has no content".
///
/// Errors: ApiError{invalid_value} naming the member with which `place` begins.
[[noreturn]] void refuse_at(const std::string& place, std::string_view what);

/// The role of a message, which has to be an object with one of these roles. Errors: see refuse_at.
const std::string& message_role(const std::string& place, const Json& message,
                                std::initializer_list<std::string_view> roles);
/// The text of a content: a string, or parts of it, which are joined by line breaks.
///
/// Errors: see refuse_at; for another kind, for no parts, and for parts whose "type" is not in
/// `types` or that have no string "text".
std::string message_text(const std::string& place, const Json& content,
                         std::initializer_list<std::string_view> types);
/// The string of a part's member. Errors: see refuse_at.
std::string part_string(const std::string& place, const Json& part, std::string_view member);
/// The type of a part. Errors: see refuse_at.
const std::string& part_type(const std::string& place, const Json& part);
/// Appends a line, with a line break in front unless it is the first.
void add_line(std::string& text, std::string_view line);

}  // namespace ingot
