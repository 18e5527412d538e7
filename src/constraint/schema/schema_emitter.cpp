// SchemaEmitter: nodes of strings, numbers, arrays and objects.
#include "constraint/schema/schema_emitter.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "constraint/match/unique_items.h"

namespace ingot::schema {
namespace {

/// A Matcher follows as many alternatives, and would leave out others silently.
constexpr std::size_t kAlternativesMax = 256;

}  // namespace

NodeId SchemaEmitter::emit(FormulaId root) {
  const NodeId result = node(root);
  while (!open_.empty()) {
    const FormulaId next = open_.back();
    open_.pop_back();
    write(next);
  }
  return result;
}

NodeId SchemaEmitter::node(FormulaId formula) {
  if (!planner_.has_value(formula)) return kNoNode;
  const auto known = nodes_.find(formula);
  if (known != nodes_.end()) return known->second;
  parts_.budget.spend();
  const Plan& plan = planner_.get(formula);
  NodeId made = kNoNode;
  if (plan.arrays.empty() && plan.objects.empty()) {
    std::vector<NodeId> alternatives;
    if (plan.has_scalars) alternatives.push_back(scalar_node(formula, false));
    for (const StringSet& set : plan.strings) alternatives.push_back(string_node(set));
    made = alternatives.size() == 1 ? alternatives[0] : grammar_.choice(std::move(alternatives));
  } else {
    made = grammar_.reserve();
    open_.push_back(formula);
  }
  nodes_[formula] = made;
  return made;
}

std::uint32_t SchemaEmitter::language(TextSetId texts) {
  if (texts == TextSets::kAll) return grammar::String::kAny;
  const auto known = languages_.find(texts);
  if (known != languages_.end()) return known->second;
  const std::uint32_t index = grammar_.add_language(parts_.texts.language(texts));
  languages_[texts] = index;
  return index;
}

NodeId SchemaEmitter::scalar_node(FormulaId formula, bool one_spelling) {
  // Many parts of a schema allow the same numbers: they share a node.
  const auto key = std::make_pair(planner_.scalar_key(formula), one_spelling);
  const auto known = scalars_.find(key);
  if (known != scalars_.end()) return known->second;
  const NodeId made = grammar_.terminal(planner_.scalars(formula, one_spelling));
  scalars_[key] = made;
  return made;
}

NodeId SchemaEmitter::string_node(const StringSet& set) {
  const std::uint32_t texts = language(set.texts);
  const std::vector<std::uint64_t> key = {texts, set.length_min, set.length_max};
  const auto known = strings_.find(key);
  if (known != strings_.end()) return known->second;
  const NodeId made = grammar_.add(
      grammar::String{.language = texts,
                      .length_min = set.length_min,
                      .length_max = set.length_max == kNoLimit ? kUnlimited : set.length_max});
  strings_[key] = made;
  return made;
}

NodeId SchemaEmitter::unique_node(FormulaId formula) {
  if (!planner_.has_value(formula)) return kNoNode;
  const auto known = unique_nodes_.find(formula);
  if (known != unique_nodes_.end()) return known->second;
  const Plan& plan = planner_.get(formula);
  std::vector<NodeId> alternatives;
  if (plan.has_scalars) alternatives.push_back(scalar_node(formula, true));
  for (const StringSet& set : planner_.unique_strings(formula)) {
    alternatives.push_back(string_node(set));
  }
  const NodeId made =
      alternatives.size() == 1 ? alternatives[0] : grammar_.choice(std::move(alternatives));
  unique_nodes_[formula] = made;
  return made;
}

void SchemaEmitter::write(FormulaId formula) {
  const Plan& plan = planner_.get(formula);
  std::vector<GrammarNode> alternatives;
  std::vector<NodeId> ids;
  if (plan.has_scalars) ids.push_back(scalar_node(formula, false));
  for (const StringSet& set : plan.strings) ids.push_back(string_node(set));
  for (const PlannedArray& planned : plan.arrays) {
    parts_.budget.spend(planned.first.size() + 1);
    if (planner_.has_value(planned)) alternatives.emplace_back(array(planned));
  }
  for (const PlannedObject& planned : plan.objects) {
    parts_.budget.spend(planned.properties.size() + 1);
    if (planner_.has_value(planned)) alternatives.emplace_back(object(planned));
  }
  if (alternatives.size() > kAlternativesMax) {
    throw Error(ErrorCode::kInvalid, cat("is too complex: a value has more than ", kAlternativesMax,
                                         " alternatives that are objects or arrays"));
  }
  const NodeId target = nodes_.at(formula);
  if (ids.empty() && alternatives.size() == 1) {
    grammar_.set(target, std::move(alternatives[0]));
    return;
  }
  for (GrammarNode& alternative : alternatives) ids.push_back(grammar_.add(std::move(alternative)));
  grammar_.set(target, grammar::Choice{std::move(ids)});
}

grammar::Array SchemaEmitter::array(const PlannedArray& planned) {
  if (planned.is_unique) {
    grammar::Array unique = array(planned, true);
    if (!match::find_unique_items(grammar_, unique, parts_.budget).is_narrower) return unique;
    planner_.drop_unique(planned, match::kSharedItems);
  }
  return array(planned, false);
}

grammar::Array SchemaEmitter::array(const PlannedArray& planned, bool is_unique) {
  const auto item = [&](const PlannedItem& from) {
    const auto one = [&](FormulaId formula) {
      return is_unique ? unique_node(formula) : node(formula);
    };
    return grammar::Array::Item{.value = one(from.value), .counted = one(from.counted)};
  };
  const auto is_possible = [](const grammar::Array::Item& item) {
    return item.value != kNoNode || item.counted != kNoNode;
  };
  grammar::Array array;
  array.count_min = planned.count_min;
  array.count_max = planned.count_max;
  array.contained_min = planned.contained_min;
  array.contained_max = planned.contained_max;
  array.is_unique = is_unique;
  for (const PlannedItem& planned_item : planned.first) {
    array.first.push_back(item(planned_item));
    if (is_possible(array.first.back())) continue;
    array.first.pop_back();
    array.count_max = std::min<std::uint64_t>(array.count_max, array.first.size());
    return array;
  }
  array.rest = item(planned.rest);
  if (!is_possible(array.rest)) {
    array.count_max = std::min<std::uint64_t>(array.count_max, array.first.size());
  }
  return array;
}

grammar::Object SchemaEmitter::object(const PlannedObject& planned) {
  grammar::Object object;
  object.any_order = options_.any_order;
  object.count_min = planned.count_min;
  object.count_max = planned.count_max;
  std::unordered_map<std::int32_t, std::uint32_t> index;
  for (const Property& property : planned.properties) {
    index.emplace(property.name, static_cast<std::uint32_t>(object.properties.size()));
    object.properties.push_back({.name = parts_.formulas.name(property.name),
                                 .value = node(property.value),
                                 .is_required = property.is_required});
  }
  for (const auto& [name, needed] : planned.dependencies) {
    object.dependencies.emplace_back(index.at(name), index.at(needed));
  }
  write_other_keys(planned, object);
  return object;
}

void SchemaEmitter::write_other_keys(const PlannedObject& planned, grammar::Object& object) {
  std::vector<TextSetId> sets;
  for (const PlannedKeys& keys : planned.others) {
    const NodeId value = node(keys.value);
    if (value == kNoNode) continue;
    sets.push_back(keys.names);
    object.other_values.push_back(value);
  }
  if (sets.empty()) return;
  const auto known = key_languages_.find(sets);
  if (known != key_languages_.end()) {
    object.other_keys = known->second;
    return;
  }
  std::vector<TextDfa> languages;
  for (const TextSetId set : sets) languages.push_back(parts_.texts.language(set));
  std::vector<std::vector<std::int32_t>> members;
  TextDfa keys = TextDfa::tagged_by_membership(languages, false, members, parts_.budget);
  // The sets are disjoint, but the tags may come in another order.
  std::vector<NodeId> values;
  for (const std::vector<std::int32_t>& member : members) {
    INGOT_CHECK(member.size() == 1, "sets of property names overlap");
    values.push_back(at(object.other_values, member[0]));
  }
  object.other_values = std::move(values);
  object.other_keys = grammar_.add_language(std::move(keys));
  if (std::is_sorted(members.begin(), members.end())) key_languages_[sets] = object.other_keys;
}

}  // namespace ingot::schema
