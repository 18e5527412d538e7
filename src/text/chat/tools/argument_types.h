// ArgumentTypes: which JSON types the arguments of a tool may have, for texts between tags.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/compile_budget.h"
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

/// The schema of any value.
const Json& any_schema();
/// Returns the part of a document that a reference within it names; null if there is none.
const Json* resolve_reference(const Json& root, std::string_view reference);
/// Whether a document is of an old draft, which ignores what stands beside a reference.
bool ignores_siblings(const Json& root);

/// Returns the types that a value of `schema`, a part of `root`, may have; none if `schema` allows
/// no value. `budget` pays for the work.
JsonTypes value_types(const Json& root, const Json& schema, CompileBudget* budget = nullptr);
/// Returns the types of each schema of a list, as `value_types`. The work for all has one limit.
std::vector<JsonTypes> types_of_each(const Json& root, const Json::Array& schemas,
                                     CompileBudget* budget = nullptr);
/// The types by which a text is read: what may have no type may have any.
inline JsonTypes readable(JsonTypes types) { return types == 0 ? json_type::kAll : types; }

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
