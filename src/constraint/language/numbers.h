// Number languages: the spellings of JSON numbers within bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "constraint/language/text_dfa.h"

namespace ingot {

/// An exact decimal number: digits * 10^exponent.
struct Decimal {
  bool is_negative = false;
  std::string digits = "0";  ///< without leading zeros, "0" for zero; no trailing zeros
  std::int64_t exponent = 0;
  std::string written{};  ///< another spelling that a schema uses, such as "1.0"; may be empty

  bool is_zero() const { return digits == "0"; }
};
/// Reads a JSON number. Errors: Error{kInvalid} if the exponent is beyond +-10000.
Decimal parse_decimal(std::string_view json_number);
/// Returns the plain spelling: neither exponent nor needless zeros.
std::string plain_spelling(const Decimal& value);
/// Returns the shortest decimal that reads back as `value` (finite).
Decimal to_decimal(double value);
/// Returns <0, 0 or >0.
int compare(const Decimal& a, const Decimal& b);

/// What a JSON Schema says of a number.
struct NumberBounds {
  std::optional<Decimal> low{};
  bool excludes_low = false;
  std::optional<Decimal> high{};
  bool excludes_high = false;
  bool is_integer = false;
  /// Each of these must divide the number.
  std::vector<Decimal> divisors{};
  /// True: each value has one spelling (no exponent, no trailing zero of a fraction, no -0), so
  /// that texts can be compared instead of values.
  bool one_spelling = false;
  /// True: any number of digits, so that the language can be taken away from another.
  bool has_any_length = false;
};

/// Limits on the digits of a number before the point and behind it. A model that repeats a digit
/// ends there. Bounds and divisors with more digits raise the limits. Beside divisors, the limit
/// before the point is lower, because their automata are large.
inline constexpr std::size_t kWholeDigitsMax = 309;
inline constexpr std::size_t kFractionDigitsMax = 25;
inline constexpr std::size_t kWholeDigitsWithDivisors = 25;

/// Returns the JSON spellings of the numbers within `bounds`; empty if there are none. Every
/// value's plain decimal spelling is in it, unless it is too long, and the spelling with an
/// exponent that common writers use for large and small doubles: 1e+22, 1.5e-07, with or without
/// sign and leading zero of the exponent. Integers have neither fraction nor exponent. The
/// magnitude of numbers with an exponent stays within a double's range. `low` and `high` themselves
/// are compared exactly.
///
/// Errors: those of TextDfa; Error{kInvalid} for a divisor that needs more than kStatesMax states.
TextDfa number_language(const NumberBounds& bounds, CompileBudget& budget);

}  // namespace ingot
