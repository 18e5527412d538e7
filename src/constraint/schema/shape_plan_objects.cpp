// ShapePlan: objects.
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "constraint/schema/shape_plan.h"

namespace ingot::schema {
namespace {

constexpr std::size_t kKeyClassesMax = 128;
constexpr std::size_t kPartsMax = 512;

/// Declares a property, if it is not declared, and restricts its value.
Property& declare(ObjectSet& set, ShapeAlgebra& algebra, FormulaTable& formulas, std::int32_t name,
                  FormulaId value) {
  auto known = std::find_if(set.properties.begin(), set.properties.end(),
                            [&](const Property& property) { return property.name == name; });
  if (known == set.properties.end()) {
    const FormulaId own = algebra.value_of(set, name);
    set.properties.push_back({name, own, false});
    known = std::prev(set.properties.end());
  }
  known->value = formulas.both(known->value, value);
  return *known;
}

}  // namespace

std::vector<ObjectSet> Planner::without_some(const ObjectSet& set) {
  std::vector<ObjectSet> open = {set};
  std::vector<ObjectSet> done;
  while (!open.empty()) {
    ObjectSet next = std::move(open.back());
    open.pop_back();
    parts_.budget.spend(next.properties.size() + 1);
    if (next.some.empty()) {
      done.push_back(std::move(next));
    } else if (open.size() + done.size() > kPartsMax || !split_some(next, open)) {
      const Source source = next.some.back().source;
      report_.cannot_enforce(
          document_.pointer(std::max(0, source.schema), source.keyword),
          "that some property breaks the rule for other properties cannot be enforced");
      next.some.pop_back();
      open.push_back(std::move(next));
    }
  }
  std::reverse(done.begin(), done.end());
  return done;
}

bool Planner::split_some(const ObjectSet& set, std::vector<ObjectSet>& open) {
  FormulaTable& formulas = parts_.formulas;
  const Rule rule = set.some.back();
  ObjectSet base = set;
  base.some.pop_back();
  std::vector<ObjectSet> found;
  const auto add_with = [&](std::int32_t name) {
    ObjectSet part = base;
    Property& property = declare(part, algebra_, formulas, name, rule.value);
    property.is_required = true;
    if (!is_empty(property.value)) found.push_back(std::move(part));
  };
  std::vector<std::string> declared;
  bool is_fixed = true;  // each declared property is either required or forbidden
  std::uint64_t required = 0;
  for (const Property& property : set.properties) {
    declared.push_back(formulas.name(property.name));
    required += property.is_required ? 1 : 0;
    is_fixed = is_fixed && (property.is_required || property.value == kFalse);
    if (parts_.texts.contains(rule.names, declared.back())) add_with(property.name);
  }
  TextSetId names = parts_.texts.without(rule.names, parts_.texts.of_texts(declared));
  for (const Rule& other : set.rules) {
    if (is_empty(formulas.both(other.value, rule.value))) {
      names = parts_.texts.without(names, other.names);
    }
  }
  if (const std::vector<std::string>* texts = parts_.texts.texts(names)) {
    const std::vector<std::string> copy = *texts;
    for (const std::string& text : copy) add_with(formulas.name_id(text));
  } else {
    // One more property is enough if every undeclared one breaks the rule.
    for (const PlannedKeys& keys : other_keys(base)) {
      const TextSetId outside = parts_.texts.without(keys.names, names);
      const bool breaks = parts_.texts.is_empty(outside) &&
                          is_empty(formulas.both(keys.value, formulas.negation(rule.value)));
      if (!breaks) return false;
    }
    if (!is_fixed) return false;
    ObjectSet part = base;
    part.count_min = std::max(part.count_min, required + 1);
    found.push_back(std::move(part));
  }
  for (ObjectSet& part : found) open.push_back(std::move(part));
  return true;
}

void Planner::declare_dependencies(ObjectSet& set) {
  std::vector<std::pair<std::int32_t, std::int32_t>> kept;
  for (const auto& [name, needed] : set.dependencies) {
    parts_.budget.spend();
    if (name == needed) continue;
    if (declare(set, algebra_, parts_.formulas, name, kTrue).value == kFalse) continue;
    declare(set, algebra_, parts_.formulas, needed, kTrue);
    kept.emplace_back(name, needed);
  }
  // A required property makes the properties required that it depends on.
  const auto find = [&set](std::int32_t name) {
    return std::find_if(set.properties.begin(), set.properties.end(),
                        [name](const Property& property) { return property.name == name; });
  };
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (const auto& [name, needed] : kept) {
      parts_.budget.spend();
      const auto from = find(name), to = find(needed);
      if (from->is_required && !to->is_required) {
        to->is_required = true;
        has_changed = true;
      } else if (to->value == kFalse && from->value != kFalse) {
        from->value = kFalse;
        has_changed = true;
      }
    }
  }
  set.dependencies.clear();
  for (const auto& [name, needed] : kept) {
    const bool is_settled = find(needed)->is_required || find(name)->value == kFalse;
    if (!is_settled) set.dependencies.emplace_back(name, needed);
  }
}

std::vector<PlannedKeys> Planner::other_keys(const ObjectSet& set) {
  std::vector<std::string> declared;
  for (const Property& property : set.properties) {
    declared.push_back(parts_.formulas.name(property.name));
  }
  std::vector<PlannedKeys> classes = {
      {parts_.texts.complement(parts_.texts.of_texts(std::move(declared))), kTrue}};
  for (const Rule& rule : set.rules) {
    std::vector<PlannedKeys> split;
    const auto add = [&](TextSetId names, FormulaId value) {
      if (value == kFalse || parts_.texts.is_empty(names)) return;
      for (PlannedKeys& keys : split) {
        if (keys.value != value) continue;
        keys.names = parts_.texts.united(keys.names, names);
        return;
      }
      split.push_back({names, value});
    };
    for (const PlannedKeys& keys : classes) {
      add(parts_.texts.intersected(keys.names, rule.names),
          parts_.formulas.both(keys.value, rule.value));
      if (rule.names == TextSets::kAll) continue;
      add(parts_.texts.without(keys.names, rule.names), keys.value);
    }
    classes = std::move(split);
    if (classes.size() > kKeyClassesMax) {
      throw Error(ErrorCode::kInvalid, "is too complex: use fewer patterns of property names");
    }
  }
  return classes;
}

void Planner::add_object(Plan& plan, const ObjectSet& set) {
  ObjectSet copy = set;
  declare_dependencies(copy);
  for (const Property& property : copy.properties) {
    if (property.is_required && property.value == kFalse) return;
  }
  PlannedObject object{.properties = copy.properties,
                       .others = other_keys(copy),
                       .count_min = copy.count_min,
                       .count_max = copy.count_max,
                       .dependencies = copy.dependencies};
  for (const Property& property : object.properties) reach(property.value);
  for (const PlannedKeys& keys : object.others) reach(keys.value);
  plan.objects.push_back(std::move(object));
}

}  // namespace ingot::schema
