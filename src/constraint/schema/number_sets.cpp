// Operations on NumberSet: bounds, values and languages.
#include "constraint/schema/number_sets.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace ingot::schema {
namespace {

bool contains(const std::vector<Decimal>& list, const Decimal& value) {
  return std::any_of(list.begin(), list.end(),
                     [&](const Decimal& entry) { return is_equal(entry, value); });
}

bool is_integer(const Decimal& value) { return value.is_zero() || value.exponent >= 0; }

bool is_within(const NumberBounds& bounds, const Decimal& value) {
  if (bounds.low.has_value()) {
    const int order = compare(value, *bounds.low);
    if (order < 0 || (order == 0 && bounds.excludes_low)) return false;
  }
  if (bounds.high.has_value()) {
    const int order = compare(value, *bounds.high);
    if (order > 0 || (order == 0 && bounds.excludes_high)) return false;
  }
  return !bounds.is_integer || is_integer(value);
}

/// Returns whether `divisor` divides `value`.
bool divides(const Decimal& divisor, const Decimal& value, CompileBudget& budget) {
  if (value.is_zero()) return true;
  const std::int64_t zeros = value.exponent - divisor.exponent;
  if (zeros < 0) return false;  // the digits of the value have no trailing zeros
  std::uint64_t digits = 0;
  const char* end = divisor.digits.data() + divisor.digits.size();
  const auto read = std::from_chars(divisor.digits.data(), end, digits);
  constexpr std::uint64_t kDigitsMax = 1'000'000'000'000'000'000;  // ten times it is no overflow
  if (read.ec == std::errc() && digits > 0 && digits < kDigitsMax) {
    budget.spend(value.digits.size() + static_cast<std::uint64_t>(zeros));
    std::uint64_t rest = 0;
    const auto add = [&](char c) { rest = (rest * 10 + static_cast<unsigned>(c - '0')) % digits; };
    for (const char c : value.digits) add(c);
    for (std::int64_t i = 0; i < zeros; ++i) add('0');
    return rest == 0;
  }
  // The value alone has a spelling.
  const NumberBounds bounds = {
      .low = value, .high = value, .divisors = {divisor}, .one_spelling = true};
  return !number_language(bounds, budget).is_empty();
}

void tighten(NumberBounds& a, const NumberBounds& b) {
  if (b.low.has_value()) {
    const int order = a.low.has_value() ? compare(*b.low, *a.low) : 1;
    if (order > 0) a.low = b.low;
    if (order >= 0) a.excludes_low = order > 0 ? b.excludes_low : a.excludes_low || b.excludes_low;
  }
  if (b.high.has_value()) {
    const int order = a.high.has_value() ? compare(*b.high, *a.high) : -1;
    if (order < 0) a.high = b.high;
    if (order <= 0) {
      a.excludes_high = order < 0 ? b.excludes_high : a.excludes_high || b.excludes_high;
    }
  }
  a.is_integer = a.is_integer || b.is_integer;
  for (const Decimal& divisor : b.divisors) {
    if (!contains(a.divisors, divisor)) a.divisors.push_back(divisor);
  }
}

/// Moves the only number within bounds into the list of values.
void move_only_value(NumberSet& set) {
  const NumberBounds& bounds = set.bounds;
  if (set.allowed.has_value() || !bounds.low.has_value() || !bounds.high.has_value()) return;
  if (bounds.excludes_low || bounds.excludes_high || !is_equal(*bounds.low, *bounds.high)) return;
  set.allowed = {*bounds.low};
}

/// Moves the restrictions into the list of values, if there is one.
void filter_allowed(NumberSet& set, CompileBudget& budget) {
  if (!set.allowed.has_value()) return;
  std::vector<Decimal> kept;
  for (const Decimal& value : *set.allowed) {
    budget.spend();
    bool is_kept = is_within(set.bounds, value) && !contains(set.excluded, value) &&
                   !(set.is_fraction && is_integer(value));
    for (const Decimal& d : set.bounds.divisors) is_kept = is_kept && divides(d, value, budget);
    for (const Decimal& d : set.non_divisors) is_kept = is_kept && !divides(d, value, budget);
    if (is_kept) kept.push_back(value);
  }
  // An integer of draft 4 has no fraction, also none of zeros.
  set = {.bounds = {.is_integer = set.bounds.is_integer},
         .allowed = std::move(kept),
         .source = set.source};
}

bool is_empty(const NumberSet& set) {
  if (set.allowed.has_value()) return set.allowed->empty();
  if (set.is_fraction && set.bounds.is_integer) return true;
  if (!set.bounds.low.has_value() || !set.bounds.high.has_value()) return false;
  const int order = compare(*set.bounds.low, *set.bounds.high);
  return order > 0 || (order == 0 && (set.bounds.excludes_low || set.bounds.excludes_high ||
                                      !is_within(set.bounds, *set.bounds.low) ||
                                      contains(set.excluded, *set.bounds.low)));
}

}  // namespace

Decimal decimal_of(const Json& number) {
  if (number.as_double() == nullptr) return parse_decimal(number.dump());
  Decimal value = to_decimal(*number.as_double());
  value.written = number.dump();
  return value;
}

std::optional<NumberSet> intersected(const NumberSet& a, const NumberSet& b,
                                     CompileBudget& budget) {
  budget.spend(1 + a.excluded.size() + b.excluded.size());
  NumberSet set = a;
  if (set.source.schema == kNoSchema) set.source = b.source;
  tighten(set.bounds, b.bounds);
  set.is_fraction = a.is_fraction || b.is_fraction;
  for (const Decimal& d : b.non_divisors) {
    if (!contains(set.non_divisors, d)) set.non_divisors.push_back(d);
  }
  for (const Decimal& value : b.excluded) {
    if (!contains(set.excluded, value)) set.excluded.push_back(value);
  }
  if (a.allowed.has_value() && b.allowed.has_value()) {
    std::vector<Decimal> common;
    for (const Decimal& value : *a.allowed) {
      budget.spend(b.allowed->size());
      if (contains(*b.allowed, value)) common.push_back(value);
    }
    set.allowed = std::move(common);
  } else if (b.allowed.has_value()) {
    set.allowed = b.allowed;
  }
  move_only_value(set);
  filter_allowed(set, budget);
  if (is_empty(set)) return std::nullopt;
  return set;
}

bool unite_values(NumberSet& a, const NumberSet& b, CompileBudget& budget) {
  const auto is_list = [](const NumberSet& set) {
    return set.allowed.has_value() && set.excluded.empty() && set.non_divisors.empty() &&
           set.bounds.divisors.empty() && !set.bounds.low && !set.bounds.high && !set.is_fraction;
  };
  if (!is_list(a) || !is_list(b) || a.bounds.is_integer != b.bounds.is_integer) return false;
  budget.spend(b.allowed->size());
  a.allowed->insert(a.allowed->end(), b.allowed->begin(), b.allowed->end());
  return true;
}

void remove_repeated_values(NumberSet& set, CompileBudget& budget) {
  if (!set.allowed.has_value()) return;
  budget.spend(set.allowed->size());
  std::sort(set.allowed->begin(), set.allowed->end(), [](const Decimal& a, const Decimal& b) {
    const int order = compare(a, b);
    return order != 0 ? order < 0 : a.written < b.written;
  });
  const auto is_same = [](const Decimal& a, const Decimal& b) {
    return is_equal(a, b) && a.written == b.written;
  };
  set.allowed->erase(std::unique(set.allowed->begin(), set.allowed->end(), is_same),
                     set.allowed->end());
}

std::vector<NumberSet> complement(const NumberSet& set) {
  std::vector<NumberSet> out;
  if (set.allowed.has_value()) {
    out.push_back({.excluded = *set.allowed, .source = set.source});
    return out;
  }
  const NumberBounds& bounds = set.bounds;
  const auto add = [&](NumberSet part) {
    part.source = set.source;
    out.push_back(std::move(part));
  };
  if (bounds.low.has_value()) {
    add({.bounds = {.high = bounds.low, .excludes_high = !bounds.excludes_low}});
  }
  if (bounds.high.has_value()) {
    add({.bounds = {.low = bounds.high, .excludes_low = !bounds.excludes_high}});
  }
  if (bounds.is_integer) add({.is_fraction = true});
  if (set.is_fraction) add({.bounds = {.is_integer = true}});
  for (const Decimal& divisor : bounds.divisors) add({.non_divisors = {divisor}});
  for (const Decimal& divisor : set.non_divisors) add({.bounds = {.divisors = {divisor}}});
  if (!set.excluded.empty()) add({.allowed = set.excluded});
  return out;
}

bool is_everything(const NumberSet& set) {
  return !set.bounds.low && !set.bounds.high && !set.bounds.is_integer &&
         set.bounds.divisors.empty() && !set.is_fraction && set.non_divisors.empty() &&
         !set.allowed && set.excluded.empty();
}

namespace {

/// Returns the spellings of listed values: the plain ones, and those of the schema.
TextDfa spellings_of(const NumberSet& set, bool one_spelling, CompileBudget& budget) {
  std::vector<std::string> texts;
  for (const Decimal& value : *set.allowed) {
    texts.push_back(plain_spelling(value));
    if (!one_spelling && !set.bounds.is_integer && !value.written.empty()) {
      texts.push_back(value.written);
    }
  }
  return TextDfa::any_of(texts, budget);
}

/// Returns the spellings of the numbers within bounds.
TextDfa within_bounds(const NumberBounds& bounds, CompileBudget& budget) {
  if (bounds.one_spelling || !is_everything({.bounds = bounds})) {
    return number_language(bounds, budget);
  }
  // Almost every schema needs this language.
  static const TextDfa any_number = [] {
    CompileBudget own;
    return number_language({}, own);
  }();
  return any_number;
}

/// Returns all spellings of the excluded values within `bounds`.
TextDfa excluded_spellings(const NumberSet& set, const NumberBounds& bounds,
                           CompileBudget& budget) {
  std::vector<TextDfa> parts;
  for (const Decimal& value : set.excluded) {
    budget.spend();
    if (!is_within(bounds, value)) continue;
    const NumberBounds equal = {
        .low = value, .high = value, .one_spelling = bounds.one_spelling, .has_any_length = true};
    parts.push_back(number_language(equal, budget));
  }
  // In pairs: each state is joined as often as a list of values can be halved.
  for (; parts.size() > 1; parts.resize((parts.size() + 1) / 2)) {
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
      parts[i / 2] = parts[i].united(parts[i + 1], budget);
    }
    if (parts.size() % 2 != 0) parts[parts.size() / 2] = std::move(parts.back());
  }
  return parts.empty() ? TextDfa() : std::move(parts[0]);
}

}  // namespace

TextDfa language_of(const NumberSet& set, bool one_spelling, CompileBudget& budget) {
  if (set.allowed.has_value()) return spellings_of(set, one_spelling, budget);
  const bool takes_away = set.is_fraction || !set.non_divisors.empty();
  NumberBounds bounds = set.bounds;
  bounds.one_spelling = one_spelling || takes_away;
  TextDfa result = within_bounds(bounds, budget);
  if (!set.excluded.empty()) {
    result = result.without_texts_of(excluded_spellings(set, bounds, budget), budget);
  }
  if (set.is_fraction) {
    const NumberBounds integers = {
        .is_integer = true, .one_spelling = true, .has_any_length = true};
    result = result.without_texts_of(number_language(integers, budget), budget);
  }
  for (const Decimal& divisor : set.non_divisors) {
    const NumberBounds multiples = {
        .divisors = {divisor}, .one_spelling = true, .has_any_length = true};
    result = result.without_texts_of(number_language(multiples, budget), budget);
  }
  return result;
}

}  // namespace ingot::schema
