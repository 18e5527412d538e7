// ShapeTable: computes the shapes of formulas, innermost first.
#include "constraint/schema/shape_table.h"

#include <algorithm>

#include "base/check.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot::schema {

using Kind = Formula::Kind;

ShapeTable::Entry& ShapeTable::entry(FormulaId formula) {
  if (entries_.size() < parts_.formulas.size()) entries_.resize(parts_.formulas.size());
  return at(entries_, formula);
}

const Shape& ShapeTable::shape(FormulaId formula) {
  const Shape* shape = compute(formula);
  INGOT_CHECK(shape != nullptr, "a shape within the computation of another");
  return *shape;
}

void ShapeTable::reopen(const std::vector<FormulaId>& open) {
  for (const FormulaId formula : open) {
    Entry& waiting = entry(formula);
    if (waiting.state == State::kOpen && waiting.level == level_) waiting.state = State::kNew;
  }
  std::erase_if(provisional_, [this](FormulaId formula) {
    Entry& done = entry(formula);
    if (done.level != level_) return false;
    done.state = State::kNew;
    done.assumed.clear();
    return true;
  });
}

bool ShapeTable::is_of_outer(const Entry& entry) const {
  const bool is_final = entry.state == State::kDone && entry.assumed.empty();
  return entry.state != State::kNew && !is_final && entry.level != level_;
}

const Shape* ShapeTable::compute(FormulaId formula) {
  const Entry& known = entry(formula);
  if (known.state == State::kDone && known.assumed.empty()) return known.shape.get();
  ++level_;
  std::vector<FormulaId> open = {formula};
  while (!open.empty()) {
    const FormulaId current = open.back();
    parts_.budget.spend();
    if (is_of_outer(entry(current))) {
      reopen(open);
      --level_;
      return nullptr;
    }
    if (entry(current).state == State::kDone) {
      open.pop_back();
      continue;
    }
    entry(current).state = State::kOpen;
    entry(current).level = level_;
    const std::size_t before = open.size();
    const std::vector<FormulaId> needed = dependencies(current);
    parts_.budget.spend(needed.size() / 4);
    for (const FormulaId part : needed) {
      Entry& other = entry(part);
      const bool is_cycle = other.state == State::kOpen && other.level == level_;
      if (is_cycle) other.shape = std::make_shared<const Shape>();
      const bool is_ready = is_cycle || (other.state == State::kDone && !is_of_outer(other));
      if (!is_ready) open.push_back(part);
    }
    if (open.size() != before) continue;
    std::vector<FormulaId> assumed = assumptions(current, needed);
    if (!finish(current)) continue;
    settle(current, std::move(assumed));
    open.pop_back();
  }
  --level_;
  return entry(formula).shape.get();
}

std::vector<FormulaId> ShapeTable::assumptions(FormulaId formula,
                                               const std::vector<FormulaId>& needed) {
  std::vector<FormulaId> assumed;
  for (const FormulaId part : needed) {
    const Entry& other = entry(part);
    parts_.budget.spend(other.assumed.size());
    if (other.state == State::kOpen) assumed.push_back(part);
    assumed.insert(assumed.end(), other.assumed.begin(), other.assumed.end());
  }
  std::sort(assumed.begin(), assumed.end());
  assumed.erase(std::unique(assumed.begin(), assumed.end()), assumed.end());
  if (!assumed.empty() && !may_contain_itself(formula)) fail_cycle(formula);
  return assumed;
}

bool ShapeTable::may_contain_itself(FormulaId id) const {
  const Formula& formula = parts_.formulas.get(id);
  const bool has_kind =
      formula.kind == Kind::kSchema || formula.kind == Kind::kAny || formula.kind == Kind::kAll;
  return has_kind && !formula.is_negated && !formula.is_observed;
}

void ShapeTable::fail_cycle(FormulaId formula) const {
  report_.fail(document_.pointer(std::max(0, schema_of(formula))),
               "refers to itself with no object or array between");
}

void ShapeTable::settle(FormulaId formula, std::vector<FormulaId> assumed) {
  const bool is_own = std::erase(assumed, formula) != 0;
  Entry& done = entry(formula);
  done.assumed = std::move(assumed);
  if (!done.assumed.empty()) {
    provisional_.push_back(formula);
  } else if (is_own && done.shape->is_empty()) {
    fail_cycle(formula);
  }
  if (!is_own) return;
  std::erase_if(provisional_, [&](FormulaId other) {
    Entry& waiting = entry(other);
    parts_.budget.spend();
    if (!std::binary_search(waiting.assumed.begin(), waiting.assumed.end(), formula)) return false;
    if (++repeated_ > kRepeatedMax) fail_cycle(formula);
    waiting.state = State::kNew;
    waiting.assumed.clear();
    return true;
  });
}

std::vector<FormulaId> ShapeTable::dependencies(FormulaId id) {
  const Formula formula = parts_.formulas.get(id);
  switch (formula.kind) {
    case Kind::kSchema:
      if (entry(id).rewritten == kNoFormula) {
        FormulaId definition =
            reader_.definition(formula.schema, formula.context, formula.is_observed);
        if (formula.is_negated) definition = parts_.formulas.negation(definition);
        entry(id).rewritten = definition;
      }
      return {entry(id).rewritten};
    case Kind::kAssertions:
      if (formula.is_negated) return {parts_.formulas.negation(id)};
      entry(id).rewritten = reader_.property_names(formula.schema, formula.context);
      return {entry(id).rewritten};
    case Kind::kAny:
      if (entry(id).rewritten != kNoFormula) return {entry(id).rewritten};
      return formula.parts;
    case Kind::kAll:
    case Kind::kUnevaluated:
      return formula.parts;
    case Kind::kOne:
      if (entry(id).rewritten != kNoFormula) return {entry(id).rewritten};
      return placed_parts(formula);
    default:
      return {};
  }
}

namespace {

/// What a value evaluates below `not`, or in another value, does not count.
std::shared_ptr<const Shape> without_evaluated(const Shape& shape) {
  Shape copy = shape;
  for (ArraySet& set : copy.arrays) {
    set.evaluated = 0;
    set.evaluated_items.clear();
  }
  for (ObjectSet& set : copy.objects) {
    set.evaluates_all = false;
    set.evaluated.clear();
  }
  return std::make_shared<const Shape>(std::move(copy));
}

}  // namespace

bool ShapeTable::finish(FormulaId id) {
  const Formula formula = parts_.formulas.get(id);
  const FormulaId rewritten = entry(id).rewritten;
  std::shared_ptr<const Shape> shape;
  if (formula.kind == Kind::kOne && rewritten == kNoFormula) {
    const FormulaId result = one(formula);
    entry(id).rewritten = result;
    return false;
  }
  const bool is_combined = formula.kind == Kind::kAny && formula.is_observed;
  if (is_combined && rewritten == kNoFormula) {
    const FormulaId result = combined(formula);
    const bool is_wide = result == kNoFormula;
    const FormulaId parts = is_wide ? parts_.formulas.any_observed(formula.parts) : result;
    entry(id).rewritten = parts;
    entry(id).is_wide = is_wide;
    return false;
  }
  if (is_combined) {
    shape = combined_shape(id);
  } else if (formula.kind == Kind::kSchema || formula.kind == Kind::kOne) {
    shape = entry(rewritten).shape;
    const bool is_observed = formula.kind == Kind::kOne || formula.is_observed;
    if (document_.has_unevaluated() && !is_observed) shape = without_evaluated(*shape);
  } else if (formula.kind == Kind::kAssertions && formula.is_negated) {
    shape = std::make_shared<const Shape>(
        algebra_.complement(*entry(parts_.formulas.negation(id)).shape));
  } else {
    shape = std::make_shared<const Shape>(leaf(formula, rewritten));
  }
  parts_.budget.spend(shape->alternatives());
  Entry& done = entry(id);
  done.shape = std::move(shape);
  done.state = State::kDone;
  return true;
}

Shape ShapeTable::leaf(const Formula& formula, FormulaId rewritten) {
  Shape shape;
  switch (formula.kind) {
    case Kind::kFalse:
      return shape;
    case Kind::kTrue:
      return Shape::everything();
    case Kind::kAssertions:
      return assertions(formula, rewritten);
    case Kind::kScalars:
      shape = reader_.scalars(*formula.value);
      break;
    case Kind::kConstant:
      shape = reader_.constant(*formula.value);
      break;
    case Kind::kHasProperty:
      shape.objects.push_back({.properties = {{formula.name, kTrue, true}}});
      break;
    case Kind::kAll:
      return all(formula);
    case Kind::kAny:
      for (const FormulaId part : formula.parts) algebra_.unite(shape, *entry(part).shape);
      algebra_.remove_repeated(shape);
      return shape;
    case Kind::kUnevaluated:
      if (formula.is_negated) {
        report_.cannot_enforce(document_.pointer(formula.schema),
                               "unevaluated properties and items below 'not' or 'if' cannot be "
                               "enforced");
        return Shape::everything();
      }
      shape = *entry(formula.parts[0]).shape;
      reader_.add_unevaluated(shape, formula.schema, formula.context);
      return shape;
    default:
      INGOT_CHECK(false, "a formula that is not a leaf");
  }
  return formula.is_negated ? algebra_.complement(shape) : shape;
}

Shape ShapeTable::assertions(const Formula& formula, FormulaId names) {
  if (names == kTrue) {
    return reader_.assertions(formula.schema, formula.context, TextSets::kAll, true);
  }
  TextSetId texts = TextSets::kNone;
  bool is_exact = true;
  try {
    for (const StringSet& set : entry(names).shape->strings) {
      texts = parts_.texts.united(
          texts, parts_.texts.with_length(set.texts, set.length_min, set.length_max));
      is_exact = is_exact && !set.is_opaque;
    }
  } catch (const Error& error) {
    report_.cannot_enforce(document_.pointer(formula.schema, "propertyNames"), error.message());
    texts = TextSets::kAll;
    is_exact = false;
  }
  return reader_.assertions(formula.schema, formula.context, texts, is_exact);
}

SchemaId ShapeTable::schema_of(FormulaId formula) const {
  const Formula* current = &parts_.formulas.get(formula);
  while (current->schema == kNoSchema && !current->parts.empty()) {
    current = &parts_.formulas.get(current->parts[0]);
  }
  return current->schema;
}

Shape ShapeTable::all(const Formula& formula) {
  // Negations come last: they only take away from what the others declare.
  std::vector<FormulaId> parts = formula.parts;
  std::stable_partition(parts.begin(), parts.end(),
                        [&](FormulaId part) { return !parts_.formulas.get(part).is_negated; });
  const auto may_share = [this](FormulaId a, FormulaId b) { return may_share_value(a, b); };
  Shape shape = *entry(parts[0]).shape;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::shared_ptr<const Shape> other = entry(parts[i]).shape;
    const std::size_t a = shape.alternatives(), b = other->alternatives();
    Shape both = algebra_.intersected(shape, *other, may_share);
    if (both.alternatives() > std::max({kAlternativesMax, a, b})) {
      report_.cannot_enforce(document_.pointer(std::max(0, schema_of(parts[i]))),
                             "needs too many alternatives together with the keywords beside it");
      continue;
    }
    shape = std::move(both);
  }
  return shape;
}

std::vector<FormulaId> ShapeTable::placed_parts(const Formula& formula) {
  std::vector<FormulaId> placed;
  for (const FormulaId part : formula.parts) {
    placed.push_back(parts_.formulas.all({formula.before, part, formula.after}));
  }
  return placed;
}

FormulaId ShapeTable::one(const Formula& formula) {
  FormulaTable& formulas = parts_.formulas;
  const auto may_share = [this](FormulaId a, FormulaId b) { return may_share_value(a, b); };
  const std::size_t size = formula.parts.size();
  const std::vector<FormulaId> placed = placed_parts(formula);
  std::vector<std::vector<std::size_t>> overlaps(size);
  std::vector<FormulaId> pairs;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = i + 1; j < size; ++j) {
      parts_.budget.spend();
      const auto a = entry(placed[i]).shape, b = entry(placed[j]).shape;
      if (algebra_.are_disjoint(*a, *b, may_share)) continue;
      overlaps[i].push_back(j);
      overlaps[j].push_back(i);
      if (formula.is_negated) pairs.push_back(formulas.both(formula.parts[i], formula.parts[j]));
    }
  }
  std::vector<FormulaId> alternatives;
  if (formula.is_negated) {
    std::vector<FormulaId> none;
    for (const FormulaId part : formula.parts) none.push_back(formulas.negation(part));
    pairs.push_back(formulas.all(none));
    return formulas.any(pairs);
  }
  for (std::size_t i = 0; i < size; ++i) {
    std::vector<FormulaId> parts = {placed[i]};
    for (const std::size_t j : overlaps[i]) parts.push_back(formulas.negation(formula.parts[j]));
    alternatives.push_back(formulas.all(parts));
  }
  return formulas.any(alternatives);
}

namespace {

/// The alternatives that evaluate properties or items.
Shape evaluating(const Shape& shape) {
  Shape out;
  for (const ArraySet& set : shape.arrays) {
    if (set.evaluated != 0 || !set.evaluated_items.empty()) out.arrays.push_back(set);
  }
  for (const ObjectSet& set : shape.objects) {
    if (set.evaluates_all || !set.evaluated.empty()) out.objects.push_back(set);
  }
  return out;
}

}  // namespace

FormulaId ShapeTable::combined(const Formula& formula) {
  const auto may_share = [this](FormulaId a, FormulaId b) { return may_share_value(a, b); };
  const std::vector<FormulaId>& parts = formula.parts;
  std::vector<std::vector<char>> overlap(parts.size(), std::vector<char>(parts.size()));
  std::vector<Shape> shapes;
  for (const FormulaId part : parts) shapes.push_back(evaluating(*entry(part).shape));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts_.budget.spend(parts.size());
    for (std::size_t j = i + 1; j < parts.size(); ++j) {
      overlap[i][j] = algebra_.are_disjoint(shapes[i], shapes[j], may_share) ? 0 : 1;
    }
  }
  std::vector<FormulaId> all = parts;
  std::vector<std::vector<std::size_t>> sets;
  for (std::size_t i = 0; i < parts.size(); ++i) sets.push_back({i});
  for (std::size_t at_set = 0; at_set < sets.size(); ++at_set) {
    for (std::size_t j = sets[at_set].back() + 1; j < parts.size(); ++j) {
      std::vector<std::size_t> set = sets[at_set];
      parts_.budget.spend();
      const bool may_have =
          std::all_of(set.begin(), set.end(), [&](std::size_t i) { return overlap[i][j] != 0; });
      if (!may_have) continue;
      if (all.size() >= parts.size() + kCombinationsMax) {
        report_.cannot_enforce(document_.pointer(formula.schema, "anyOf"),
                               "has too many parts beside unevaluated properties or items");
        return kNoFormula;
      }
      set.push_back(j);
      std::vector<FormulaId> some;
      for (const std::size_t i : set) some.push_back(parts[i]);
      all.push_back(parts_.formulas.all(some));
      sets.push_back(std::move(set));
    }
  }
  return parts_.formulas.any_observed(all);
}

std::shared_ptr<const Shape> ShapeTable::combined_shape(FormulaId id) {
  const Entry& known = entry(id);
  const std::shared_ptr<const Shape> shape = entry(known.rewritten).shape;
  if (!known.is_wide) return shape;
  Shape wide = *shape;
  for (ArraySet& set : wide.arrays) set.evaluated = kNoLimit;
  for (ObjectSet& set : wide.objects) set.evaluates_all = true;
  return std::make_shared<const Shape>(std::move(wide));
}

bool ShapeTable::may_share_value(FormulaId a, FormulaId b) {
  if (a == kFalse || b == kFalse) return false;
  if (a == kTrue && b == kTrue) return true;
  const auto key = std::minmax(a, b);
  const auto known = may_share_.find(key);
  if (known != may_share_.end()) return known->second;
  if (nesting_ >= kNestingMax) return true;
  ++nesting_;
  bool result = true;
  const Shape* x = compute(a);
  const Shape* y = x == nullptr ? nullptr : compute(b);
  if (y != nullptr) {
    const auto may_share = [this](FormulaId c, FormulaId d) { return may_share_value(c, d); };
    result = !algebra_.are_disjoint(*x, *y, may_share);
  }
  --nesting_;
  if (!result || (nesting_ == 0 && y != nullptr)) may_share_[key] = result;
  return result;
}

}  // namespace ingot::schema
