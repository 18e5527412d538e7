// ObjectRules: which properties an object may have next, so that it can always be finished.
#include "constraint/match/object_rules.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/text.h"
#include "constraint/language/saturating.h"

namespace ingot::match {
namespace {

bool has(const std::vector<std::uint64_t>& bits, std::uint32_t i) {
  return (bits[i / 64] >> (i % 64) & 1) != 0;
}

void put(std::vector<std::uint64_t>& bits, std::uint32_t i) {
  bits[i / 64] |= std::uint64_t{1} << (i % 64);
}

/// Returns the first member of `wanted` that `have` lacks; there is one.
std::uint32_t first_missing(const std::vector<std::uint64_t>& wanted,
                            const std::vector<std::uint64_t>& have) {
  std::size_t w = 0;
  while (w + 1 < wanted.size() && (wanted[w] & ~have[w]) == 0) ++w;
  return static_cast<std::uint32_t>(w * 64) +
         static_cast<std::uint32_t>(std::countr_zero(wanted[w] & ~have[w]));
}

std::uint64_t size_of(const std::vector<std::uint64_t>& bits) {
  std::uint64_t count = 0;
  for (const std::uint64_t word : bits) count += static_cast<std::uint64_t>(std::popcount(word));
  return count;
}

}  // namespace

ObjectRules::ObjectRules(const grammar::Object& node, std::vector<bool> is_possible,
                         std::uint64_t others, CompileBudget& budget)
    : any_order_(node.any_order),
      keeps_set_(node.any_order || !node.dependencies.empty()),
      count_min_(node.count_min),
      count_max_(node.count_max),
      others_(others),
      possible_(std::move(is_possible)) {
  const auto count = static_cast<std::uint32_t>(node.properties.size());
  budget.spend(1 + count);
  if (keeps_set_ && count > kSetPropertiesMax) {
    throw Error(
        ErrorCode::kInvalid,
        cat("is too complex: an object has ", count,
            " properties in any order or with dependencies; the limit is ", kSetPropertiesMax));
  }
  required_.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) required_[i] = node.properties[i].is_required;
  is_broken_ = count_min_ > count_max_;
  if (!node.dependencies.empty()) add_dependencies(node, budget);
  for (std::uint32_t i = 0; i < count; ++i) {
    is_broken_ = is_broken_ || (required_[i] && !possible_[i]);
    if (possible_[i]) names_.push_back({node.properties[i].name, i});
  }
  std::sort(names_.begin(), names_.end(),
            [](const Name& a, const Name& b) { return a.text < b.text; });
  position_.resize(count);
  for (std::uint32_t i = 0; i < names_.size(); ++i) position_[names_[i].property] = i;
  required_from_.resize(count + 1);
  possible_from_.resize(count + 1);
  free_from_.resize(count + 1);
  for (std::uint32_t i = count; i-- > 0;) {
    const bool is_needy = !closures_.empty() && !closures_[i].empty();
    if (is_needy) needy_.push_back(i);
    free_from_[i] = free_from_[i + 1] + (possible_[i] && !is_needy ? 1 : 0);
    required_from_[i] = required_from_[i + 1] + (required_[i] ? 1 : 0);
    possible_from_[i] = possible_from_[i + 1] + (possible_[i] ? 1 : 0);
  }
  const std::uint64_t most = add_saturating(possible_from_[0], others_);
  count_cap_ = count_max_ >= most ? count_min_ : count_max_;
  if (!node.dependencies.empty()) check_cycles(node);
}

/// Makes `required_` and `possible_` closed under dependencies, and fills `closures_`.
void ObjectRules::add_dependencies(const grammar::Object& node, CompileBudget& budget) {
  const std::size_t count = possible_.size();
  std::vector<std::vector<std::uint32_t>> needs(count);
  for (const auto& [a, b] : node.dependencies) needs[a].push_back(b);
  closures_.resize(count);
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (needs[i].empty()) continue;
    Bits& closure = closures_[i];
    budget.spend(set_words());
    closure.assign(set_words(), 0);
    put(closure, i);
    open.assign(1, i);
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      budget.spend(1 + needs[at].size());
      if (!possible_[at]) possible_[i] = false;
      if (required_[i]) required_[at] = true;
      for (const std::uint32_t next : needs[at]) {
        if (has(closure, next)) continue;
        put(closure, next);
        open.push_back(next);
      }
    }
  }
  // A property that became impossible above takes along those before it.
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t j = 0; !closures_[i].empty() && j < count; ++j) {
      if (!has(closures_[i], j)) continue;
      if (!possible_[j]) possible_[i] = false;
      if (required_[i]) required_[j] = true;
    }
    budget.spend(closures_[i].empty() ? 1 : count);
  }
}

/// Groups of properties that need each other come all or none, so that not all counts can be
/// reached.
void ObjectRules::check_cycles(const grammar::Object& node) const {
  bool has_cycle = false;
  for (const auto& [a, b] : node.dependencies) {
    has_cycle =
        has_cycle || (a != b && possible_[a] && !closures_[b].empty() && has(closures_[b], a));
  }
  const bool bounds_meet = count_min_ > required_from_[0] && others_ != TextDfa::kInfinite &&
                           count_max_ < add_saturating(possible_from_[0], others_);
  if (has_cycle && bounds_meet) {
    throw Error(ErrorCode::kInvalid,
                "has properties that depend on each other and a lower and upper bound of their "
                "number: use one of them");
  }
}

/// Returns the properties that must still come because of `taken`.
ObjectRules::Bits ObjectRules::obligations(const Bits& taken) const {
  Bits bits(taken.size());
  for (std::uint32_t i = 0; i < possible_.size(); ++i) {
    if (required_[i]) put(bits, i);
  }
  for (const std::uint32_t i : needy_) {
    if (!has(taken, i)) continue;
    for (std::size_t w = 0; w < bits.size(); ++w) bits[w] |= closures_[i][w];
  }
  for (std::size_t w = 0; w < bits.size(); ++w) bits[w] &= ~taken[w];
  return bits;
}

/// Sets `first_due` of each property that may still come and needs others: the first of them, in
/// declared order, that is not taken. Counts the properties that may come, from `next` on.
ObjectRules::Outlook ObjectRules::outlook(std::uint32_t next, const Bits& taken) const {
  const auto count = static_cast<std::uint32_t>(possible_.size());
  Outlook found;
  if (any_order_) {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (possible_[i] && !has(taken, i)) ++found.most;
    }
    return found;
  }
  found.first_due.resize(count);
  found.needy_from.resize(count + 1);
  for (const std::uint32_t i : needy_) {
    if (i < next || !possible_[i]) continue;
    const std::uint32_t due = first_missing(closures_[i], taken);
    found.first_due[i] = due;
    if (due >= next) ++found.needy_from[due];
  }
  for (std::uint32_t i = count; i-- > 0;) found.needy_from[i] += found.needy_from[i + 1];
  found.most = free_from_[next] + found.needy_from[next];
  return found;
}

/// The numbers of properties that must and can follow `property`, the next one.
ObjectRules::Rest ObjectRules::rest_behind(std::uint32_t property, const Bits& taken,
                                           const Bits& must, const Outlook& now) const {
  if (!keeps_set_) return {required_from_[property + 1], possible_from_[property + 1]};
  Rest rest{now.least - (has(must, property) ? 1 : 0), 0};
  const bool is_needy = !closures_.empty() && !closures_[property].empty();
  if (is_needy) {
    const Bits& closure = closures_[property];
    std::uint64_t more = 0;
    for (std::size_t w = 0; w < closure.size(); ++w) {
      more += static_cast<std::uint64_t>(std::popcount(closure[w] & ~must[w] & ~taken[w]));
    }
    rest.least += more - (has(must, property) ? 0 : 1);  // the closure has the property itself
  }
  if (any_order_) {
    rest.most = now.most - 1;
  } else {
    // Needy properties follow if their first due property is this one, or a later one.
    rest.most = free_from_[property + 1] + now.needy_from[property] - (is_needy ? 1 : 0);
  }
  return rest;
}

/// Whether some number of further properties ends within the bounds. All numbers from `rest.least`
/// to `rest.most` and `others` more can be reached, because dependencies have no cycles.
bool ObjectRules::fits(std::uint64_t count, Rest rest, std::uint64_t others) const {
  return count + rest.least <= count_max_ &&
         add_saturating(add_saturating(count, rest.most), others) >= count_min_;
}

ObjectChoices ObjectRules::choices(const ObjectState& state) const {
  ObjectChoices found;
  const std::uint64_t others =
      others_ == TextDfa::kInfinite ? others_ : others_ - std::min(others_, state.others);
  const Bits taken(state.taken.begin(), state.taken.end());
  const Bits must = keeps_set_ ? obligations(taken) : Bits{};
  Outlook now;
  if (keeps_set_) now = outlook(state.next, taken);
  now.least = keeps_set_ ? size_of(must) : required_from_[state.next];
  std::vector<std::uint8_t> is_allowed(names_.size(), 0);
  const std::uint32_t begin = any_order_ ? 0 : state.next;
  for (std::uint32_t i = begin; i < possible_.size() && !is_broken_; ++i) {
    if (may_take(i, taken, now) &&
        fits(state.count + 1, rest_behind(i, taken, must, now), others)) {
      is_allowed[position_[i]] = 1;
    }
    const bool is_due = keeps_set_ ? has(must, i) : static_cast<bool>(required_[i]);
    if (is_due && !any_order_) break;
  }
  found.names_before.resize(names_.size() + 1);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    found.names_before[i + 1] = found.names_before[i] + is_allowed[i];
  }
  if (is_broken_) return found;
  found.can_close = now.least == 0 && state.count >= count_min_ && state.count <= count_max_;
  const Rest behind = any_order_ ? Rest{now.least, now.most} : Rest{};
  const std::uint64_t others_left =
      others == TextDfa::kInfinite ? others : others - std::min<std::uint64_t>(others, 1);
  found.can_take_other =
      others > 0 && (any_order_ || now.least == 0) && fits(state.count + 1, behind, others_left);
  return found;
}

/// Whether a property can be the next one, if the counts fit. In declared order, what it needs may
/// not be among the properties that it passes over.
bool ObjectRules::may_take(std::uint32_t property, const Bits& taken, const Outlook& now) const {
  if (!possible_[property]) return false;
  if (any_order_) return !has(taken, property);
  if (closures_.empty() || closures_[property].empty()) return true;
  return now.first_due[property] == property;
}

bool ObjectRules::is_feasible() const {
  const Bits none(set_words());
  const ObjectChoices first = choices({.taken = none});
  return first.can_close || first.can_go_on();
}

}  // namespace ingot::match
