// json_object: makes a JSON object from a list of its members.
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

}  // namespace ingot
