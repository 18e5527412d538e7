// ShapeAlgebra: complements. An alternative's complement has one alternative for each restriction.
#include "base/check.h"
#include "base/index.h"
#include "constraint/schema/number_sets.h"
#include "constraint/schema/shape_algebra.h"

namespace ingot::schema {

void ShapeAlgebra::complement_strings(const StringSet& set, Shape& out) {
  if (set.texts != TextSets::kAll) {
    const TextSetId others = parts_.texts.complement(set.texts);
    if (!parts_.texts.is_empty(others)) add(out, {.texts = others, .source = set.source});
  }
  if (set.length_min > 0) add(out, {.length_max = set.length_min - 1, .source = set.source});
  if (set.length_max != kNoLimit) {
    add(out, {.length_min = set.length_max + 1, .source = set.source});
  }
  if (set.is_opaque) add(out, set);
}

void ShapeAlgebra::complement_arrays(const ArraySet& set, Shape& out) {
  FormulaTable& formulas = parts_.formulas;
  for (std::size_t i = 0; i < set.first.size(); ++i) {
    if (set.first[i] == kTrue) continue;
    ArraySet part{.count_min = i + 1};
    part.first.assign(i, kTrue);
    part.first.push_back(formulas.negation(set.first[i]));
    add(out, std::move(part));
  }
  if (set.rest == kFalse) {
    add(out, ArraySet{.count_min = set.first.size() + 1});
  } else if (set.rest != kTrue) {
    ArraySet part;
    part.contains.push_back({.item = formulas.negation(set.rest),
                             .from = set.first.size(),
                             .count_min = 1,
                             .source = {set.unique_source.schema, "items"}});
    add(out, std::move(part));
  }
  if (set.count_min > 0) add(out, ArraySet{.count_max = set.count_min - 1});
  if (set.count_max != kNoLimit) add(out, ArraySet{.count_min = set.count_max + 1});
  for (const Contains& bound : set.contains) {
    if (bound.count_min > 0) {
      Contains fewer = bound;
      fewer.count_max = bound.count_min - 1;
      fewer.count_min = 0;
      add(out, ArraySet{.contains = {fewer}});
    }
    if (bound.count_max != kNoLimit) {
      Contains more = bound;
      more.count_min = bound.count_max + 1;
      more.count_max = kNoLimit;
      add(out, ArraySet{.contains = {more}});
    }
  }
  if (set.is_unique) {
    add(out, ArraySet{.count_min = 2, .is_repeating = true, .unique_source = set.unique_source});
  }
  if (set.is_repeating) {
    add(out, ArraySet{.is_unique = true, .unique_source = set.unique_source});
  }
}

void ShapeAlgebra::complement_objects(const ObjectSet& set, Shape& out) {
  FormulaTable& formulas = parts_.formulas;
  std::vector<std::string> declared;
  for (const Property& property : set.properties) {
    declared.push_back(formulas.name(property.name));
    if (property.is_required) {
      add(out, ObjectSet{.properties = {{property.name, kFalse, false}}});
    }
    if (property.value != kTrue) {
      const FormulaId other = formulas.negation(property.value);
      add(out, ObjectSet{.properties = {{property.name, other, true}}});
    }
  }
  const TextSetId undeclared = parts_.texts.complement(parts_.texts.of_texts(std::move(declared)));
  for (const Rule& rule : set.rules) {
    if (rule.value == kTrue) continue;
    Rule broken = rule;
    broken.names = parts_.texts.intersected(rule.names, undeclared);
    broken.value = formulas.negation(rule.value);
    if (!parts_.texts.is_empty(broken.names)) add(out, ObjectSet{.some = {broken}});
  }
  for (const Rule& rule : set.some) {
    Rule broken = rule;
    broken.value = formulas.negation(rule.value);
    add(out, ObjectSet{.rules = {broken}});
  }
  if (set.count_min > 0) add(out, ObjectSet{.count_max = set.count_min - 1});
  if (set.count_max != kNoLimit) add(out, ObjectSet{.count_min = set.count_max + 1});
  for (const auto& [if_name, then_name] : set.dependencies) {
    add(out, ObjectSet{.properties = {{if_name, kTrue, true}, {then_name, kFalse, false}}});
  }
  if (set.is_opaque) add(out, set);
}

Shape ShapeAlgebra::complement(const Shape& shape) {
  INGOT_CHECK(shape.numbers.size() <= 1 && shape.strings.size() <= 1 && shape.arrays.size() <= 1 &&
                  shape.objects.size() <= 1,
              "the complement of a union");
  Shape out{
      .has_null = !shape.has_null, .has_true = !shape.has_true, .has_false = !shape.has_false};
  if (shape.numbers.empty()) {
    add(out, NumberSet());
  } else {
    for (NumberSet& part : ingot::schema::complement(shape.numbers[0])) add(out, std::move(part));
  }
  if (shape.strings.empty()) {
    add(out, StringSet());
  } else {
    complement_strings(shape.strings[0], out);
  }
  if (shape.arrays.empty()) {
    add(out, ArraySet());
  } else {
    complement_arrays(shape.arrays[0], out);
  }
  if (shape.objects.empty()) {
    add(out, ObjectSet());
  } else {
    complement_objects(shape.objects[0], out);
  }
  return out;
}

}  // namespace ingot::schema
