// ArgumentTypes: which JSON types the arguments of a tool may have, for texts between tags.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "load/json.h"

namespace ingot {

/// A set of JSON types: the sum of values of json_type.
using JsonTypes = unsigned;
namespace json_type {
inline constexpr JsonTypes kNull = 1, kBoolean = 2, kInteger = 4, kFraction = 8, kArray = 16,
                           kObject = 32, kString = 64, kAll = 127;
}  // namespace json_type

/// The schema that declares a tool's arguments.
struct ArgumentsSchema {
  const Json* schema = nullptr;
  std::string pointer{};  ///< where it is in the tool's parameters
};
/// Follows references at the root of `parameters`, as schemas of trees have them.
ArgumentsSchema arguments_schema(const Json& parameters);

/// Returns the schema behind references of `schema`, which is a part of `root`.
const Json& behind_references(const Json& root, const Json& schema);
/// Returns the types that the keywords of types and constants allow; 0 if they allow no value.
JsonTypes allowed_types(const Json& root, const Json& schema);
/// Returns the types that a value may be read by: all if the schema allows none.
JsonTypes value_types(const Json& root, const Json& schema);
/// Returns the schema with `keyword` ("properties", "items") that a schema's arrays or objects
/// have: itself, or the first of its alternatives, each behind references; null if there is none.
const Json* schema_with(const Json& root, const Json& schema, std::string_view keyword);

/// The types of a tool's arguments. Parsers and grammars share them: a text between tags is JSON if
/// it is JSON of an allowed type other than a string, else it is a string.
class ArgumentTypes {
 public:
  ArgumentTypes() = default;
  /// Looks at keywords of types and constants only: a type may be in a set that no value has.
  explicit ArgumentTypes(const Json& parameters);

  JsonTypes of(std::string_view name) const {
    const auto known = declared_.find(name);
    return known == declared_.end() ? others_ : known->second;
  }
  /// Types that undeclared arguments may have.
  JsonTypes others() const { return others_; }

 private:
  std::map<std::string, JsonTypes, std::less<>> declared_{};
  JsonTypes others_ = json_type::kAll;
};

}  // namespace ingot
