// What a message says, of the forms in which requests write it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "load/json.h"

namespace ingot {

/// Refuses what stands at a place of a request: "messages[3] has no content".
///
/// Errors: ApiError{invalid_value} naming the member with which `place` begins.
[[noreturn]] void refuse_at(const std::string& place, std::string_view what);

/// The text of a content: a string, or parts of it, which are joined by line breaks.
///
/// Errors: as of refuse_at, for another kind, no parts at all, and parts whose "type" is not among
/// `types`: those hold a string "text".
std::string message_text(const std::string& place, const Json& content,
                         std::initializer_list<std::string_view> types);
/// The string of a part's member. Errors: as of refuse_at.
std::string part_string(const std::string& place, const Json& part, std::string_view member);
/// The kind of a part. Errors: as of refuse_at.
const std::string& part_type(const std::string& place, const Json& part);
/// Adds a line behind those that are there.
void add_line(std::string& text, std::string_view line);

}  // namespace ingot
