// Tests of number languages: spellings are enumerated and compared in exact arithmetic.
#include "constraint/language/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/text.h"
#include "constraint/language/language_test_util.h"

namespace ingot {
namespace {

using Wide = __int128;

TextDfa language_of(const NumberBounds& bounds) {
  CompileBudget budget;
  return number_language(bounds, budget);
}

std::string text_of(const Decimal& d) {
  return cat(d.is_negative ? "-" : "", d.digits, "e", d.exponent);
}

TEST(Decimal, ReadsNumbers) {
  EXPECT_EQ(text_of(parse_decimal("0")), "0e0");
  EXPECT_EQ(text_of(parse_decimal("-0.000e5")), "0e0");
  EXPECT_EQ(text_of(parse_decimal("1200")), "12e2");
  EXPECT_EQ(text_of(parse_decimal("-0.0120")), "-12e-3");
  EXPECT_EQ(text_of(parse_decimal("1.50e+3")), "15e2");
  EXPECT_EQ(text_of(parse_decimal("10E-1")), "1e0");
  EXPECT_EQ(text_of(to_decimal(0.1)), "1e-1");
  EXPECT_EQ(text_of(to_decimal(-5e-324)), "-5e-324");
  EXPECT_EQ(text_of(to_decimal(1.7976931348623157e308)), "17976931348623157e292");
  EXPECT_THROW((void)parse_decimal("1e10001"), Error);
  EXPECT_THROW((void)parse_decimal("1e-99999999999999999999"), Error);
}

TEST(Decimal, ComparesExactly) {
  const char* ascending[] = {"-1e300", "-10", "-9.5", "-1e-5", "0",  "1e-300", "0.1",
                             "0.11",   "1",   "1.01", "9.999", "10", "100",    "1e300"};
  for (std::size_t i = 0; i < std::size(ascending); ++i) {
    for (std::size_t k = 0; k < std::size(ascending); ++k) {
      const int order = compare(parse_decimal(ascending[i]), parse_decimal(ascending[k]));
      EXPECT_EQ(order < 0, i < k);
      EXPECT_EQ(order > 0, i > k);
    }
  }
}

/// Appends the JSON numbers without exponent that have up to `whole` and `fraction` digits.
void append_plain(std::vector<std::string>& texts, std::size_t whole, std::size_t fraction) {
  std::vector<std::string> parts{"0"};
  for (int i = 1; i < static_cast<int>(std::pow(10, whole)); ++i) parts.push_back(cat(i));
  const std::size_t count = parts.size();
  std::vector<std::string> fractions{""};
  for (std::size_t i = 0; i < fractions.size(); ++i) {
    if (fractions[i].size() == fraction) break;
    for (char c = '0'; c <= '9'; ++c) fractions.push_back(fractions[i] + c);
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::string& digits : fractions) {
      texts.push_back(digits.empty() ? parts[i] : cat(parts[i], ".", digits));
      texts.push_back("-" + texts.back());
    }
  }
}

/// Returns a value times 10^6. The value has at most 6 decimals.
Wide scaled(const Decimal& d) {
  Wide value = 0;
  for (const char c : d.digits) value = value * 10 + (c - '0');
  for (std::int64_t i = d.exponent + 6; i > 0; --i) value *= 10;
  return d.is_negative ? -value : value;
}

/// Returns whether a spelling is wanted, by exact arithmetic.
bool is_wanted(const std::string& text, const NumberBounds& bounds) {
  const Wide value = scaled(parse_decimal(text));
  if (bounds.low) {
    const Wide low = scaled(*bounds.low);
    if (value < low || (bounds.excludes_low && value == low)) return false;
  }
  if (bounds.high) {
    const Wide high = scaled(*bounds.high);
    if (value > high || (bounds.excludes_high && value == high)) return false;
  }
  for (const Decimal& divisor : bounds.divisors) {
    if (value % scaled(divisor) != 0) return false;
  }
  const bool has_point = text.find('.') != std::string::npos;
  if (bounds.is_integer && has_point) return false;
  if (!bounds.one_spelling) return true;
  return !(text[0] == '-' && value == 0) && !(has_point && text.back() == '0');
}

NumberBounds random_bounds(std::mt19937_64& random) {
  const auto number = [&] {
    const std::string whole = cat(below(random, 3) == 0 ? "-" : "", below(random, 1200));
    return parse_decimal(below(random, 2) == 0 ? whole : cat(whole, ".", below(random, 1000)));
  };
  NumberBounds bounds;
  if (below(random, 3) != 0) bounds.low = number();
  if (below(random, 3) != 0) bounds.high = number();
  bounds.excludes_low = below(random, 2) == 0;
  bounds.excludes_high = below(random, 2) == 0;
  bounds.is_integer = below(random, 3) == 0;
  bounds.one_spelling = below(random, 3) == 0;
  static constexpr const char* kDivisors[] = {"1",   "2",    "3",    "7",   "10",    "12",  "100",
                                              "0.5", "0.01", "0.25", "2.5", "0.003", "1e-6"};
  for (std::size_t i = below(random, 3); i > 0; --i) {
    bounds.divisors.push_back(parse_decimal(kDivisors[below(random, std::size(kDivisors))]));
  }
  return bounds;
}

TEST(Numbers, AgreeWithExactArithmetic) {
  std::vector<std::string> texts;
  append_plain(texts, 3, 1);
  append_plain(texts, 1, 3);
  std::mt19937_64 random(11);
  for (int round = 0; round < 150; ++round) {
    const NumberBounds bounds = random_bounds(random);
    const TextDfa language = language_of(bounds);
    for (std::size_t i = below(random, 5); i < texts.size(); i += 5) {
      ASSERT_EQ(language.contains(texts[i]), is_wanted(texts[i], bounds))
          << texts[i] << " low " << (bounds.low ? text_of(*bounds.low) : "") << " high "
          << (bounds.high ? text_of(*bounds.high) : "");
    }
  }
}

TEST(Numbers, EveryTextIsWithinTheBounds) {
  std::mt19937_64 random(12);
  for (int round = 0; round < 150; ++round) {
    const NumberBounds bounds = random_bounds(random);
    const TextDfa language = language_of(bounds);
    for (std::size_t i = 0; i < 60 && !language.is_empty(); ++i) {
      const std::string text = random_text(language, below(random, 12), random);
      const Decimal value = parse_decimal(text);
      if (bounds.low) {
        EXPECT_GE(compare(value, *bounds.low), bounds.excludes_low ? 1 : 0) << text;
      }
      if (bounds.high) {
        EXPECT_LE(compare(value, *bounds.high), bounds.excludes_high ? -1 : 0) << text;
      }
      const double parsed = std::strtod(text.c_str(), nullptr);
      EXPECT_TRUE(std::isfinite(parsed)) << text;
    }
  }
}

TEST(Numbers, SpellsExponents) {
  const TextDfa any = language_of({});
  for (const char* text : {"1e+22", "1.5e-07", "1e22", "1.5E-7", "-2.5e+100", "5e-324", "0", "-0.0",
                           "1.7976931348623157e+308", "1e08", "123456789012345678901234567890"}) {
    EXPECT_TRUE(any.contains(text)) << text;
  }
  for (const char* text : {"", "-", "01", "1.", ".5", "+1", "1e", "1e400", "1.8e308", "4e-324",
                           "1e-400", "12e3", "0e1", "1e+", "Infinity", "NaN", "1e001"}) {
    EXPECT_FALSE(any.contains(text)) << text;
  }
  const TextDfa small = language_of(
      {.low = parse_decimal("1.5e-7"), .high = parse_decimal("2.25e22"), .excludes_high = true});
  for (const char* text : {"1.5e-07", "1.6e-7", "1e-6", "9e-7", "1e+22", "2.2499e22", "1e0"}) {
    EXPECT_TRUE(small.contains(text)) << text;
  }
  for (const char* text : {"1.4e-07", "9e-8", "2.25e22", "2.250e+22", "3e22", "1e23", "-1e5"}) {
    EXPECT_FALSE(small.contains(text)) << text;
  }
  const TextDfa narrow =
      language_of({.low = parse_decimal("1.5e-7"), .high = parse_decimal("2.5e-7")});
  EXPECT_TRUE(narrow.contains("2.5e-07"));
  EXPECT_TRUE(narrow.contains("0.0000002"));
  EXPECT_FALSE(narrow.contains("2.6e-7"));
  const TextDfa negative = language_of({.high = parse_decimal("-1e30")});
  EXPECT_TRUE(negative.contains("-1e30"));
  EXPECT_TRUE(negative.contains("-1.01e+30"));
  EXPECT_FALSE(negative.contains("-9.9e29"));
}

TEST(Numbers, KnowsLimits) {
  EXPECT_TRUE(language_of({.low = parse_decimal("2"), .high = parse_decimal("1")}).is_empty());
  EXPECT_TRUE(
      language_of({.low = parse_decimal("2"), .excludes_low = true, .high = parse_decimal("2")})
          .is_empty());
  EXPECT_TRUE(
      language_of({.low = parse_decimal("1.2"), .high = parse_decimal("1.8"), .is_integer = true})
          .is_empty());
  const TextDfa zero = language_of({.low = parse_decimal("0"),
                                    .high = parse_decimal("0"),
                                    .is_integer = true,
                                    .one_spelling = true});
  EXPECT_EQ(zero.count(TextDfa::start()), 1U);
  EXPECT_TRUE(zero.contains("0"));
  EXPECT_FALSE(language_of({.low = parse_decimal("1e308")}).is_empty());
  EXPECT_TRUE(language_of({.divisors = {parse_decimal("1e-300")}}).contains("0.001"));
  EXPECT_TRUE(language_of({.divisors = {parse_decimal("86400000")}}).contains("172800000"));
  EXPECT_FALSE(language_of({.divisors = {parse_decimal("86400000")}}).contains("172800001"));
  EXPECT_THROW((void)language_of({.divisors = {parse_decimal("123456789")}}), Error);
  EXPECT_THROW((void)language_of({.divisors = {parse_decimal("0")}}), Error);
  EXPECT_THROW((void)language_of({.divisors = {parse_decimal("-1")}}), Error);
  const TextDfa bytes = language_of({.low = parse_decimal("0"),
                                     .high = parse_decimal("255"),
                                     .is_integer = true,
                                     .one_spelling = true});
  EXPECT_EQ(bytes.count(TextDfa::start()), 256U);
}

TEST(Numbers, HaveFewDigits) {
  const TextDfa any = language_of({});
  EXPECT_TRUE(any.contains(std::string(kWholeDigitsMax, '1')));
  EXPECT_FALSE(any.contains(std::string(kWholeDigitsMax + 1, '1')));
  EXPECT_TRUE(any.contains("1." + std::string(kFractionDigitsMax, '0')));
  EXPECT_FALSE(any.contains("1." + std::string(kFractionDigitsMax + 1, '0')));
  EXPECT_FALSE(any.contains("1." + std::string(kFractionDigitsMax + 1, '1') + "e5"));
  std::mt19937_64 random(13);
  for (int round = 0; round < 60; ++round) {
    const TextDfa language = language_of(random_bounds(random));
    if (!language.is_empty()) {
      EXPECT_LT(language.longest(TextDfa::start()), 400U);
    }
  }
  // Bounds with more digits raise the limit.
  EXPECT_FALSE(
      language_of(
          {.low = parse_decimal("1e-40"), .high = parse_decimal("1e-40"), .one_spelling = true})
          .is_empty());
}

}  // namespace
}  // namespace ingot
