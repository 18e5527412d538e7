// Obligations: what lookaheads demand of the rest of a text, while a pattern becomes deterministic.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "constraint/language/class_dfa.h"
#include "constraint/language/state_tuple.h"
#include "constraint/language/text_dfa.h"

namespace ingot {

/// The steps of an automaton over the classes of a finer alphabet.
class ClassSteps {
 public:
  ClassSteps(const TextDfa& dfa, const Alphabet& alphabet, CompileBudget& budget);
  std::int32_t step(std::int32_t state, std::int32_t on) const {
    return next_[static_cast<std::size_t>(state) * classes_ + static_cast<std::size_t>(on)];
  }

 private:
  std::size_t classes_ = 0;
  std::vector<std::int32_t> next_;  ///< [states][classes_]
};

/// Sets of languages' states, by number: the rest of a text has to be accepted from each state.
class Obligations {
 public:
  static constexpr std::int32_t kNone = 0;     ///< the empty set: every rest will do
  static constexpr std::int32_t kBroken = -1;  ///< no rest will do

  /// `languages` and `alphabet` must outlive the object.
  Obligations(const std::vector<TextDfa>& languages, const Alphabet& alphabet,
              CompileBudget& budget);

  /// Returns the set with the start of a language in addition.
  std::int32_t with_start(std::int32_t set, std::size_t language);
  /// Returns the set after a code point of class `on`.
  std::int32_t step(std::int32_t set, std::int32_t on);
  /// Returns whether the rest may be empty.
  bool is_met_at_end(std::int32_t set) const;
  /// Returns whether `a` demands no more than `b`.
  bool is_subset(std::int32_t a, std::int32_t b) const;

 private:
  /// Returns the number of a set of {language, state} pairs, which it sorts and simplifies.
  std::int32_t number(std::vector<std::pair<std::int32_t, std::int32_t>> pairs);
  bool is_always_met(std::int32_t language, std::int32_t state) const;

  const std::vector<TextDfa>& languages_;
  CompileBudget& budget_;
  std::vector<ClassSteps> steps_;
  std::vector<StateTuple> sets_;  ///< language, state, language, state, ...
  std::unordered_map<StateTuple, std::int32_t, StateTupleHash> numbers_;
  std::unordered_map<std::uint64_t, std::int32_t> known_steps_;
};

}  // namespace ingot
