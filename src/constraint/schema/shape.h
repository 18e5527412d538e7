// Shapes: a set of JSON values as a union of alternatives, each of one JSON type.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "constraint/language/numbers.h"
#include "constraint/schema/formula.h"
#include "constraint/schema/text_sets.h"

namespace ingot::schema {

inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// Where a keyword stands that the grammar may be unable to enforce.
struct Source {
  SchemaId schema = kNoSchema;
  const char* keyword = "";
  friend bool operator==(const Source&, const Source&) = default;
};

/// Numbers: those within bounds, of which some are left out.
struct NumberSet {
  NumberBounds bounds{};
  bool is_fraction = false;                       ///< no integers
  std::vector<Decimal> non_divisors{};            ///< none of these divides the number
  std::optional<std::vector<Decimal>> allowed{};  ///< only these values
  std::vector<Decimal> excluded{};                ///< not these values
  Source source{};
};

/// Strings.
struct StringSet {
  TextSetId texts = TextSets::kAll;
  std::uint64_t length_min = 0;
  std::uint64_t length_max = kNoLimit;
  /// Some strings of the set are not valid, but which ones is not known.
  bool is_opaque = false;
  Source source{};
  friend bool operator==(const StringSet&, const StringSet&) = default;
};

/// A bound on how many items from position `from` on satisfy `item`.
struct Contains {
  FormulaId item = kTrue;
  std::uint64_t from = 0;
  std::uint64_t count_min = 0;
  std::uint64_t count_max = kNoLimit;
  Source source{};
  friend bool operator==(const Contains&, const Contains&) = default;
};

/// Arrays.
struct ArraySet {
  std::vector<FormulaId> first{};
  FormulaId rest = kTrue;
  std::uint64_t count_min = 0;
  std::uint64_t count_max = kNoLimit;
  std::vector<Contains> contains{};
  bool is_unique = false;
  bool is_repeating = false;  ///< two items are equal
  Source unique_source{};
  // What a keyword unevaluatedItems does not look at.
  std::uint64_t evaluated = 0;  ///< number of first items; kNoLimit: all items
  std::vector<FormulaId> evaluated_items{};
  friend bool operator==(const ArraySet&, const ArraySet&) = default;
};

/// A property of an object.
struct Property {
  std::int32_t name = 0;
  FormulaId value = kTrue;  ///< kFalse: the property may not occur
  bool is_required = false;
  friend bool operator==(const Property&, const Property&) = default;
};

/// Each (or: some) property whose name is in `names` has a value that satisfies `value`.
struct Rule {
  TextSetId names = TextSets::kAll;
  FormulaId value = kTrue;
  Source source{};
  friend bool operator==(const Rule&, const Rule&) = default;
};

/// Objects.
struct ObjectSet {
  std::vector<Property> properties{};  ///< in order
  std::vector<Rule> rules{};           ///< hold for all other properties
  std::vector<Rule> some{};            ///< hold for at least one property, of `properties` or not
  std::uint64_t count_min = 0;
  std::uint64_t count_max = kNoLimit;
  std::vector<std::pair<std::int32_t, std::int32_t>> dependencies{};  ///< names: if a, then b
  bool is_opaque = false;                                             ///< as in StringSet
  // What a keyword unevaluatedProperties does not look at.
  bool evaluates_all = false;
  std::vector<TextSetId> evaluated{};
  friend bool operator==(const ObjectSet&, const ObjectSet&) = default;

  const Property* find(std::int32_t name) const {
    for (const Property& property : properties) {
      if (property.name == name) return &property;
    }
    return nullptr;
  }
};

/// A union of alternatives.
struct Shape {
  bool has_null = false;
  bool has_true = false;
  bool has_false = false;
  std::vector<NumberSet> numbers{};
  std::vector<StringSet> strings{};
  std::vector<ArraySet> arrays{};
  std::vector<ObjectSet> objects{};

  /// Every JSON value.
  static Shape everything() {
    Shape shape{.has_null = true, .has_true = true, .has_false = true};
    shape.numbers.emplace_back();
    shape.strings.emplace_back();
    shape.arrays.emplace_back();
    shape.objects.emplace_back();
    return shape;
  }
  bool is_empty() const { return alternatives() == 0 && !has_null && !has_true && !has_false; }
  std::size_t alternatives() const {
    return numbers.size() + strings.size() + arrays.size() + objects.size();
  }
};

}  // namespace ingot::schema
