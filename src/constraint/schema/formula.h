// Formulas: which combinations of subschemas a JSON value must satisfy.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "constraint/compile_budget.h"
#include "constraint/schema/schema_document.h"
#include "load/json.h"

namespace ingot::schema {

/// Index of a formula in FormulaTable.
using FormulaId = std::int32_t;
inline constexpr FormulaId kFalse = 0;  ///< no value
inline constexpr FormulaId kTrue = 1;   ///< every value

/// A set of JSON values. Negations stand at the leaves only.
struct Formula {
  enum class Kind : std::uint8_t {
    kFalse,
    kTrue,
    kSchema,       ///< a subschema with all its keywords
    kAssertions,   ///< the keywords of a subschema that look at one type: properties, minimum
    kScalars,      ///< the values in the array `value` that are neither arrays nor objects
    kConstant,     ///< the value `value`, an array or an object
    kHasProperty,  ///< an object with the property `name`
    kAll,          ///< all of `parts`
    kAny,          ///< any of `parts`
    kOne,          ///< exactly one of `parts`
    kUnevaluated,  ///< parts[0], with the unevaluated... keywords of `schema`
  };
  Kind kind = Kind::kFalse;
  bool is_negated = false;  ///< leaves, kOne and kUnevaluated: all other values
  /// kSchema: the caller needs to know which properties the subschema evaluates.
  /// kAny: a value that satisfies several parts evaluates the properties of all of them.
  bool is_observed = false;
  SchemaId schema = kNoSchema;
  int context = 0;
  const Json* value = nullptr;
  std::int32_t name = -1;
  // kOne: the value satisfies these too. They often tell apart parts that overlap alone.
  FormulaId before = kTrue;  ///< declares its properties before those of the part
  FormulaId after = kTrue;
  std::vector<FormulaId> parts{};
};

/// The formulas of one compilation; equal formulas have one index. Also numbers property names.
class FormulaTable {
 public:
  explicit FormulaTable(CompileBudget& budget);

  const Formula& get(FormulaId id) const { return formulas_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return formulas_.size(); }

  FormulaId schema(SchemaId schema, int context, bool is_observed);
  FormulaId assertions(SchemaId schema, int context);
  FormulaId scalars(const Json& values);
  /// The constant `value` of any type. Strings and numbers are the only member of a list.
  FormulaId constant(const Json& value);
  FormulaId has_property(std::int32_t name);
  FormulaId all(const std::vector<FormulaId>& parts);
  FormulaId both(FormulaId a, FormulaId b);
  FormulaId any(const std::vector<FormulaId>& parts);
  /// As `any`, but keeps parts that others include: they may evaluate other properties.
  FormulaId any_observed(const std::vector<FormulaId>& parts);
  /// The anyOf of a schema, of which a value may satisfy several parts.
  FormulaId any_combined(const std::vector<FormulaId>& parts, SchemaId schema);
  FormulaId one(const std::vector<FormulaId>& parts, SchemaId schema);
  /// `one` (if it is of kind kOne) together with the formulas `before` and `after`.
  FormulaId one_within(FormulaId before, FormulaId one, FormulaId after);
  FormulaId unevaluated(FormulaId inner, SchemaId schema, int context);
  FormulaId negation(FormulaId id);

  /// Returns the index of a property name.
  std::int32_t name_id(const std::string& name);
  const std::string& name(std::int32_t id) const { return *names_[static_cast<std::size_t>(id)]; }

 private:
  FormulaId add(Formula formula);
  FormulaId join(Formula::Kind kind, const std::vector<FormulaId>& parts);
  std::int32_t value_id(const Json& value);

  CompileBudget& budget_;
  std::vector<Formula> formulas_;
  std::map<std::vector<std::int32_t>, FormulaId> by_key_;
  std::unordered_map<std::string, std::int32_t> name_ids_;
  std::vector<const std::string*> names_;
  std::unordered_map<std::string, std::int32_t> value_ids_;
  std::vector<const Json*> values_;
  std::unordered_map<std::int32_t, FormulaId> negations_;
};

}  // namespace ingot::schema
