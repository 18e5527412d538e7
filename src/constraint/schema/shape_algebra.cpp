// ShapeAlgebra: intersection and union of shapes.
#include "constraint/schema/shape_algebra.h"

#include <algorithm>
#include <unordered_map>

#include "base/index.h"
#include "constraint/schema/number_sets.h"

namespace ingot::schema {

FormulaId item_at(const ArraySet& set, std::uint64_t position) {
  return position < set.first.size() ? set.first[position] : set.rest;
}

bool simplify(ArraySet& set) {
  for (std::size_t i = 0; i < set.first.size(); ++i) {
    if (set.first[i] == kFalse) {
      set.count_max = std::min<std::uint64_t>(set.count_max, i);
      break;
    }
  }
  if (set.rest == kFalse) {
    set.count_max = std::min<std::uint64_t>(set.count_max, set.first.size());
  }
  if (set.first.size() > set.count_max) set.first.resize(set.count_max);
  while (!set.first.empty() && set.first.back() == set.rest) set.first.pop_back();
  return set.count_min <= set.count_max && !(set.is_unique && set.is_repeating) &&
         !(set.is_repeating && set.count_max < 2);
}

FormulaId ShapeAlgebra::value_of(const ObjectSet& set, std::int32_t name) {
  parts_.budget.spend(set.properties.size() / 16);
  if (const Property* property = set.find(name)) return property->value;
  return value_of_undeclared(set, name);
}

FormulaId ShapeAlgebra::value_of_undeclared(const ObjectSet& set, std::int32_t name) {
  std::vector<FormulaId> values;
  for (const Rule& rule : set.rules) {
    parts_.budget.spend();
    if (parts_.texts.contains(rule.names, parts_.formulas.name(name))) {
      values.push_back(rule.value);
    }
  }
  return parts_.formulas.all(values);
}

void ShapeAlgebra::add(Shape& shape, NumberSet set) {
  // The set of all numbers stands alone.
  if (!shape.numbers.empty() && is_everything(shape.numbers[0])) return;
  if (is_everything(set)) shape.numbers.clear();
  parts_.budget.spend(shape.numbers.size() / 4 + 1);
  for (NumberSet& other : shape.numbers) {
    if (unite_values(other, set, parts_.budget)) return;
  }
  shape.numbers.push_back(std::move(set));
}

void ShapeAlgebra::add(Shape& shape, StringSet set) {
  for (const StringSet& other : shape.strings) {
    parts_.budget.spend();
    if (other == set || other == StringSet()) return;
  }
  if (set == StringSet()) shape.strings.clear();
  shape.strings.push_back(set);
}

void ShapeAlgebra::add(Shape& shape, ArraySet set) {
  if (!simplify(set)) return;
  for (const ArraySet& other : shape.arrays) {
    parts_.budget.spend();
    const bool is_absorbed =
        other == ArraySet() && set.evaluated == 0 && set.evaluated_items.empty();
    if (other == set || is_absorbed) return;
  }
  shape.arrays.push_back(std::move(set));
}

void ShapeAlgebra::add(Shape& shape, ObjectSet set) {
  if (set.count_min > set.count_max) return;
  for (const Property& property : set.properties) {
    if (property.is_required && property.value == kFalse) return;
  }
  for (const ObjectSet& other : shape.objects) {
    parts_.budget.spend();
    const bool is_absorbed = other == ObjectSet() && !set.evaluates_all && set.evaluated.empty();
    if (other == set || is_absorbed) return;
  }
  parts_.budget.spend(set.properties.size());
  shape.objects.push_back(std::move(set));
}

void ShapeAlgebra::unite(Shape& shape, const Shape& other) {
  shape.has_null = shape.has_null || other.has_null;
  shape.has_true = shape.has_true || other.has_true;
  shape.has_false = shape.has_false || other.has_false;
  for (const NumberSet& set : other.numbers) add(shape, set);
  for (const StringSet& set : other.strings) add(shape, set);
  for (const ArraySet& set : other.arrays) add(shape, set);
  for (const ObjectSet& set : other.objects) add(shape, set);
}

void ShapeAlgebra::remove_repeated(Shape& shape) {
  for (NumberSet& set : shape.numbers) remove_repeated_values(set, parts_.budget);
}

std::optional<StringSet> ShapeAlgebra::intersected(const StringSet& a, const StringSet& b) {
  StringSet set = a;
  set.texts = parts_.texts.intersected(a.texts, b.texts);
  set.length_min = std::max(a.length_min, b.length_min);
  set.length_max = std::min(a.length_max, b.length_max);
  set.is_opaque = a.is_opaque || b.is_opaque;
  if (set.source.schema == kNoSchema) set.source = b.source;
  if (parts_.texts.texts(set.texts) != nullptr) {
    set.texts = parts_.texts.with_length(set.texts, set.length_min, set.length_max);
    set.length_min = 0;
    set.length_max = kNoLimit;
  }
  if (set.length_min > set.length_max || parts_.texts.is_empty(set.texts)) return std::nullopt;
  return set;
}

std::optional<ArraySet> ShapeAlgebra::intersected(const ArraySet& a, const ArraySet& b) {
  ArraySet set;
  const std::size_t size = std::max(a.first.size(), b.first.size());
  parts_.budget.spend(size + 1);
  for (std::size_t i = 0; i < size; ++i) {
    set.first.push_back(parts_.formulas.both(item_at(a, i), item_at(b, i)));
  }
  set.rest = parts_.formulas.both(a.rest, b.rest);
  set.count_min = std::max(a.count_min, b.count_min);
  set.count_max = std::min(a.count_max, b.count_max);
  set.contains = a.contains;
  for (const Contains& bound : b.contains) {
    const auto same = std::find_if(set.contains.begin(), set.contains.end(), [&](const auto& c) {
      return c.item == bound.item && c.from == bound.from;
    });
    if (same == set.contains.end()) {
      set.contains.push_back(bound);
    } else {
      same->count_min = std::max(same->count_min, bound.count_min);
      same->count_max = std::min(same->count_max, bound.count_max);
      if (same->count_min > same->count_max) return std::nullopt;
    }
  }
  set.is_unique = a.is_unique || b.is_unique;
  set.is_repeating = a.is_repeating || b.is_repeating;
  set.unique_source = a.unique_source.schema != kNoSchema ? a.unique_source : b.unique_source;
  set.evaluated = std::max(a.evaluated, b.evaluated);
  set.evaluated_items = a.evaluated_items;
  set.evaluated_items.insert(set.evaluated_items.end(), b.evaluated_items.begin(),
                             b.evaluated_items.end());
  if (!simplify(set)) return std::nullopt;
  return set;
}

namespace {

template <class T>
void append_new(std::vector<T>& to, const std::vector<T>& from, CompileBudget& budget) {
  budget.spend(to.size() * from.size() / 64);
  for (const T& element : from) {
    if (std::find(to.begin(), to.end(), element) == to.end()) to.push_back(element);
  }
}

}  // namespace

std::optional<ObjectSet> ShapeAlgebra::intersected(const ObjectSet& a, const ObjectSet& b) {
  parts_.budget.spend(a.properties.size() + b.properties.size() + 1);
  std::unordered_map<std::int32_t, const Property*> in_b;
  for (const Property& property : b.properties) in_b.emplace(property.name, &property);
  ObjectSet set;
  set.properties.reserve(a.properties.size() + b.properties.size());
  std::unordered_map<std::int32_t, bool> done;
  for (const Property& property : a.properties) {
    const auto other = in_b.find(property.name);
    const FormulaId value =
        other != in_b.end() ? other->second->value : value_of_undeclared(b, property.name);
    set.properties.push_back(
        {property.name, parts_.formulas.both(property.value, value),
         property.is_required || (other != in_b.end() && other->second->is_required)});
    done.emplace(property.name, true);
  }
  for (const Property& property : b.properties) {
    if (done.count(property.name) != 0) continue;
    const FormulaId value = value_of_undeclared(a, property.name);
    set.properties.push_back(
        {property.name, parts_.formulas.both(value, property.value), property.is_required});
  }
  for (const Property& property : set.properties) {
    if (property.is_required && property.value == kFalse) return std::nullopt;
  }
  set.rules = a.rules;
  append_new(set.rules, b.rules, parts_.budget);
  set.some = a.some;
  append_new(set.some, b.some, parts_.budget);
  set.count_min = std::max(a.count_min, b.count_min);
  set.count_max = std::min(a.count_max, b.count_max);
  if (set.count_min > set.count_max) return std::nullopt;
  set.dependencies = a.dependencies;
  append_new(set.dependencies, b.dependencies, parts_.budget);
  set.is_opaque = a.is_opaque || b.is_opaque;
  set.evaluates_all = a.evaluates_all || b.evaluates_all;
  set.evaluated = a.evaluated;
  append_new(set.evaluated, b.evaluated, parts_.budget);
  return set;
}

Shape ShapeAlgebra::intersected(const Shape& a, const Shape& b, MayShareValue may_share_value) {
  Shape out{.has_null = a.has_null && b.has_null,
            .has_true = a.has_true && b.has_true,
            .has_false = a.has_false && b.has_false};
  for (const NumberSet& x : a.numbers) {
    for (const NumberSet& y : b.numbers) {
      if (auto set = ingot::schema::intersected(x, y, parts_.budget)) add(out, std::move(*set));
    }
  }
  for (const StringSet& x : a.strings) {
    for (const StringSet& y : b.strings) {
      if (auto set = intersected(x, y)) add(out, *set);
    }
  }
  const bool has_few_arrays = a.arrays.size() == 1 && b.arrays.size() == 1;
  for (const ArraySet& x : a.arrays) {
    for (const ArraySet& y : b.arrays) {
      if (!has_few_arrays && are_disjoint(x, y, may_share_value)) continue;
      if (auto set = intersected(x, y)) add(out, std::move(*set));
    }
  }
  const bool has_few_objects = a.objects.size() == 1 && b.objects.size() == 1;
  for (const ObjectSet& x : a.objects) {
    for (const ObjectSet& y : b.objects) {
      if (!has_few_objects && are_disjoint(x, y, may_share_value)) continue;
      if (auto set = intersected(x, y)) add(out, std::move(*set));
    }
  }
  return out;
}

bool ShapeAlgebra::are_disjoint(const ArraySet& a, const ArraySet& b,
                                MayShareValue may_share_value) {
  const std::uint64_t count_min = std::max(a.count_min, b.count_min);
  if (count_min > std::min(a.count_max, b.count_max)) return true;
  const std::uint64_t items =
      std::min<std::uint64_t>(count_min, std::max(a.first.size(), b.first.size()) + 1);
  for (std::uint64_t i = 0; i < items; ++i) {
    if (!may_share_value(item_at(a, i), item_at(b, i))) return true;
  }
  for (const Contains& x : a.contains) {
    for (const Contains& y : b.contains) {
      if (x.item != y.item || x.from != y.from) continue;
      if (x.count_min > y.count_max || y.count_min > x.count_max) return true;
    }
  }
  return (a.is_unique && b.is_repeating) || (b.is_unique && a.is_repeating);
}

bool ShapeAlgebra::required_clash(const ObjectSet& a, const ObjectSet& b,
                                  MayShareValue may_share_value) {
  for (const Property& property : a.properties) {
    if (!property.is_required) continue;
    parts_.budget.spend();
    const FormulaId other = value_of(b, property.name);
    if (!may_share_value(property.value, other)) return true;
  }
  return false;
}

bool ShapeAlgebra::are_disjoint(const ObjectSet& a, const ObjectSet& b,
                                MayShareValue may_share_value) {
  if (std::max(a.count_min, b.count_min) > std::min(a.count_max, b.count_max)) return true;
  return required_clash(a, b, may_share_value) || required_clash(b, a, may_share_value);
}

bool ShapeAlgebra::are_disjoint(const Shape& a, const Shape& b, MayShareValue may_share_value) {
  if ((a.has_null && b.has_null) || (a.has_true && b.has_true) || (a.has_false && b.has_false)) {
    return false;
  }
  for (const NumberSet& x : a.numbers) {
    for (const NumberSet& y : b.numbers) {
      if (ingot::schema::intersected(x, y, parts_.budget).has_value()) return false;
    }
  }
  for (const StringSet& x : a.strings) {
    for (const StringSet& y : b.strings) {
      if (intersected(x, y).has_value()) return false;
    }
  }
  for (const ArraySet& x : a.arrays) {
    for (const ArraySet& y : b.arrays) {
      if (!are_disjoint(x, y, may_share_value)) return false;
    }
  }
  for (const ObjectSet& x : a.objects) {
    for (const ObjectSet& y : b.objects) {
      if (!are_disjoint(x, y, may_share_value)) return false;
    }
  }
  return true;
}

}  // namespace ingot::schema
