// Reads the texts of messages: strings, and lists of text parts.
#include "server/common/message_text.h"

#include <algorithm>

#include "base/text.h"
#include "server/common/api_error.h"

namespace ingot {

void refuse_at(const std::string& place, std::string_view what) {
  throw invalid_request(place, cat(place, " ", what));
}

std::string entry_place(std::string_view list, std::size_t index) {
  return cat(list, "[", index, "]");
}

const std::string& message_role(const std::string& place, const Json& message,
                                std::initializer_list<std::string_view> roles) {
  if (message.as_object() == nullptr) {
    refuse_at(place, cat("is ", message.kind(), ", expected an object"));
  }
  const Json* role = message.find("role");
  const std::string* name = role == nullptr ? nullptr : role->as_string();
  if (name != nullptr && std::find(roles.begin(), roles.end(), *name) != roles.end()) return *name;
  std::string possible;
  for (const std::string_view one : roles) possible += cat(possible.empty() ? "" : ", ", one);
  refuse_at(place, cat("has a role that is not among ", possible));
}

const std::string& part_type(const std::string& place, const Json& part) {
  const Json* type = part.find("type");
  if (type == nullptr || type->as_string() == nullptr) {
    refuse_at(place, "has no type");
  }
  return *type->as_string();
}

std::string part_string(const std::string& place, const Json& part, std::string_view member) {
  const Json* value = part.find(member);
  if (value == nullptr || value->as_string() == nullptr) {
    refuse_at(place, cat("has no string as its ", member));
  }
  return *value->as_string();
}

void add_line(std::string& text, std::string_view line) {
  if (!text.empty()) text += '\n';
  text += line;
}

std::string message_text(const std::string& place, const Json& content,
                         std::initializer_list<std::string_view> types) {
  if (const std::string* text = content.as_string()) return *text;
  const Json::Array* parts = content.as_array();
  if (parts == nullptr) {
    refuse_at(place, cat("is ", content.kind(), ", expected a string or parts"));
  }
  if (parts->empty()) refuse_at(place, "has no parts");
  std::string text;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const std::string at = entry_place(place, i);
    const std::string& type = part_type(at, (*parts)[i]);
    if (std::find(types.begin(), types.end(), type) == types.end()) {
      refuse_at(at, cat("is of type ", printable(type, 64), ": only text is supported"));
    }
    add_line(text, part_string(at, (*parts)[i], "text"));
  }
  return text;
}

}  // namespace ingot
