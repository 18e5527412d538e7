// ShapePlan: objects, their undeclared keys and dependencies.
#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "constraint/schema/shape_plan.h"

namespace ingot::schema {
namespace {

constexpr std::size_t kKeyClassesMax = 128;
constexpr std::size_t kPartsMax = 512;

/// Finds the properties of an object by name, and declares missing properties.
class Declarations {
 public:
  Declarations(ObjectSet& set, const AlgebraParts& parts) : set_(set), algebra_(parts) {
    parts.budget.spend(set.properties.size());
    for (std::size_t i = 0; i < set.properties.size(); ++i) {
      index_.emplace(set.properties[i].name, i);
    }
  }

  /// Returns the index of a property in ObjectSet::properties.
  std::size_t declare(std::int32_t name) {
    const auto [known, is_new] = index_.emplace(name, set_.properties.size());
    if (is_new) {
      set_.properties.push_back({name, algebra_.value_of_undeclared(set_, name), false});
    }
    return known->second;
  }

 private:
  ObjectSet& set_;
  ShapeAlgebra algebra_;
  std::unordered_map<std::int32_t, std::size_t> index_;
};

/// Marks what can be reached from the marked nodes by edges (from, to), in one pass over both.
void spread(std::vector<char>& is_marked,
            const std::vector<std::pair<std::size_t, std::size_t>>& edges, CompileBudget& budget) {
  budget.spend(is_marked.size() + edges.size());
  std::vector<std::vector<std::size_t>> next(is_marked.size());
  for (const auto& [from, to] : edges) next[from].push_back(to);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < is_marked.size(); ++i) {
    if (is_marked[i] != 0) open.push_back(i);
  }
  while (!open.empty()) {
    const std::size_t from = open.back();
    open.pop_back();
    for (const std::size_t to : next[from]) {
      if (is_marked[to] != 0) continue;
      is_marked[to] = 1;
      open.push_back(to);
    }
  }
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
      report_.cannot_enforce(document_.pointer(std::max(0, source.schema), source.keyword),
                             "a rule that some property must break cannot be enforced");
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
    if (found.size() > kPartsMax) return;
    ObjectSet part = base;
    Property& property = part.properties[Declarations(part, parts_).declare(name)];
    property.value = formulas.both(property.value, rule.value);
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
  if (found.size() > kPartsMax) return false;
  for (ObjectSet& part : found) open.push_back(std::move(part));
  return true;
}

void Planner::declare_dependencies(ObjectSet& set) {
  if (set.dependencies.empty()) return;
  std::vector<std::pair<std::size_t, std::size_t>> forward, backward;
  Declarations declarations(set, parts_);
  for (const auto& [name, needed] : set.dependencies) {
    parts_.budget.spend();
    if (name == needed) continue;
    const std::size_t from = declarations.declare(name);
    if (set.properties[from].value == kFalse) continue;
    forward.emplace_back(from, declarations.declare(needed));
    backward.emplace_back(forward.back().second, from);
  }
  // A required property makes those required that it needs. One that needs a forbidden property is
  // forbidden too.
  std::vector<char> is_required, is_forbidden;
  for (const Property& property : set.properties) {
    is_required.push_back(property.is_required ? 1 : 0);
    is_forbidden.push_back(property.value == kFalse ? 1 : 0);
  }
  spread(is_required, forward, parts_.budget);
  spread(is_forbidden, backward, parts_.budget);
  for (std::size_t i = 0; i < set.properties.size(); ++i) {
    set.properties[i].is_required = is_required[i] != 0;
    if (is_forbidden[i] != 0) set.properties[i].value = kFalse;
  }
  set.dependencies.clear();
  for (const auto& [from, needed] : forward) {
    const bool is_settled = is_required[needed] != 0 || is_forbidden[from] != 0;
    if (is_settled) continue;
    set.dependencies.emplace_back(set.properties[from].name, set.properties[needed].name);
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
