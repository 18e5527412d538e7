// Formulas: interns formulas and simplifies what is obvious.
#include "constraint/schema/formula.h"

#include <algorithm>
#include <unordered_set>

#include "base/check.h"
#include "base/index.h"

namespace ingot::schema {

using Kind = Formula::Kind;

FormulaTable::FormulaTable(CompileBudget& budget) : budget_(budget) {
  formulas_.push_back({.kind = Kind::kFalse});
  formulas_.push_back({.kind = Kind::kTrue});
}

FormulaId FormulaTable::add(Formula formula) {
  std::vector<std::int32_t> key = {static_cast<std::int32_t>(formula.kind) * 4 +
                                       (formula.is_negated ? 2 : 0) + (formula.is_observed ? 1 : 0),
                                   formula.schema,
                                   formula.context,
                                   formula.name,
                                   formula.before,
                                   formula.after};
  if (formula.value != nullptr) key.push_back(value_id(*formula.value));
  key.insert(key.end(), formula.parts.begin(), formula.parts.end());
  budget_.spend(key.size());
  const auto [entry, is_new] =
      by_key_.emplace(std::move(key), static_cast<FormulaId>(formulas_.size()));
  if (is_new) formulas_.push_back(std::move(formula));
  return entry->second;
}

std::int32_t FormulaTable::value_id(const Json& value) {
  std::string text = value.dump();
  budget_.spend(text.size() / 8 + 1);
  const auto [entry, is_new] =
      value_ids_.emplace(std::move(text), static_cast<std::int32_t>(values_.size()));
  if (is_new) values_.push_back(&value);
  return entry->second;
}

std::int32_t FormulaTable::name_id(const std::string& name) {
  const auto [entry, is_new] = name_ids_.emplace(name, static_cast<std::int32_t>(names_.size()));
  if (is_new) names_.push_back(&entry->first);
  return entry->second;
}

FormulaId FormulaTable::schema(SchemaId schema, int context, bool is_observed) {
  return add(
      {.kind = Kind::kSchema, .is_observed = is_observed, .schema = schema, .context = context});
}

FormulaId FormulaTable::assertions(SchemaId schema, int context) {
  return add({.kind = Kind::kAssertions, .schema = schema, .context = context});
}

FormulaId FormulaTable::scalars(const Json& values) {
  return add({.kind = Kind::kScalars, .value = &values});
}

FormulaId FormulaTable::constant(const Json& value) {
  return add({.kind = Kind::kConstant, .value = &value});
}

FormulaId FormulaTable::has_property(std::int32_t name) {
  return add({.kind = Kind::kHasProperty, .name = name});
}

FormulaId FormulaTable::join(Kind kind, const std::vector<FormulaId>& parts) {
  const bool is_all = kind == Kind::kAll;
  const FormulaId neutral = is_all ? kTrue : kFalse;
  const FormulaId absorbing = is_all ? kFalse : kTrue;
  std::vector<FormulaId> flat;
  std::unordered_set<FormulaId> seen;
  const auto take = [&](FormulaId part) {
    if (part != neutral && seen.insert(part).second) flat.push_back(part);
  };
  for (const FormulaId part : parts) {
    if (part == absorbing) return absorbing;
    if (get(part).kind == kind && !get(part).is_observed) {
      for (const FormulaId inner : get(part).parts) take(inner);
    } else {
      take(part);
    }
  }
  budget_.spend(flat.size() + 1);
  for (const FormulaId part : flat) {
    const auto negated = negations_.find(part);
    if (negated != negations_.end() && seen.count(negated->second) != 0) return absorbing;
  }
  if (flat.empty()) return neutral;
  if (flat.size() == 1) return flat[0];
  return add({.kind = kind, .parts = std::move(flat)});
}

FormulaId FormulaTable::all(const std::vector<FormulaId>& parts) { return join(Kind::kAll, parts); }
FormulaId FormulaTable::both(FormulaId a, FormulaId b) {
  if (a == b || b == kTrue) return a;
  if (a == kTrue) return b;
  return join(Kind::kAll, {a, b});
}
FormulaId FormulaTable::any(const std::vector<FormulaId>& parts) { return join(Kind::kAny, parts); }

FormulaId FormulaTable::any_observed(const std::vector<FormulaId>& parts) {
  std::vector<FormulaId> kept;
  for (const FormulaId part : parts) {
    const bool is_new = std::find(kept.begin(), kept.end(), part) == kept.end();
    if (part != kFalse && is_new) kept.push_back(part);
  }
  if (kept.empty()) return kFalse;
  return kept.size() == 1 ? kept[0] : add({.kind = Kind::kAny, .parts = std::move(kept)});
}

FormulaId FormulaTable::any_combined(const std::vector<FormulaId>& parts, SchemaId schema) {
  return add({.kind = Kind::kAny, .is_observed = true, .schema = schema, .parts = parts});
}

FormulaId FormulaTable::one(const std::vector<FormulaId>& parts, SchemaId schema) {
  if (parts.empty()) return kFalse;
  if (parts.size() == 1) return parts[0];
  return add({.kind = Kind::kOne, .schema = schema, .parts = parts});
}

FormulaId FormulaTable::one_within(FormulaId before, FormulaId one, FormulaId after) {
  Formula formula = get(one);
  if (formula.kind != Kind::kOne || formula.is_negated) return all({before, one, after});
  formula.before = before;
  formula.after = after;
  return add(std::move(formula));
}

FormulaId FormulaTable::unevaluated(FormulaId inner, SchemaId schema, int context) {
  return add({.kind = Kind::kUnevaluated, .schema = schema, .context = context, .parts = {inner}});
}

FormulaId FormulaTable::negation(FormulaId id) {
  const auto known = negations_.find(id);
  if (known != negations_.end()) return known->second;
  const Formula formula = get(id);
  FormulaId result = kFalse;
  switch (formula.kind) {
    case Kind::kFalse:
      result = kTrue;
      break;
    case Kind::kTrue:
      result = kFalse;
      break;
    case Kind::kAll:
    case Kind::kAny: {
      // Parts are leaves, or formulas that the reader built from leaves: this recursion is shallow.
      std::vector<FormulaId> parts;
      for (const FormulaId part : formula.parts) parts.push_back(negation(part));
      result = formula.kind == Kind::kAll ? any(parts) : all(parts);
      break;
    }
    case Kind::kOne:
      if (formula.before != kTrue || formula.after != kTrue) {
        const FormulaId alone = one(formula.parts, formula.schema);
        result = any({negation(formula.before), negation(alone), negation(formula.after)});
        break;
      }
      [[fallthrough]];
    default: {
      Formula other = formula;
      other.is_negated = !other.is_negated;
      other.is_observed = false;
      result = add(std::move(other));
      break;
    }
  }
  negations_[id] = result;
  negations_.emplace(result, id);
  return result;
}

}  // namespace ingot::schema
