// ShapePlan: how many alternatives a Matcher has to follow at the same time.
#include <algorithm>

#include "base/text.h"
#include "constraint/schema/shape_plan.h"

namespace ingot::schema {
namespace {

/// A Matcher follows as many alternatives, and leaves out others silently.
constexpr std::size_t kWidthMax = 256;

}  // namespace

std::size_t Planner::width(FormulaId formula) const {
  const auto known = widths_.find(formula);
  return known == widths_.end() ? 0 : known->second;
}

std::size_t Planner::width_of_arrays(const Plan& plan) {
  std::size_t sum = 0;
  for (const PlannedArray& array : plan.arrays) {
    parts_.budget.spend();
    if (!has_value(array)) continue;
    const PlannedItem& item = array.first.empty() ? array.rest : array.first[0];
    sum += std::max<std::size_t>(1, width(item.value) + width(item.counted));
  }
  return sum;
}

std::size_t Planner::width_of_objects(const Plan& plan, bool any_order) {
  // Alternatives that may begin with a key stay until the key differs.
  std::size_t at_open = 0, at_others = 0;
  std::unordered_map<std::int32_t, std::size_t> more;  // by key: more than `at_others`, modulo 2^64
  for (const PlannedObject& object : plan.objects) {
    if (!has_value(object)) continue;
    ++at_open;
    const auto required =
        std::find_if(object.properties.begin(), object.properties.end(),
                     [](const Property& property) { return property.is_required; });
    const bool is_fixed = required != object.properties.end() && !any_order;
    const auto end = is_fixed ? std::next(required) : object.properties.end();
    parts_.budget.spend(object.properties.size() + 1);
    std::size_t others = 0;
    for (const PlannedKeys& keys : object.others) others = std::max(others, width(keys.value));
    if (is_fixed) others = 0;
    for (auto property = object.properties.begin(); property != end; ++property) {
      more[property->name] += width(property->value) - others;
    }
    at_others += others;
  }
  std::size_t most = std::max(at_open, at_others);
  for (const auto& [name, width] : more) most = std::max(most, at_others + width);
  return most;
}

void Planner::check_widths(bool any_order) {
  // The least fixpoint, as in `find_values`: each value has a finite width, or grows beyond all.
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (auto formula = order_.rbegin(); formula != order_.rend(); ++formula) {
      const Plan& plan = plans_[*formula];
      parts_.budget.spend();
      if (!plan.has_value) continue;
      const std::size_t width =
          std::max({std::size_t{1}, plan.strings.size(), width_of_arrays(plan),
                    width_of_objects(plan, any_order)});
      if (width > kWidthMax) {
        report_.cannot_enforce("", cat("has more than ", kWidthMax,
                                       " alternatives that begin alike: documents of some of them "
                                       "cannot be written"));
        return;
      }
      std::size_t& known = widths_[*formula];
      has_changed = has_changed || width != known;
      known = width;
    }
  }
}

}  // namespace ingot::schema
