// Operations on NumberSet: the numbers that a schema allows.
#pragma once

#include <optional>
#include <vector>

#include "constraint/schema/shape.h"
#include "load/json.h"

namespace ingot::schema {

/// Returns the exact value of a JSON number.
Decimal decimal_of(const Json& number);
inline bool is_equal(const Decimal& a, const Decimal& b) { return compare(a, b) == 0; }

/// Returns the numbers in both sets; nothing if there are obviously none.
std::optional<NumberSet> intersected(const NumberSet& a, const NumberSet& b, CompileBudget& budget);
/// Adds the listed values of `b` to those of `a`; returns false if one of them is not a plain list.
bool unite_values(NumberSet& a, const NumberSet& b, CompileBudget& budget);
/// Sorts listed values, and leaves each spelling once.
void remove_repeated_values(NumberSet& set, CompileBudget& budget);
/// Returns sets that together hold all numbers that are not in `set`.
std::vector<NumberSet> complement(const NumberSet& set);
/// Returns whether the set has every number.
bool is_everything(const NumberSet& set);
/// Returns the JSON spellings of the set's numbers. `one_spelling` as in NumberBounds.
///
/// Errors: those of number_language.
TextDfa language_of(const NumberSet& set, bool one_spelling, CompileBudget& budget);

}  // namespace ingot::schema
