// ShapePlan: the shapes of a schema in the terms of a Grammar, before nodes are written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "constraint/schema/shape_table.h"

namespace ingot::schema {

/// An item of an array: what counts as contained, and what does not.
struct PlannedItem {
  FormulaId value = kFalse;
  FormulaId counted = kFalse;
};

/// An array with at most one bound on contained items.
struct PlannedArray {
  std::vector<PlannedItem> first{};
  PlannedItem rest{};
  std::uint64_t count_min = 0;
  std::uint64_t count_max = kNoLimit;
  std::uint64_t contained_min = 0;
  std::uint64_t contained_max = kNoLimit;
  bool is_unique = false;
  SchemaId unique_source = kNoSchema;  ///< the schema that says so
};

/// Keys of undeclared properties with a common value.
struct PlannedKeys {
  TextSetId names = TextSets::kNone;
  FormulaId value = kTrue;
};

/// An object whose other keys are split by the value that they need.
struct PlannedObject {
  std::vector<Property> properties{};
  std::vector<PlannedKeys> others{};  ///< disjoint
  std::uint64_t count_min = 0;
  std::uint64_t count_max = kNoLimit;
  std::vector<std::pair<std::int32_t, std::int32_t>> dependencies{};
};

/// The alternatives of one formula, ready to be written.
struct Plan {
  bool has_scalars = false;  ///< null, booleans, numbers
  std::vector<StringSet> strings{};
  std::vector<PlannedArray> arrays{};
  std::vector<PlannedObject> objects{};
  bool has_value = false;  ///< whether a finite JSON value satisfies the formula
};

/// Plans every formula that can be reached from a root.
class Planner {
 public:
  Planner(const AlgebraParts& parts, SchemaDocument& document, ShapeTable& shapes,
          SchemaReport& report)
      : parts_(parts), algebra_(parts), document_(document), shapes_(shapes), report_(report) {}

  /// Plans `root` and all that it needs, and finds out which formulas have values.
  void plan(FormulaId root);
  /// The plan of a formula that `plan` reached.
  const Plan& get(FormulaId formula) const { return plans_.at(formula); }
  /// The strings of an item of an array without equal items; none has bounds of its length.
  const std::vector<StringSet>& unique_strings(FormulaId formula) const {
    return unique_strings_.at(formula);
  }
  /// Reports values of which a Matcher may have to follow more alternatives than it can.
  void check_widths(bool any_order);
  bool has_value(FormulaId formula) const;
  bool has_value(const PlannedArray& array) const;
  bool has_value(const PlannedObject& object) const;
  /// Reports that the items of an array may be equal, contrary to its schema.
  void drop_unique(const PlannedArray& array, std::string_view reason);
  /// The JSON texts of the numbers, booleans and null of a formula.
  const TextDfa& scalars(FormulaId formula, bool one_spelling);
  /// A text that is equal for formulas with equal `scalars`.
  std::string scalar_key(FormulaId formula);

 private:
  /// Longer strings make an automaton of too many states.
  static constexpr std::uint64_t kUniqueLengthMax = 20'000;

  void plan_one(FormulaId formula);
  void reach(FormulaId formula);
  void add_string(Plan& plan, StringSet set);
  void add_array(Plan& plan, ArraySet set);
  bool split_contained(ArraySet& set, PlannedArray& array);
  void check_unique(const ArraySet& set, PlannedArray& array);
  void check_unique_strings(PlannedArray& array);
  bool add_unique_strings(FormulaId formula);
  bool unite(TextSetId& texts, TextSetId others);
  bool is_scalar(FormulaId formula);
  void add_object(Plan& plan, const ObjectSet& set);
  std::vector<ObjectSet> without_some(const ObjectSet& set);
  bool split_some(const ObjectSet& set, std::vector<ObjectSet>& open);
  void declare_dependencies(ObjectSet& set);
  std::vector<PlannedKeys> other_keys(const ObjectSet& set);
  bool is_empty(FormulaId formula);
  TextDfa number_texts(const NumberSet& set, bool one_spelling);

  void find_values();
  bool find_value(const Plan& plan) const;

  std::size_t width(FormulaId formula) const;
  std::size_t width_of_arrays(const Plan& plan);
  std::size_t width_of_objects(const Plan& plan, bool any_order);

  AlgebraParts parts_;
  ShapeAlgebra algebra_;
  SchemaDocument& document_;
  ShapeTable& shapes_;
  SchemaReport& report_;
  std::unordered_map<FormulaId, Plan> plans_;
  std::map<std::pair<std::string, bool>, TextDfa> scalars_;
  std::unordered_map<FormulaId, std::vector<StringSet>> unique_strings_;
  std::unordered_map<FormulaId, std::size_t> widths_;
  std::vector<FormulaId> order_;  ///< formulas in the order in which `plan` reached them
  std::size_t planned_ = 0;       ///< number of formulas in `order_` with a plan
};

}  // namespace ingot::schema
