// Obligations: what lookaheads demand of the rest of a text, while a pattern becomes deterministic.
#include "constraint/language/obligations.h"

#include <algorithm>
#include <utility>

#include "base/index.h"

namespace ingot {

ClassSteps::ClassSteps(const TextDfa& dfa, const Alphabet& alphabet, CompileBudget& budget)
    : classes_(to_size(alphabet.size())) {
  const std::vector<char32_t> representatives = alphabet.representatives();
  budget.spend(to_size(dfa.size()) * (1 + classes_ / 4));
  next_.reserve(to_size(dfa.size()) * classes_);
  for (std::int32_t state = 0; state < dfa.size(); ++state) {
    for (const char32_t c : representatives) next_.push_back(dfa.step(state, c));
  }
}

Obligations::Obligations(const std::vector<TextDfa>& languages, const Alphabet& alphabet,
                         CompileBudget& budget)
    : languages_(languages), budget_(budget) {
  for (const TextDfa& language : languages) steps_.emplace_back(language, alphabet, budget);
  number({});
}

std::int32_t Obligations::with_start(std::int32_t set, std::size_t language) {
  if (languages_[language].is_empty()) return kBroken;
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  const StateTuple& states = at(sets_, set);
  for (std::size_t i = 0; i < states.size(); i += 2) pairs.emplace_back(states[i], states[i + 1]);
  pairs.emplace_back(static_cast<std::int32_t>(language), TextDfa::start());
  return number(std::move(pairs));
}

std::int32_t Obligations::step(std::int32_t set, std::int32_t on) {
  if (set == kNone) return kNone;
  const std::uint64_t key =
      std::uint64_t{static_cast<std::uint32_t>(set)} << 32 | static_cast<std::uint32_t>(on);
  const auto known = known_steps_.find(key);
  if (known != known_steps_.end()) return known->second;
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  const StateTuple& states = at(sets_, set);
  budget_.spend(states.size());
  std::int32_t result = kBroken;
  for (std::size_t i = 0; i < states.size(); i += 2) {
    const std::int32_t next = at(steps_, states[i]).step(states[i + 1], on);
    if (next == TextDfa::kDead) break;
    pairs.emplace_back(states[i], next);
  }
  if (2 * pairs.size() == states.size()) result = number(std::move(pairs));
  known_steps_.emplace(key, result);
  return result;
}

bool Obligations::is_met_at_end(std::int32_t set) const {
  const StateTuple& states = at(sets_, set);
  for (std::size_t i = 0; i < states.size(); i += 2) {
    if (!at(languages_, states[i]).accepts(states[i + 1])) return false;
  }
  return true;
}

bool Obligations::is_subset(std::int32_t a, std::int32_t b) const {
  const StateTuple& more = at(sets_, b);
  const StateTuple& less = at(sets_, a);
  std::size_t next = 0;
  for (std::size_t i = 0; i < less.size(); i += 2) {
    while (next < more.size() && (more[next] != less[i] || more[next + 1] != less[i + 1])) {
      next += 2;
    }
    if (next == more.size()) return false;
  }
  return true;
}

std::int32_t Obligations::number(std::vector<std::pair<std::int32_t, std::int32_t>> pairs) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  StateTuple states;
  for (const auto& [language, state] : pairs) {
    if (is_always_met(language, state)) continue;
    states.push_back(language);
    states.push_back(state);
  }
  const auto [found, is_new] =
      numbers_.try_emplace(std::move(states), static_cast<std::int32_t>(sets_.size()));
  if (is_new) {
    budget_.spend(1 + found->first.size());
    sets_.push_back(found->first);
  }
  return found->second;
}

/// Returns whether every rest is accepted. A minimal automaton then stays in the state, on both
/// sides of the surrogates.
bool Obligations::is_always_met(std::int32_t language, std::int32_t state) const {
  const TextDfa& dfa = at(languages_, language);
  const std::span<const TextDfa::Arc> arcs = dfa.arcs(state);
  return dfa.accepts(state) && arcs.size() == 2 && arcs[0].to == state && arcs[1].to == state &&
         arcs[0].on == CodePoints::all().ranges()[0] && arcs[1].on == CodePoints::all().ranges()[1];
}

}  // namespace ingot
