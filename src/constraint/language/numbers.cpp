// Number languages: the spellings of JSON numbers within bounds.
#include "constraint/language/numbers.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "base/index.h"
#include "base/text.h"
#include "constraint/language/pattern.h"
#include "constraint/language/state_tuple.h"

namespace ingot {
namespace {

using Arc = TextDfa::Arc;
using State = TextDfa::State;

constexpr std::int64_t kExponentMax = 10'000;

/// Bounds of the magnitude of a number.
struct Magnitudes {
  std::optional<Decimal> low{};
  bool excludes_low = false;
  std::optional<Decimal> high{};
  bool excludes_high = false;
};

/// Which results of a comparison with a bound are kept.
struct Kept {
  bool less = false;
  bool equal = false;
  bool greater = false;
};

/// The decimal spelling of a magnitude, cut at the point.
struct Spelling {
  std::string whole;
  std::string fraction;
};

Spelling spelled(const Decimal& value) {
  if (value.exponent >= 0) return {value.digits + std::string(to_size(value.exponent), '0'), ""};
  const std::size_t places = to_size(-value.exponent);
  const std::size_t digits = value.digits.size();
  if (places < digits) {
    return {value.digits.substr(0, digits - places), value.digits.substr(digits - places)};
  }
  return {"0", std::string(places - digits, '0') + value.digits};
}

Arc digit_arc(int digit, std::size_t to) {
  const auto c = static_cast<char32_t>('0' + digit);
  return {{c, c}, static_cast<std::int32_t>(to)};
}

void add_digit_arcs(State& state, std::size_t less, std::size_t equal, std::size_t greater,
                    char pivot) {
  for (int digit = 0; digit < 10; ++digit) {
    const int order = digit - (pivot - '0');
    state.arcs.push_back(digit_arc(digit, order < 0 ? less : order > 0 ? greater : equal));
  }
}

/// Compares unsigned decimal spellings without needless leading zeros with a bound, digit by digit.
class Comparison {
 public:
  Comparison(const Decimal& bound, Kept kept) : bound_(spelled(bound)), kept_(kept) {}

  TextDfa language(CompileBudget& budget) {
    budget.spend(bound_.whole.size() + bound_.fraction.size());
    states_.resize(equal_fraction(bound_.fraction.size()) + 1);
    for (std::size_t i = 0; i <= bound_.whole.size(); ++i) add_whole_states(i);
    add_digit_arcs(states_[longer()], longer(), longer(), longer(), '0');
    finish_whole(longer(), kept_.greater, greater_fraction());
    add_digit_arcs(states_[less_fraction()], less_fraction(), less_fraction(), less_fraction(),
                   '0');
    states_[less_fraction()].accepts = kept_.less;
    add_digit_arcs(states_[greater_fraction()], greater_fraction(), greater_fraction(),
                   greater_fraction(), '0');
    states_[greater_fraction()].accepts = kept_.greater;
    for (std::size_t i = 0; i <= bound_.fraction.size(); ++i) add_fraction_state(i);
    return TextDfa(std::move(states_), budget);
  }

 private:
  enum Order : std::size_t { kEqual, kLess, kGreater };

  // The numbers of the states: in the whole part after `digits` digits, with their order; in the
  // whole part with more digits than the bound; in the fraction.
  std::size_t whole(std::size_t digits, Order order) const { return 3 * digits + order; }
  std::size_t longer() const { return 3 * (bound_.whole.size() + 1); }
  std::size_t less_fraction() const { return longer() + 1; }
  std::size_t greater_fraction() const { return longer() + 2; }
  std::size_t equal_fraction(std::size_t digits) const { return longer() + 3 + digits; }

  void finish_whole(std::size_t state, bool accepts, std::size_t fraction) {
    states_[state].accepts = accepts;
    states_[state].arcs.push_back({{'.', '.'}, static_cast<std::int32_t>(fraction)});
  }

  void add_whole_states(std::size_t i) {
    const std::size_t less = whole(i, kLess);
    const std::size_t equal = whole(i, kEqual);
    const std::size_t greater = whole(i, kGreater);
    if (i == bound_.whole.size()) {
      for (const std::size_t state : {less, equal, greater}) {
        add_digit_arcs(states_[state], longer(), longer(), longer(), '0');
      }
      finish_whole(less, kept_.less, less_fraction());
      finish_whole(equal, bound_.fraction.empty() ? kept_.equal : kept_.less, equal_fraction(0));
      finish_whole(greater, kept_.greater, greater_fraction());
      return;
    }
    const std::size_t next_less = whole(i + 1, kLess);
    const std::size_t next_greater = whole(i + 1, kGreater);
    add_digit_arcs(states_[less], next_less, next_less, next_less, '0');
    add_digit_arcs(states_[greater], next_greater, next_greater, next_greater, '0');
    add_digit_arcs(states_[equal], next_less, whole(i + 1, kEqual), next_greater, bound_.whole[i]);
    for (const std::size_t state : {less, equal, greater}) {
      finish_whole(state, kept_.less, less_fraction());  // fewer digits than the bound
    }
  }

  void add_fraction_state(std::size_t i) {
    State& state = states_[equal_fraction(i)];
    const bool is_last = i == bound_.fraction.size();
    state.accepts = is_last ? kept_.equal : kept_.less;
    const std::size_t next = equal_fraction(is_last ? i : i + 1);
    add_digit_arcs(state, less_fraction(), next, greater_fraction(),
                   is_last ? '0' : bound_.fraction[i]);
  }

  Spelling bound_;
  Kept kept_;
  std::vector<State> states_;
};

/// Keeps of `language` the spellings within `bounds`.
TextDfa within(TextDfa language, const Magnitudes& bounds, CompileBudget& budget) {
  if (bounds.low) {
    const Kept kept{.equal = !bounds.excludes_low, .greater = true};
    language = language.intersected(Comparison(*bounds.low, kept).language(budget), budget);
  }
  if (bounds.high) {
    const Kept kept{.less = true, .equal = !bounds.excludes_high};
    language = language.intersected(Comparison(*bounds.high, kept).language(budget), budget);
  }
  return language;
}

/// Reads up to `places` digits of a fraction, while it keeps the remainder modulo `divisor` of the
/// digits so far.
class Remainders {
 public:
  Remainders(std::uint64_t divisor, std::size_t places) : divisor_(divisor), places_(places) {}

  /// Returns the unsigned spellings whose value times 10^places is a multiple of the divisor.
  TextDfa language(CompileBudget& budget) {
    budget.spend(divisor_ * (places_ + 2));
    states_.resize(1 + (places_ + 2) * divisor_);
    add_digits(0, 0, kWhole);
    for (std::size_t place = kWhole; place < places_ + 2; ++place) {
      const std::size_t shift = place == kWhole ? places_ : places_ + 1 - place;
      const std::uint64_t scale = power_of_ten(shift);
      for (std::uint64_t rest = 0; rest < divisor_; ++rest) add_state(place, rest, scale);
    }
    return TextDfa(std::move(states_), budget);
  }

 private:
  /// Place 0 is the whole part, place p > 0 follows p - 1 digits of the fraction.
  static constexpr std::size_t kWhole = 0;

  std::size_t number(std::size_t place, std::uint64_t rest) const {
    return 1 + place * divisor_ + rest;
  }
  std::uint64_t power_of_ten(std::size_t exponent) const {
    std::uint64_t power = 1 % divisor_;
    for (std::size_t i = 0; i < exponent; ++i) power = power * 10 % divisor_;
    return power;
  }
  void add_digits(std::size_t state, std::uint64_t rest, std::size_t next_place) {
    for (int digit = 0; digit < 10; ++digit) {
      const std::uint64_t next = (rest * 10 + static_cast<std::uint64_t>(digit)) % divisor_;
      states_[state].arcs.push_back(digit_arc(digit, number(next_place, next)));
    }
  }
  void add_state(std::size_t place, std::uint64_t rest, std::uint64_t scale) {
    const std::size_t state = number(place, rest);
    states_[state].accepts = rest * scale % divisor_ == 0;
    if (place == kWhole) {
      add_digits(state, rest, kWhole);
      const auto fraction = static_cast<std::int32_t>(number(1, rest));
      states_[state].arcs.push_back({{'.', '.'}, fraction});
    } else if (place <= places_) {
      add_digits(state, rest, place + 1);
    } else {
      states_[state].arcs.push_back(digit_arc(0, state));
    }
  }

  std::uint64_t divisor_;
  std::size_t places_;
  std::vector<State> states_;
};

/// Returns the unsigned decimal spellings of the multiples of `divisor`.
TextDfa multiples(const Decimal& divisor, CompileBudget& budget) {
  if (divisor.is_negative || divisor.is_zero()) {
    throw Error(ErrorCode::kInvalid, "has a divisor that is not above 0");
  }
  std::uint64_t digits = 0;
  const char* end = divisor.digits.data() + divisor.digits.size();
  const auto read = std::from_chars(divisor.digits.data(), end, digits);
  const std::size_t places = divisor.exponent < 0 ? to_size(-divisor.exponent) : 0;
  const std::uint64_t limit = kRawStatesMax / 4;
  if (read.ec != std::errc() || digits > limit || digits * (places + 2) > limit) {
    throw Error(ErrorCode::kInvalid,
                cat("is too complex: a divisor needs more than ", TextDfa::kStatesMax, " states"));
  }
  TextDfa language = Remainders(digits, places).language(budget);
  if (divisor.exponent <= 0) return language;
  const std::string zeros = cat("0{", divisor.exponent, R"(}(\.0+)?)");
  const TextDfa whole = compile_pattern(R"(\d+)", Anchoring::kWhole, budget);
  const TextDfa zero = compile_pattern(R"(0(\.0+)?)", Anchoring::kWhole, budget);
  return language.intersected(whole, budget)
      .followed_by(compile_pattern(zeros, Anchoring::kWhole, budget), budget)
      .united(zero, budget);
}

/// How many digits spellings have, at most; kEndless: any number.
struct DigitLimits {
  static constexpr std::size_t kEndless = 0;
  std::size_t whole = kWholeDigitsMax;
  std::size_t fraction = kFractionDigitsMax;
};

/// Returns the digits that decide about bounds and divisors, and at least the usual ones.
DigitLimits digit_limits(const NumberBounds& bounds, const Magnitudes& magnitudes) {
  if (bounds.has_any_length) return {DigitLimits::kEndless, DigitLimits::kEndless};
  DigitLimits limits;
  if (!bounds.divisors.empty()) limits.whole = kWholeDigitsWithDivisors;
  for (const auto& bound : {magnitudes.low, magnitudes.high}) {
    if (!bound) continue;
    const Spelling spelling = spelled(*bound);
    limits.whole = std::max(limits.whole, spelling.whole.size() + 1);
    limits.fraction = std::max(limits.fraction, spelling.fraction.size() + 1);
  }
  if (magnitudes.high) limits.whole = spelled(*magnitudes.high).whole.size();
  for (const Decimal& divisor : bounds.divisors) {
    limits.fraction = std::max(limits.fraction, spelled(divisor).fraction.size());
    limits.whole = std::max(limits.whole, spelled(divisor).whole.size());
  }
  return limits;
}

/// Writes the automaton of unsigned spellings without exponent.
class PlainSpellings {
 public:
  PlainSpellings(const NumberBounds& bounds, DigitLimits limits)
      : bounds_(bounds), limits_(limits) {}

  TextDfa language(CompileBudget& budget) {
    const std::size_t whole = std::max<std::size_t>(limits_.whole, 1);
    const std::size_t fraction = std::max<std::size_t>(limits_.fraction, 1);
    budget.spend(whole + 2 * fraction);
    // State 0 is the start, 1 is "0", then come the digits before the point and behind it.
    const std::size_t point = 2 + whole;
    states_.resize(point + 1 + 2 * fraction);
    add_arc(0, '0', '0', 1);
    add_arc(0, '1', '9', 2);
    end_whole(1, point);
    for (std::size_t i = 0; i < whole; ++i) {
      end_whole(2 + i, point);
      if (i + 1 < whole) add_arc(2 + i, '0', '9', 3 + i);
    }
    if (limits_.whole == DigitLimits::kEndless) add_arc(2, '0', '9', 2);
    if (!bounds_.is_integer) add_fraction(point, fraction);
    return TextDfa(std::move(states_), budget);
  }

 private:
  void add_arc(std::size_t from, char32_t first, char32_t last, std::size_t to) {
    states_[from].arcs.push_back({{first, last}, static_cast<std::int32_t>(to)});
  }
  void end_whole(std::size_t state, std::size_t point) {
    states_[state].accepts = true;
    if (!bounds_.is_integer) add_arc(state, '.', '.', point);
  }
  /// Two states for each number of digits: the last digit is 0, or another one.
  void add_fraction(std::size_t point, std::size_t digits) {
    const auto add_digits = [this](std::size_t from, std::size_t to) {
      add_arc(from, '0', '0', to);
      add_arc(from, '1', '9', to + 1);
    };
    add_digits(point, point + 1);
    for (std::size_t i = 0; i < digits; ++i) {
      const std::size_t state = point + 1 + 2 * i;
      states_[state].accepts = !bounds_.one_spelling;
      states_[state + 1].accepts = true;
      const bool is_endless = limits_.fraction == DigitLimits::kEndless;
      if (i + 1 == digits && !is_endless) continue;
      for (const std::size_t from : {state, state + 1}) {
        add_digits(from, is_endless ? state : state + 2);
      }
    }
  }

  const NumberBounds& bounds_;
  DigitLimits limits_;
  std::vector<State> states_;
};

/// Returns the exponent of the first digit: 2 for 345.
std::int64_t first_exponent(const Decimal& value) {
  return value.exponent + std::ssize(value.digits) - 1;
}

/// Returns the mantissa from 1 to below 10.
Decimal mantissa(const Decimal& value) {
  return {.digits = value.digits, .exponent = 1 - std::ssize(value.digits)};
}

Decimal whole_decimal(std::int64_t value) { return parse_decimal(cat(value)); }

/// Returns the spellings of the exponents from `low` to `high`.
TextDfa exponents(std::int64_t low, std::int64_t high, CompileBudget& budget) {
  const TextDfa digits = compile_pattern("0|[1-9][0-9]*", Anchoring::kWhole, budget);
  TextDfa all;
  if (high >= 0) {
    const Magnitudes bounds{.low = whole_decimal(std::max<std::int64_t>(low, 0)),
                            .high = whole_decimal(high)};
    all = compile_pattern("[eE][+]?0?", Anchoring::kWhole, budget)
              .followed_by(within(digits, bounds, budget), budget);
  }
  if (low < 0) {
    const Magnitudes bounds{.low = whole_decimal(std::max<std::int64_t>(-high, 1)),
                            .high = whole_decimal(-low)};
    const TextDfa negative = compile_pattern("[eE]-0?", Anchoring::kWhole, budget)
                                 .followed_by(within(digits, bounds, budget), budget);
    all = all.united(negative, budget);
  }
  return all;
}

/// Narrows bounds to the magnitudes above zero that a double holds.
Magnitudes within_doubles(Magnitudes bounds) {
  const Decimal least = to_decimal(std::numeric_limits<double>::denorm_min());
  const Decimal most = to_decimal(std::numeric_limits<double>::max());
  if (!bounds.low || compare(*bounds.low, least) < 0) {
    bounds.low = least;
    bounds.excludes_low = false;
  }
  if (!bounds.high || compare(*bounds.high, most) > 0) {
    bounds.high = most;
    bounds.excludes_high = false;
  }
  return bounds;
}

/// Returns the unsigned spellings with an exponent and one digit before the point.
TextDfa exponent_spellings(const Magnitudes& wanted, std::size_t digits, CompileBudget& budget) {
  const Magnitudes bounds = within_doubles(wanted);
  if (compare(*bounds.low, *bounds.high) > 0) return {};
  const std::int64_t low = first_exponent(*bounds.low);
  const std::int64_t high = first_exponent(*bounds.high);
  const Spelling low_digits = spelled(mantissa(*bounds.low));
  const Spelling high_digits = spelled(mantissa(*bounds.high));
  if (digits != DigitLimits::kEndless) {
    digits = std::max({digits, low_digits.fraction.size() + 1, high_digits.fraction.size() + 1});
  }
  const TextDfa any =
      PlainSpellings({}, {.whole = 1, .fraction = digits})
          .language(budget)
          .intersected(compile_pattern("[1-9].*", Anchoring::kWhole, budget), budget);
  Magnitudes from_low{.low = mantissa(*bounds.low), .excludes_low = bounds.excludes_low};
  const Magnitudes to_high{.high = mantissa(*bounds.high), .excludes_high = bounds.excludes_high};
  if (low == high) {
    from_low.high = to_high.high;
    from_low.excludes_high = to_high.excludes_high;
    return within(any, from_low, budget).followed_by(exponents(low, low, budget), budget);
  }
  const TextDfa lowest =
      within(any, from_low, budget).followed_by(exponents(low, low, budget), budget);
  const TextDfa highest =
      within(any, to_high, budget).followed_by(exponents(high, high, budget), budget);
  TextDfa all = lowest.united(highest, budget);
  if (low + 1 == high) return all;
  return all.united(any.followed_by(exponents(low + 1, high - 1, budget), budget), budget);
}

/// Returns the unsigned spellings of the numbers within `magnitudes`.
TextDfa unsigned_language(const NumberBounds& bounds, const Magnitudes& magnitudes,
                          CompileBudget& budget) {
  DigitLimits limits = digit_limits(bounds, magnitudes);
  std::vector<TextDfa> factors;
  std::size_t states = 1;
  for (const Decimal& divisor : bounds.divisors) {
    factors.push_back(multiples(divisor, budget));
    states *= to_size(factors.back().size());
  }
  // Small automata can count more digits.
  constexpr std::size_t kStates = 4000;
  if (!bounds.divisors.empty() && !bounds.has_any_length && !magnitudes.high) {
    limits.whole = std::max(limits.whole, std::min(kWholeDigitsMax, kStates / (states + 1)));
  }
  TextDfa language = PlainSpellings(bounds, limits).language(budget);
  for (const TextDfa& factor : factors) language = language.intersected(factor, budget);
  language = within(std::move(language), magnitudes, budget);
  const bool has_exponents = !bounds.is_integer && !bounds.one_spelling && bounds.divisors.empty();
  if (!has_exponents) return language;
  return language.united(exponent_spellings(magnitudes, limits.fraction, budget), budget);
}

Decimal negated(Decimal value) {
  value.is_negative = !value.is_negative && !value.is_zero();
  return value;
}

/// Returns the magnitudes of the numbers from zero up that are within the bounds; nothing if there
/// are none.
std::optional<Magnitudes> magnitudes_from_zero(Magnitudes bounds) {
  const Decimal zero;
  if (bounds.high) {
    const int order = compare(*bounds.high, zero);
    if (order < 0 || (order == 0 && bounds.excludes_high)) return {};
  }
  const int low = bounds.low ? compare(*bounds.low, zero) : -1;
  if (low < 0 || (low == 0 && !bounds.excludes_low)) {
    bounds.low.reset();
    bounds.excludes_low = false;
  }
  return bounds;
}

/// Returns the bounds of the negated numbers.
Magnitudes mirrored(const NumberBounds& bounds) {
  Magnitudes mirror{.excludes_low = bounds.excludes_high, .excludes_high = bounds.excludes_low};
  if (bounds.high) mirror.low = negated(*bounds.high);
  if (bounds.low) mirror.high = negated(*bounds.low);
  return mirror;
}

/// Reads the digits of a JSON number's significand, and returns the exponent of the last one.
std::int64_t read_digits(std::string_view& text, std::string& digits) {
  std::int64_t exponent = 0;
  bool in_fraction = false;
  while (!text.empty() && text.front() != 'e' && text.front() != 'E') {
    if (text.front() == '.') {
      in_fraction = true;
    } else {
      digits += text.front();
      exponent -= in_fraction ? 1 : 0;
    }
    text.remove_prefix(1);
  }
  return exponent;
}

/// Reads "e+10"; 0 if there is no exponent. Clamps to twice the limit.
std::int64_t read_exponent(std::string_view text) {
  if (text.empty()) return 0;
  text.remove_prefix(1);
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  for (const char c : text) value = std::min(value * 10 + (c - '0'), 1'000'000'000 * kExponentMax);
  return is_negative ? -value : value;
}

}  // namespace

Decimal parse_decimal(std::string_view json_number) {
  Decimal value;
  value.is_negative = json_number.starts_with('-');
  if (value.is_negative) json_number.remove_prefix(1);
  std::string digits;
  value.exponent = read_digits(json_number, digits) + read_exponent(json_number);
  const std::size_t first = digits.find_first_not_of('0');
  if (first == std::string::npos) return {};
  const std::size_t last = digits.find_last_not_of('0');
  value.exponent += std::ssize(digits) - 1 - static_cast<std::int64_t>(last);
  value.digits = digits.substr(first, last + 1 - first);
  if (value.exponent > kExponentMax || value.exponent < -kExponentMax) {
    throw Error(ErrorCode::kInvalid, cat("has a number with an exponent beyond ", kExponentMax));
  }
  return value;
}

Decimal to_decimal(double value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
  return parse_decimal(std::string_view(text, static_cast<std::size_t>(end.ptr - text)));
}

std::string plain_spelling(const Decimal& value) {
  const Spelling spelling = spelled(value);
  return cat(value.is_negative ? "-" : "", spelling.whole, spelling.fraction.empty() ? "" : ".",
             spelling.fraction);
}

int compare(const Decimal& a, const Decimal& b) {
  if (a.is_negative != b.is_negative) return a.is_negative ? -1 : 1;
  const int sign = a.is_negative ? -1 : 1;
  if (a.is_zero() || b.is_zero())
    return a.is_zero() && b.is_zero() ? 0 : a.is_zero() ? -sign : sign;
  const std::int64_t first_a = first_exponent(a);
  const std::int64_t first_b = first_exponent(b);
  if (first_a != first_b) return first_a < first_b ? -sign : sign;
  const int order = a.digits.compare(b.digits);  // no trailing zeros: a longer one is larger
  return order == 0 ? 0 : order < 0 ? -sign : sign;
}

TextDfa number_language(const NumberBounds& bounds, CompileBudget& budget) {
  const Magnitudes given{bounds.low, bounds.excludes_low, bounds.high, bounds.excludes_high};
  const auto positive = magnitudes_from_zero(given);
  auto negative = magnitudes_from_zero(mirrored(bounds));
  if (negative && bounds.one_spelling && (!negative->low || negative->low->is_zero())) {
    negative->low = Decimal{};  // no -0
    negative->excludes_low = true;
  }
  TextDfa language;
  if (positive) language = unsigned_language(bounds, *positive, budget);
  if (!negative) return language;
  const bool is_symmetric = !bounds.low && !bounds.high && !bounds.one_spelling;
  const TextDfa unsigned_part =
      is_symmetric ? language : unsigned_language(bounds, *negative, budget);
  return language.united(TextDfa::literal("-", budget).followed_by(unsigned_part, budget), budget);
}

}  // namespace ingot
