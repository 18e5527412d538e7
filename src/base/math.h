// Deterministic float functions (exp, log, tanh, erf, sin, ...) over the lanes concept (lanes.h).
//
// Results are bit-equal on every machine and for every vector width: explicit fma, no libm.
// Polynomials were fitted by Lawson-weighted least squares (which tends to the minimax solution) in
// 200-bit arithmetic on 300 Chebyshev points; each coefficient was rounded to float before the next
// ones were fitted. A change of any expression tree needs a new kOrderVersion.
#pragma once

#include "base/inline.h"
#include "base/lanes.h"

namespace ingot::math {

namespace detail {

/// 1.5 * 2^23. For |x| < 2^22, the low bits of x + kRound are x rounded to an integer, ties to
/// even.
inline constexpr float kRound = 12582912.0f;
inline constexpr float kInf = __builtin_inff();
inline constexpr float kNan = __builtin_nanf("");
inline constexpr int kSignBit = -0x7FFFFFFF - 1;

/// Evaluates the polynomial ((c[n-1] x + c[n-2]) x + ...) x + c[0]; each step is one fma.
template <class L, class... Rest>
INGOT_INLINE typename L::F polynomial(typename L::F x, float c0, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    static_cast<void>(x);
    return L::splat(c0);
  } else {
    return L::fma(polynomial<L>(x, rest...), x, L::splat(c0));
  }
}

template <class L>
INGOT_INLINE typename L::F absolute(typename L::F x) {
  return L::from_bits(L::and_int(L::bits(x), L::splat_int(0x7FFFFFFF)));
}

/// Returns `magnitude`, which must not be negative, with the sign of `x`.
template <class L>
INGOT_INLINE typename L::F with_sign_of(typename L::F magnitude, typename L::F x) {
  return L::from_bits(
      L::or_int(L::bits(magnitude), L::and_int(L::bits(x), L::splat_int(kSignBit))));
}

/// Returns 2^k. The result must be a normal float.
template <class L>
INGOT_INLINE typename L::F power_of_two(typename L::I k) {
  return L::from_bits(L::template shl<23>(L::add_int(k, L::splat_int(127))));
}

/// The parts of exp(v) = p * 2^k.
template <class L>
struct ExpParts {
  typename L::F p;
  typename L::I k_bits;  ///< the bits of the float kRound + more + k
};

/// Splits exp(v) into p and 2^k. The result's `k_bits` holds k + more, for a small integer `more`.
/// `more` does not change how k is rounded: v / ln 2 is never halfway between two integers.
template <class L>
INGOT_INLINE ExpParts<L> exp_parts(typename L::F v, float more) {
  using F = typename L::F;
  const F round = L::splat(kRound + more);
  const F shifted = L::fma(v, L::splat(0x1.715476p+0f), round);
  const F k_float = L::sub(shifted, round);
  // ln 2 = 355/512 - 0x1.bd0106p-13. The inner fma is exact, because 355/512 has few bits.
  const F r =
      L::fma(k_float, L::splat(0x1.bd0106p-13f), L::fma(k_float, L::splat(-355.0f / 512.0f), v));
  const F p4 = polynomial<L>(r, 0x1.fffffcp-2f, 0x1.55549p-3f, 0x1.55589ep-5f, 0x1.123ac8p-7f,
                             0x1.6a628ep-10f);
  return {L::add(L::splat(1.0f), L::fma(L::mul(r, r), p4, r)), L::bits(shifted)};
}

}  // namespace detail

/// Returns e^x with an error of at most 1 unit in the last place: exactly 1 for 0, +0 below -87.3f,
/// Inf above 88.72, NaN for NaN.
///
/// k = round(x * log2 e); r = fma(k, -ln2_lo, fma(k, -ln2_hi, x)); p = 1 + fma(r * r, P4(r), r);
/// p * 2^(k >> 1) * 2^(k - (k >> 1)), in two factors because 2^128 is not a float.
template <class L>
INGOT_INLINE typename L::F exp_lanes(typename L::F x) {
  using F = typename L::F;
  using I = typename L::I;
  const F low = L::splat(-87.3f);
  const F high = L::splat(89.0f);  // e^89 is Inf, and its 2^k is a product of two floats
  F v = L::select(L::lt(x, low), low, x);
  v = L::select(L::lt(high, v), high, v);
  const auto e = detail::exp_parts<L>(v, 0);
  const I k = L::sub_int(e.k_bits, L::bits(L::splat(detail::kRound)));
  const I half = L::template sar<1>(k);
  const F scaled = L::mul(L::mul(e.p, detail::power_of_two<L>(half)),
                          detail::power_of_two<L>(L::sub_int(k, half)));
  return L::select(L::lt(x, low), L::splat(0.0f), scaled);
}

/// Computes exp_lanes faster, with equal bits, for x <= 0 and NaN. Here 2^k is a normal number, so
/// one factor is enough, and its exponent comes directly from k_bits. Below -87.3f the result is
/// +0, whatever k_bits is.
template <class L>
INGOT_INLINE typename L::F exp_not_positive_lanes(typename L::F x) {
  const auto e = detail::exp_parts<L>(x, 127);
  const auto scaled = L::mul(e.p, L::from_bits(L::template shl<23>(e.k_bits)));
  return L::select(L::lt(x, L::splat(-87.3f)), L::splat(0.0f), scaled);
}

/// Returns the natural logarithm within 1.5 units in the last place, denormals included; -Inf for
/// 0, NaN for negative values.
///
/// x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); t = (f * f) * fma(f, P8(f), -0.5);
/// fma(k, ln2_hi, f + fma(k, ln2_lo, t)).
template <class L>
INGOT_INLINE typename L::F log_lanes(typename L::F x) {
  using F = typename L::F;
  using I = typename L::I;
  const auto tiny = L::lt(x, L::splat(0x1p-126f));
  const I bits = L::bits(L::select(tiny, L::mul(x, L::splat(0x1p24f)), x));
  // 0x3F3504F3 is the bit pattern of sqrt(1/2), the lower bound of 1 + f.
  const I steps = L::template sar<23>(L::sub_int(bits, L::splat_int(0x3F3504F3)));
  const F f = L::sub(L::from_bits(L::sub_int(bits, L::template shl<23>(steps))), L::splat(1.0f));
  const F k = L::sub(L::to_float(steps), L::select(tiny, L::splat(24.0f), L::splat(0.0f)));
  const F p8 = detail::polynomial<L>(f, 0x1.555548p-2f, -0x1.000008p-2f, 0x1.99a47ap-3f,
                                     -0x1.555b9p-3f, 0x1.233acp-3f, -0x1.fc3d26p-4f, 0x1.e6df82p-4f,
                                     -0x1.dda1bp-4f, 0x1.13c372p-4f);
  const F t = L::mul(L::mul(f, f), L::fma(f, p8, L::splat(-0.5f)));
  const F rest = L::add(f, L::fma(k, L::splat(-0x1.bd0106p-13f), t));
  F y = L::fma(k, L::splat(355.0f / 512.0f), rest);
  y = L::select(L::le(x, L::splat(0.0f)), L::splat(-detail::kInf), y);
  y = L::select(L::lt(x, L::splat(0.0f)), L::splat(detail::kNan), y);
  return L::select(L::lt(x, L::splat(detail::kInf)), y, x);
}

/// Returns the hyperbolic tangent within 3 units in the last place.
///
/// a = |x|, z = a * a; fma(a * z, P4(z), a) if a < 0.625, else 1 - 2 / (exp(2a) + 1); sign of x.
template <class L>
INGOT_INLINE typename L::F tanh_lanes(typename L::F x) {
  using F = typename L::F;
  const F one = L::splat(1.0f);
  const F a = detail::absolute<L>(x);
  const F z = L::mul(a, a);
  const F p4 = detail::polynomial<L>(z, -0x1.555534p-2f, 0x1.110762p-3f, -0x1.b8439ap-5f,
                                     0x1.525326p-6f, -0x1.769de4p-8f);
  const F near = L::fma(L::mul(a, z), p4, a);
  const F far = L::sub(one, L::div(L::splat(2.0f), L::add(exp_lanes<L>(L::add(a, a)), one)));
  return detail::with_sign_of<L>(L::select(L::lt(a, L::splat(0.625f)), near, far), x);
}

/// Returns the error function within 3 units in the last place.
///
/// a = |x|. If a < 1: fma(a, P6(a * a), a), else 1 - exp(-Q6(min(a, 4))), with Q6 fitted to
/// -log(erfc). The result has the sign of x.
template <class L>
INGOT_INLINE typename L::F erf_lanes(typename L::F x) {
  using F = typename L::F;
  const F one = L::splat(1.0f);
  const F four = L::splat(4.0f);  // above 3.92 the result is 1
  const F a = detail::absolute<L>(x);
  const F p6 =
      detail::polynomial<L>(L::mul(a, a), 0x1.06eba8p-3f, -0x1.81274p-2f, 0x1.ce2d5p-4f,
                            -0x1.b7fe9p-6f, 0x1.542e1p-8f, -0x1.a50b0ep-11f, 0x1.4c344ep-14f);
  const F near = L::fma(a, p6, a);
  const F q6 = detail::polynomial<L>(L::select(L::lt(four, a), four, a), 0x1.72a716p-12f,
                                     0x1.2085c2p+0f, 0x1.46c55p-1f, 0x1.a60becp-4f, -0x1.6544dcp-6f,
                                     0x1.815272p-9f, -0x1.8536d8p-13f);
  const F far = L::sub(one, exp_lanes<L>(L::sub(L::splat(0.0f), q6)));
  return detail::with_sign_of<L>(L::select(L::lt(a, one), near, far), x);
}

/// Returns the logistic function 1 / (1 + exp(0 - x)) within 3 units in the last place.
template <class L>
INGOT_INLINE typename L::F sigmoid_lanes(typename L::F x) {
  using F = typename L::F;
  const F one = L::splat(1.0f);
  return L::div(one, L::add(one, exp_lanes<L>(L::sub(L::splat(0.0f), x))));
}

namespace detail {

/// Returns sin(x + quarters * pi/2) for |x| <= 2^20, else NaN.
template <class L>
INGOT_INLINE typename L::F sine(typename L::F x, int quarters) {
  using F = typename L::F;
  using I = typename L::I;
  const F shifted = L::fma(x, L::splat(0x1.45f306p-1f), L::splat(kRound));
  const I turn =
      L::add_int(L::sub_int(L::bits(shifted), L::bits(L::splat(kRound))), L::splat_int(quarters));
  const F k = L::sub(shifted, L::splat(kRound));
  // The constants are pi/2 in three floats. The first fma is exact: both terms are multiples of
  // 2^-24 (or k is 0), and |r| is below 1.
  F r = L::fma(k, L::splat(-0x1.921fb6p+0f), x);
  r = L::fma(k, L::splat(0x1.777a5cp-25f), r);
  r = L::fma(k, L::splat(0x1.ee59dap-50f), r);
  const F z = L::mul(r, r);
  const F s2 = polynomial<L>(z, -0x1.555546p-3f, 0x1.11077ap-7f, -0x1.9954a8p-13f);
  const F c2 = polynomial<L>(z, 0x1.55554ap-5f, -0x1.6c0c24p-10f, 0x1.99e5e6p-16f);
  const F sine = L::fma(L::mul(z, r), s2, r);
  const F cosine = L::fma(L::mul(z, z), c2, L::fma(z, L::splat(-0.5f), L::splat(1.0f)));
  const auto is_odd = L::lt(L::splat(0.0f), L::to_float(L::and_int(turn, L::splat_int(1))));
  const F value = L::select(is_odd, cosine, sine);
  const I flip = L::template shl<30>(L::and_int(turn, L::splat_int(2)));
  const F y = L::from_bits(L::add_int(L::bits(value), flip));
  return L::select(L::le(absolute<L>(x), L::splat(0x1p20f)), y, L::splat(kNan));
}

}  // namespace detail

/// Returns the sine within 3 units in the last place for |x| <= 2^20; NaN for larger |x|, Inf and
/// NaN.
///
/// x = k pi/2 + r, with pi/2 in three floats, z = r * r. Even k: fma(z * r, P2(z), r), odd k:
/// fma(z * z, Q2(z), fma(z, -0.5, 1)). For |x| < 2^-12 the result is x.
template <class L>
INGOT_INLINE typename L::F sin_lanes(typename L::F x) {
  const auto tiny = L::lt(detail::absolute<L>(x), L::splat(0x1p-12f));
  return L::select(tiny, x, detail::sine<L>(x, 0));
}

/// Returns the cosine. Computes it as sin_lanes computes the sine, with k + 1 in place of k.
template <class L>
INGOT_INLINE typename L::F cos_lanes(typename L::F x) {
  return detail::sine<L>(x, 1);
}

/// Compute exp_lanes, log_lanes and so on for a single float, with equal bits.
INGOT_INLINE float exp(float x) { return exp_lanes<OneLane>(x); }
INGOT_INLINE float log(float x) { return log_lanes<OneLane>(x); }
INGOT_INLINE float tanh(float x) { return tanh_lanes<OneLane>(x); }
INGOT_INLINE float erf(float x) { return erf_lanes<OneLane>(x); }
INGOT_INLINE float sigmoid(float x) { return sigmoid_lanes<OneLane>(x); }
INGOT_INLINE float sin(float x) { return sin_lanes<OneLane>(x); }
INGOT_INLINE float cos(float x) { return cos_lanes<OneLane>(x); }

}  // namespace ingot::math
