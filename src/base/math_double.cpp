// exp, log, pow, sin and cos of double. Polynomials are Taylor series with the last term below
// 2^-57 of the result, so every coefficient can be checked by eye; speed does not matter here.
#include "base/math_double.h"

#include <cstddef>
#include <cstdint>

namespace ingot::math {

namespace {

/// A number as the unevaluated sum of two doubles, |lo| at most half a unit in the last place of
/// hi.
struct Pair {
  double hi;
  double lo;
};

constexpr double kInf = __builtin_inf();
constexpr double kNan = __builtin_nan("");
/// Adding and subtracting this constant rounds |x| < 2^51 to an integer, to nearest even.
constexpr double kRound = 0x1.8p52;

std::int64_t bits_of(double x) { return __builtin_bit_cast(std::int64_t, x); }
double from_bits(std::int64_t bits) { return __builtin_bit_cast(double, bits); }
double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
double round_even(double x) { return (x + kRound) - kRound; }
/// 2^k for normal results.
double power_of_two(std::int64_t k) { return from_bits((k + 1023) << 52); }

/// a + b exactly.
Pair sum(double a, double b) {
  const double hi = a + b;
  const double b_part = hi - a;
  return {hi, (a - (hi - b_part)) + (b - b_part)};
}

/// a * b exactly.
Pair product(double a, double b) {
  const double hi = a * b;
  return {hi, fma(a, b, -hi)};
}

/// (((c[n-1] x + c[n-2]) x + ...) x + c[0]).
template <std::size_t n>
double polynomial(const double (&c)[n], double x) {
  double sum = c[n - 1];
  for (std::size_t i = n - 1; i > 0; --i) sum = fma(sum, x, c[i - 1]);
  return sum;
}

// ln 2 in 42 bits, whose products with exponents are exact, and the rest.
constexpr double kLn2Hi = 0x1.62e42fefa38p-1;
constexpr double kLn2Lo = 0x1.ef35793c7673p-45;

/// exp(x + tail), where `tail` is a few units in the last place of x.
double exp_of(double x, double tail) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  // 1/n! from n = 2.
  constexpr double kSeries[] = {1.0 / 2,
                                1.0 / 6,
                                1.0 / 24,
                                1.0 / 120,
                                1.0 / 720,
                                1.0 / 5040,
                                1.0 / 40320,
                                1.0 / 362880,
                                1.0 / 3628800,
                                1.0 / 39916800,
                                1.0 / 479001600,
                                1.0 / 6227020800.0,
                                1.0 / 87178291200.0};
  if (x != x) return kNan;
  if (x > 710.0) return kInf;
  if (x < -746.0) return 0.0;
  const double k = round_even(x * kLog2E);
  const double high = fma(-k, kLn2Hi, x);
  const double low = fma(-k, kLn2Lo, high);
  const Pair r = sum(low, fma(-k, kLn2Lo, high - low) + tail);
  const double rest = fma(r.hi * r.hi, polynomial(kSeries, r.hi), fma(r.hi, r.lo, r.lo));
  const double value = 1.0 + (r.hi + rest);
  const auto exponent = static_cast<std::int64_t>(k);
  const std::int64_t half = exponent / 2;
  return value * power_of_two(half) * power_of_two(exponent - half);
}

/// log(x) for finite x > 0, accurate to about 100 bits.
Pair log_of(double x) {
  // 1/(2n+1) from n = 2; 1/3 is held in two doubles.
  constexpr double kSeries[] = {1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13, 1.0 / 15,
                                1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23, 1.0 / 25, 1.0 / 27};
  constexpr double kThirdHi = 0x1.5555555555555p-2;
  constexpr double kThirdLo = 0x1.5555555555555p-56;
  constexpr std::int64_t kSqrtHalfBits = 0x3FE6A09E667F3BCD;
  const bool tiny = x < 0x1p-1022;
  const std::int64_t bits = bits_of(tiny ? x * 0x1p54 : x);
  const std::int64_t steps = (bits - kSqrtHalfBits) >> 52;
  const double m = from_bits(bits - (steps << 52));
  const auto k = static_cast<double>(tiny ? steps - 54 : steps);

  const double f = m - 1.0;
  const Pair d = sum(m, 1.0);
  const double s = f / d.hi;
  const double s_lo = (fma(-s, d.hi, f) - s * d.lo) / d.hi;
  Pair s2 = product(s, s);
  s2.lo = fma(2.0 * s, s_lo, s2.lo);
  Pair p = sum(kThirdHi, s2.hi * polynomial(kSeries, s2.hi));
  p.lo += kThirdLo;
  Pair q = product(s2.hi, p.hi);
  q.lo += fma(s2.hi, p.lo, s2.lo * p.hi);
  // atanh(s) = s + s * q.
  Pair t = product(s, q.hi);
  t.lo += fma(s, q.lo, s_lo * q.hi);
  Pair a = sum(s, t.hi);
  a.lo += t.lo + s_lo;
  Pair y = sum(k * kLn2Hi, 2.0 * a.hi);
  y.lo += fma(k, kLn2Lo, 2.0 * a.lo);
  return sum(y.hi, y.lo);
}

/// An angle as a number of quarter turns plus a rest, |rest| <= pi/4.
struct Reduced {
  std::int64_t quarter;
  Pair rest;
};

Reduced reduce(double x) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kHalfPi1 = 0x1.921fb54442d18p+0;
  constexpr double kHalfPi2 = 0x1.1a62633145c07p-54;
  constexpr double kHalfPi3 = -0x1.f1976b7ed8fbcp-110;
  const double k = round_even(x * kTwoOverPi);
  // Exact: both terms are multiples of 2^-53, and of 2^-52 where the result is 1/2 or more.
  const double first = fma(-k, kHalfPi1, x);
  const Pair second = product(-k, kHalfPi2);
  Pair rest = sum(first, second.hi);
  rest.lo += fma(-k, kHalfPi3, second.lo);
  rest = sum(rest.hi, rest.lo);
  return {static_cast<std::int64_t>(k), rest};
}

double sin_of(Pair r) {
  // (-1)^n / (2n+1)! from n = 1.
  constexpr double kSeries[] = {-1.0 / 6,
                                1.0 / 120,
                                -1.0 / 5040,
                                1.0 / 362880,
                                -1.0 / 39916800,
                                1.0 / 6227020800.0,
                                -1.0 / 1307674368000.0,
                                1.0 / 355687428096000.0};
  const double z = r.hi * r.hi;
  return r.hi + fma(z * r.hi, polynomial(kSeries, z), fma(r.lo, -0.5 * z, r.lo));
}

double cos_of(Pair r) {
  // (-1)^n / (2n)! from n = 2.
  constexpr double kSeries[] = {1.0 / 24,
                                -1.0 / 720,
                                1.0 / 40320,
                                -1.0 / 3628800,
                                1.0 / 479001600,
                                -1.0 / 87178291200.0,
                                1.0 / 20922789888000.0,
                                -1.0 / 6402373705728000.0};
  const Pair z = product(r.hi, r.hi);
  const double half = 0.5 * z.hi;
  const double main = 1.0 - half;
  const double lost = (1.0 - main) - half;
  return main +
         fma(z.hi * z.hi, polynomial(kSeries, z.hi), fma(-r.hi, r.lo, fma(-0.5, z.lo, lost)));
}

/// sin(x + quarters * pi/2).
double sine(double x, std::int64_t quarters) {
  constexpr double kAngleMax = 0x1p30;
  if (!(x <= kAngleMax && x >= -kAngleMax)) return kNan;
  const Reduced a = reduce(x);
  const std::int64_t turn = (a.quarter + quarters) & 3;
  const double value = (turn & 1) != 0 ? cos_of(a.rest) : sin_of(a.rest);
  return (turn & 2) != 0 ? -value : value;
}

}  // namespace

double exp(double x) { return exp_of(x, 0.0); }

double log(double x) {
  if (x == 0.0) return -kInf;
  if (!(x > 0.0)) return kNan;
  if (x == kInf) return kInf;
  const Pair y = log_of(x);
  return y.hi + y.lo;
}

double pow(double base, double exponent) {
  if (exponent == 0.0 || base == 1.0) return 1.0;
  if (!(base >= 0.0) || exponent != exponent) return kNan;
  if (base == 0.0 || base == kInf) return (base == 0.0) == (exponent > 0.0) ? 0.0 : kInf;
  const Pair l = log_of(base);
  const double y = exponent * l.hi;
  // Far outside the range (and for an infinite exponent) the rest means nothing and may be NaN.
  if (!(y > -800.0 && y < 800.0)) return exp_of(y, 0.0);
  return exp_of(y, fma(exponent, l.hi, -y) + exponent * l.lo);
}

double sin(double x) {
  constexpr double kItself = 0x1p-27;  // below, x^3/6 is under half a unit; this also keeps -0
  return x < kItself && x > -kItself ? x : sine(x, 0);
}

double cos(double x) { return sine(x, 1); }

}  // namespace ingot::math
