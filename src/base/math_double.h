// Deterministic double functions (exp, log, pow, sin, cos), for tables made while a model loads.
#pragma once

/// Results are bit-equal on every machine: explicit fma, own polynomials, no libm. The functions
/// are slow, but accurate to one unit in the last place unless stated otherwise. Do not import
/// <cmath> names by `using`, because these functions have the same names as <cmath>.
namespace ingot::math {

/// Returns e^x: exactly 1 for 0, Inf above 709.78, +0 below -745.13 after gradual underflow, and
/// NaN for NaN.
///
/// x = k ln 2 + r, |r| <= ln 2 / 2. Result: (1 + (r + r^2 P(r))) 2^k. P has the coefficients of the
/// Taylor series of e^r up to r^14. 2^k is multiplied as two factors.
double exp(double x);

/// Returns the natural logarithm; -Inf for 0, NaN for negative values.
///
/// x = 2^k m, m in [sqrt(1/2), sqrt(2)); s = (m - 1) / (m + 1). Result: k ln 2 + 2 atanh(s), where
/// each step holds its value in two doubles.
double log(double x);

/// Returns base^exponent for base >= 0; NaN for a negative base. pow(x, 0) and pow(1, y) are 1.
///
/// Computes exp(exponent * log(base)), with logarithm and product in two doubles each.
double pow(double base, double exponent);

/// Return the sine or cosine of x radians for |x| <= 2^30; NaN for larger |x|, Inf and NaN.
/// x = k pi/2 + r, |r| <= pi/4; pi/2 is a sum of three doubles, r of two. The Taylor series of
/// sin(r) ends at r^17. The Taylor series of cos(r) ends at r^18.
double sin(double x);
double cos(double x);

}  // namespace ingot::math
