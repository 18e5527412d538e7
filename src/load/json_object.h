// json_object: a JSON object written as the list of its members.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "load/json.h"

namespace ingot {

/// A member of an object that is being made. The value is moved out of the list.
struct JsonMember {
  std::string_view name;
  mutable Json value;
};

/// The object of these members, in their order: json_object({{"type", "text"}, {"index", 3}}).
inline Json json_object(std::initializer_list<JsonMember> members) {
  Json object = Json::object();
  for (const JsonMember& m : members) object.set(std::string(m.name), std::move(m.value));
  return object;
}

}  // namespace ingot
