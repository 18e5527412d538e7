// UniqueItems: counts the distinct values that the items of an array without repetition can have.
#include "constraint/match/unique_items.h"

#include <algorithm>
#include <utility>

namespace ingot::match {
namespace {

void unite(std::optional<TextDfa>& all, const TextDfa& more, CompileBudget& budget) {
  all = all.has_value() ? all->united(more, budget) : more;
}

[[noreturn]] void refuse() {
  throw Error(ErrorCode::kInvalid,
              "has an array of unique items that are not strings or other plain values");
}

bool accepts(const TextDfa& language, std::u32string_view text) {
  std::int32_t state = language.is_empty() ? TextDfa::kDead : TextDfa::start();
  for (std::size_t i = 0; i < text.size() && state != TextDfa::kDead; ++i) {
    state = language.step(state, text[i]);
  }
  return state != TextDfa::kDead && language.accepts(state);
}

std::uint64_t texts_of(const std::optional<TextDfa>& language) {
  const bool has_some = language.has_value() && !language->is_empty();
  return has_some ? language->count(TextDfa::start()) : 0;
}

}  // namespace

ItemValues::ItemValues(const Grammar& grammar, NodeId node, CompileBudget& budget) {
  std::vector<NodeId> open;
  if (node != kNoNode) open.push_back(node);
  while (!open.empty()) {
    const GrammarNode& at = grammar.node(open.back());
    open.pop_back();
    budget.spend(1);
    if (const auto* choice = std::get_if<grammar::Choice>(&at)) {
      budget.spend(choice->alternatives.size());
      open.insert(open.end(), choice->alternatives.begin(), choice->alternatives.end());
    } else if (const auto* terminal = std::get_if<grammar::Terminal>(&at)) {
      unite(raw_, grammar.language(terminal->language), budget);
    } else if (const auto* string = std::get_if<grammar::String>(&at)) {
      if (string->length_min != 0 || string->length_max != kUnlimited) refuse();
      if (string->language == grammar::String::kAny) {
        has_any_ = true;
      } else {
        unite(decoded_, grammar.language(string->language), budget);
      }
    } else {
      refuse();
    }
  }
  const std::uint64_t raw = texts_of(raw_), decoded = texts_of(decoded_);
  const bool is_infinite = has_any_ || raw > TextDfa::kInfinite - decoded;
  count_ = is_infinite ? TextDfa::kInfinite : raw + decoded;
}

bool ItemValues::contains(std::u32string_view value) const {
  if (raw_.has_value() && accepts(*raw_, value)) return true;
  if (value.size() < 2 || value.front() != U'"' || value.back() != U'"') return false;
  return has_any_ ||
         (decoded_.has_value() && accepts(*decoded_, value.substr(1, value.size() - 2)));
}

bool ItemValues::meets(const ItemValues& other, CompileBudget& budget) const {
  const auto meet = [&](const std::optional<TextDfa>& a, const std::optional<TextDfa>& b) {
    return a.has_value() && b.has_value() && !a->intersected(*b, budget).is_empty();
  };
  const bool has_strings = has_any_ || texts_of(decoded_) > 0;
  const bool others_has_strings = other.has_any_ || texts_of(other.decoded_) > 0;
  if ((has_any_ && others_has_strings) || (other.has_any_ && has_strings)) return true;
  return meet(raw_, other.raw_) || meet(decoded_, other.decoded_);
}

UniqueItems find_unique_items(const Grammar& grammar, const grammar::Array& node,
                              CompileBudget& budget) {
  UniqueItems found;
  found.plain.emplace(grammar, node.rest.value, budget);
  found.counted.emplace(grammar, node.rest.counted, budget);
  found.is_pool = node.first.empty();
  if (found.is_pool) return found;
  // An item surely has a value left if it has more values than items before it that may share them.
  std::vector<std::pair<ItemValues, std::size_t>> before;  // with the item's position
  const auto sure_values = [&](const ItemValues& values) -> std::uint64_t {
    if (values.count() == TextDfa::kInfinite || values.count() == 0) return TextDfa::kInfinite;
    std::uint64_t shared = 0;
    std::size_t last = before.size();  // the two kinds of one item count once
    for (const auto& [other, position] : before) {
      if (position == last || !values.meets(other, budget)) continue;
      ++shared;
      last = position;
    }
    return values.count() - std::min(values.count(), shared);
  };
  const std::size_t size =
      static_cast<std::size_t>(std::min<std::uint64_t>(node.first.size(), node.count_max));
  for (std::size_t i = 0; i < size; ++i) {
    ItemValues plain(grammar, node.first[i].value, budget);
    ItemValues counted(grammar, node.first[i].counted, budget);
    if (sure_values(plain) == 0 || sure_values(counted) == 0) {
      found.count_max = i;
      found.is_narrower = true;
      return found;
    }
    before.emplace_back(std::move(plain), i);
    before.emplace_back(std::move(counted), i);
  }
  // Later items share their values with each other, too.
  const bool has_one_kind = found.plain->count() == 0 || found.counted->count() == 0;
  for (const auto* rest : {&*found.plain, &*found.counted}) {
    const std::uint64_t sure = sure_values(*rest);
    if (sure == TextDfa::kInfinite || node.first.size() + sure >= node.count_max) continue;
    found.count_max = std::min<std::uint64_t>(found.count_max, node.first.size() + sure);
    // All of them come only if no other item can take one.
    found.is_narrower = found.is_narrower || !has_one_kind || sure != rest->count();
  }
  return found;
}

}  // namespace ingot::match
