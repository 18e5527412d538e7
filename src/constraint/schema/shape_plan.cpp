// ShapePlan: strings, numbers and arrays, and which formulas have values.
#include "constraint/schema/shape_plan.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "constraint/schema/number_sets.h"

namespace ingot::schema {

void Planner::reach(FormulaId formula) {
  if (formula == kFalse) return;
  if (plans_.emplace(formula, Plan()).second) order_.push_back(formula);
}

void Planner::plan(FormulaId root) {
  reach(root);
  for (; planned_ < order_.size(); ++planned_) plan_one(order_[planned_]);
  for (const FormulaId formula : order_) {
    for (PlannedArray& array : plans_[formula].arrays) check_unique_strings(array);
  }
  find_values();
}

bool Planner::is_empty(FormulaId formula) {
  return formula == kFalse || shapes_.shape(formula).is_empty();
}

void Planner::plan_one(FormulaId formula) {
  const Shape shape = shapes_.shape(formula);
  parts_.budget.spend(shape.alternatives() + 1);
  Plan plan;
  plan.has_scalars = shape.has_null || shape.has_true || shape.has_false;
  if (!shape.numbers.empty() && !plan.has_scalars) {
    plan.has_scalars = !scalars(formula, false).is_empty();
  }
  for (const StringSet& set : shape.strings) add_string(plan, set);
  for (const ArraySet& set : shape.arrays) add_array(plan, set);
  for (const ObjectSet& set : shape.objects) {
    for (const ObjectSet& part : without_some(set)) add_object(plan, part);
  }
  plans_[formula] = std::move(plan);
}

TextDfa Planner::number_texts(const NumberSet& set, bool one_spelling) {
  try {
    return language_of(set, one_spelling, parts_.budget);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalid || set.source.schema == kNoSchema) throw;
    report_.cannot_enforce(document_.pointer(set.source.schema, set.source.keyword),
                           error.message());
    NumberSet wider = set;
    wider.bounds.divisors.clear();
    wider.non_divisors.clear();
    return language_of(wider, one_spelling, parts_.budget);
  }
}

const TextDfa& Planner::scalars(FormulaId formula, bool one_spelling) {
  // Many parts of a schema allow the same numbers.
  const auto key = std::make_pair(scalar_key(formula), one_spelling);
  const auto known = scalars_.find(key);
  if (known != scalars_.end()) return known->second;
  const Shape& shape = shapes_.shape(formula);
  std::vector<std::string> names;
  if (shape.has_null) names.emplace_back("null");
  if (shape.has_true) names.emplace_back("true");
  if (shape.has_false) names.emplace_back("false");
  TextDfa texts = TextDfa::any_of(names, parts_.budget);
  for (const NumberSet& set : shape.numbers) {
    texts = texts.united(number_texts(set, one_spelling), parts_.budget);
  }
  return scalars_.emplace(key, std::move(texts)).first->second;
}

std::string Planner::scalar_key(FormulaId formula) {
  const Shape& shape = shapes_.shape(formula);
  std::string key = cat(shape.has_null, shape.has_true, shape.has_false);
  const auto add = [&key](char mark, const Decimal& value) {
    key +=
        cat(mark, value.is_negative ? "-" : "", value.digits, "e", value.exponent, value.written);
  };
  for (const NumberSet& set : shape.numbers) {
    key += cat("|", set.bounds.is_integer, set.is_fraction, set.bounds.excludes_low,
               set.bounds.excludes_high, set.allowed.has_value());
    if (set.bounds.low.has_value()) add('<', *set.bounds.low);
    if (set.bounds.high.has_value()) add('>', *set.bounds.high);
    for (const Decimal& value : set.bounds.divisors) add('/', value);
    for (const Decimal& value : set.non_divisors) add('%', value);
    for (const Decimal& value : set.excluded) add('!', value);
    if (!set.allowed.has_value()) continue;
    for (const Decimal& value : *set.allowed) add('=', value);
  }
  return key;
}

void Planner::add_string(Plan& plan, StringSet set) {
  const bool has_bounds = set.length_min > 0 || set.length_max != kNoLimit;
  if (has_bounds && set.texts != TextSets::kAll) {
    const TextDfa& language = parts_.texts.language(set.texts);
    if (language.is_empty() || language.longest(0) < set.length_min ||
        language.shortest(0) > set.length_max) {
      return;
    }
    if (!language.is_gapless()) {
      try {
        set.texts = parts_.texts.with_length(set.texts, set.length_min, set.length_max);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kInvalid || set.source.schema == kNoSchema) throw;
        report_.cannot_enforce(document_.pointer(set.source.schema, set.source.keyword),
                               error.message());
      }
      set.length_min = 0;
      set.length_max = kNoLimit;
    }
  }
  if (parts_.texts.is_empty(set.texts)) return;
  if (set.length_min == 0 && set.length_max == kNoLimit) {
    for (StringSet& other : plan.strings) {
      if (other.length_min != 0 || other.length_max != kNoLimit) continue;
      if (unite(other.texts, set.texts)) return;
    }
  }
  plan.strings.push_back(set);
}

bool Planner::unite(TextSetId& texts, TextSetId others) {
  try {
    texts = parts_.texts.united(texts, others);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalid) throw;
    return false;  // they stay alternatives
  }
}

bool Planner::add_unique_strings(FormulaId formula) {
  const auto known = unique_strings_.find(formula);
  if (formula == kFalse || known != unique_strings_.end()) return true;
  std::vector<StringSet> strings = get(formula).strings;
  try {
    for (StringSet& set : strings) {
      const std::uint64_t length = set.length_max != kNoLimit ? set.length_max : set.length_min;
      if (length > kUniqueLengthMax) return false;
      set.texts = parts_.texts.with_length(set.texts, set.length_min, set.length_max);
      set.length_min = 0;
      set.length_max = kNoLimit;
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalid) throw;
    return false;
  }
  unique_strings_.emplace(formula, std::move(strings));
  return true;
}

void Planner::check_unique_strings(PlannedArray& array) {
  if (!array.is_unique) return;
  parts_.budget.spend(array.first.size() + 1);
  const auto is_possible = [this](const PlannedItem& item) {
    return add_unique_strings(item.value) && add_unique_strings(item.counted);
  };
  if (std::all_of(array.first.begin(), array.first.end(), is_possible) && is_possible(array.rest)) {
    return;
  }
  array.is_unique = false;
  report_.cannot_enforce(document_.pointer(std::max(0, array.unique_source), "uniqueItems"),
                         "uniqueItems of such long strings cannot be enforced");
}

bool Planner::is_scalar(FormulaId formula) {
  if (formula == kFalse) return true;
  const Shape& shape = shapes_.shape(formula);
  return shape.arrays.empty() && shape.objects.empty();
}

void Planner::check_unique(const ArraySet& set, PlannedArray& array) {
  if (set.is_repeating) {
    report_.cannot_enforce(document_.pointer(std::max(0, set.unique_source.schema), "uniqueItems"),
                           "equality of two items cannot be enforced");
  }
  if (!set.is_unique || array.count_max < 2) return;
  bool is_possible = is_scalar(array.rest.value) && is_scalar(array.rest.counted);
  for (const PlannedItem& item : array.first) {
    is_possible = is_possible && is_scalar(item.value) && is_scalar(item.counted);
  }
  array.unique_source = set.unique_source.schema;
  array.is_unique = is_possible;
  if (!is_possible) drop_unique(array, "uniqueItems of arrays and objects cannot be enforced");
}

void Planner::drop_unique(const PlannedArray& array, std::string_view reason) {
  report_.cannot_enforce(document_.pointer(std::max(0, array.unique_source), "uniqueItems"),
                         reason);
}

bool Planner::split_contained(ArraySet& set, PlannedArray& array) {
  FormulaTable& formulas = parts_.formulas;
  std::vector<Contains> left;
  for (const Contains& bound : set.contains) {
    const FormulaId other = formulas.negation(bound.item);
    bool is_never = true, is_always = true;
    const std::uint64_t last = std::max<std::uint64_t>(set.first.size(), bound.from);
    for (std::uint64_t i = bound.from; i <= last && i < set.count_max; ++i) {
      const FormulaId item = item_at(set, i);
      is_never = is_never && is_empty(formulas.both(item, bound.item));
      is_always = is_always && is_empty(formulas.both(item, other));
    }
    if (is_never) {
      if (bound.count_min > 0) return false;
    } else if (is_always) {
      if (bound.count_min > 0) {
        set.count_min = std::max(set.count_min, bound.from + bound.count_min);
      }
      if (bound.count_max != kNoLimit) {
        set.count_max = std::min(set.count_max, bound.from + bound.count_max);
      }
    } else {
      left.push_back(bound);
    }
  }
  if (!simplify(set)) return false;
  for (std::size_t i = 1; i < left.size(); ++i) {
    const Source& source = left[i].source;
    report_.cannot_enforce(document_.pointer(std::max(0, source.schema), source.keyword),
                           "a second bound on the same items cannot be enforced");
  }
  const Contains none{.item = kFalse};
  const Contains& bound = left.empty() ? none : left[0];
  const FormulaId other = formulas.negation(bound.item);
  const auto split = [&](std::uint64_t i) {
    const FormulaId item = item_at(set, i);
    if (i < bound.from) return PlannedItem{.value = item};
    return PlannedItem{.value = formulas.both(item, other),
                       .counted = formulas.both(item, bound.item)};
  };
  const std::uint64_t size =
      std::min(set.count_max, std::max<std::uint64_t>(set.first.size(), bound.from));
  for (std::uint64_t i = 0; i < size; ++i) array.first.push_back(split(i));
  if (set.count_max > size) array.rest = split(size);
  array.contained_min = bound.count_min;
  array.contained_max = bound.count_max;
  return true;
}

void Planner::add_array(Plan& plan, ArraySet set) {
  PlannedArray array;
  if (!simplify(set) || !split_contained(set, array)) return;
  array.count_min = set.count_min;
  array.count_max = set.count_max;
  check_unique(set, array);
  for (const PlannedItem& item : array.first) {
    reach(item.value);
    reach(item.counted);
  }
  reach(array.rest.value);
  reach(array.rest.counted);
  plan.arrays.push_back(std::move(array));
}

bool Planner::has_value(FormulaId formula) const {
  const auto found = plans_.find(formula);
  return found != plans_.end() && found->second.has_value;
}

void Planner::find_values() {
  // The least fixpoint. Inner formulas are planned after the outer ones, so go backwards.
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (auto formula = order_.rbegin(); formula != order_.rend(); ++formula) {
      Plan& plan = plans_[*formula];
      parts_.budget.spend();
      if (plan.has_value || !find_value(plan)) continue;
      plan.has_value = true;
      has_changed = true;
    }
  }
}

bool Planner::find_value(const Plan& plan) const {
  return plan.has_scalars || !plan.strings.empty() ||
         std::any_of(plan.arrays.begin(), plan.arrays.end(),
                     [this](const PlannedArray& array) { return has_value(array); }) ||
         std::any_of(plan.objects.begin(), plan.objects.end(),
                     [this](const PlannedObject& object) { return has_value(object); });
}

bool Planner::has_value(const PlannedArray& array) const {
  std::uint64_t contained = 0, only_contained = 0, count = 0;
  for (; count < array.first.size() && count < array.count_max; ++count) {
    const PlannedItem& item = array.first[count];
    const bool has_counted = has_value(item.counted), has_plain = has_value(item.value);
    if (!has_counted && !has_plain) break;
    contained += has_counted ? 1 : 0;
    only_contained += !has_plain && count < array.count_min ? 1 : 0;
  }
  if (count == array.first.size() && count < array.count_max) {
    const bool has_counted = has_value(array.rest.counted), has_plain = has_value(array.rest.value);
    if (has_counted)
      contained = array.count_max == kNoLimit ? kNoLimit : contained + array.count_max - count;
    if (!has_plain && array.count_min > count) only_contained += array.count_min - count;
    if (has_counted || has_plain) count = array.count_max;
  }
  return count >= array.count_min && contained >= array.contained_min &&
         only_contained <= array.contained_max;
}

bool Planner::has_value(const PlannedObject& object) const {
  std::uint64_t required = 0, possible = 0;
  for (const Property& property : object.properties) {
    const bool is_possible = has_value(property.value);
    if (property.is_required && !is_possible) return false;
    required += property.is_required ? 1 : 0;
    possible += is_possible ? 1 : 0;
  }
  const bool has_others =
      std::any_of(object.others.begin(), object.others.end(),
                  [this](const PlannedKeys& keys) { return has_value(keys.value); });
  return required <= object.count_max && (has_others || possible >= object.count_min);
}

}  // namespace ingot::schema
