// json_object and with_member: make JSON objects from members.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "load/json.h"

namespace ingot {

/// A member in json_object's list. `value` is mutable: json_object moves it from a const list.
struct JsonMember {
  std::string_view name;
  mutable Json value;
};

/// Makes an object from its members, in order: json_object({{"type", "text"}, {"index", 3}}).
inline Json json_object(std::initializer_list<JsonMember> members) {
  Json object = Json::object();
  for (const JsonMember& m : members) object.set(std::string(m.name), std::move(m.value));
  return object;
}

/// Returns a copy of an object with the member `name`: in its place, or at the end if it is new.
inline Json with_member(const Json& object, std::string_view name, Json value) {
  Json out = Json::object();
  bool is_new = true;
  for (const auto& [key, member] : *object.as_object()) {
    out.set(key, key == name ? value : member);
    is_new &= key != name;
  }
  if (is_new) out.set(std::string(name), std::move(value));
  return out;
}

}  // namespace ingot
