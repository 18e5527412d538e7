// Deterministic functions of double, for tables that are made while a model loads.
#pragma once

/// The same bits on every machine: explicit fma, own polynomials, nothing from libm. Slow and
/// accurate: within one unit in the last place, unless stated otherwise. Do not import <cmath>
/// names by `using`: these functions have the same names.
namespace ingot::math {

/// e^x. exp(0) is 1 exactly; overflows to Inf above 709.78, underflows gradually to +0 below
/// -745.13; NaN stays NaN.
///
/// x = k ln 2 + r, |r| <= ln 2 / 2; 1 + (r + r^2 P(r)), P the Taylor series to r^14; times 2^k in
/// two factors.
double exp(double x);

/// The natural logarithm; -Inf for 0, NaN for negative values.
///
/// x = 2^k m, m in [sqrt(1/2), sqrt(2)); s = (m - 1) / (m + 1); k ln 2 + 2 atanh(s) with two
/// doubles a step.
double log(double x);

/// base^exponent for base >= 0 (negative: NaN); pow(x, 0) and pow(1, y) are 1.
///
/// exp(exponent * log(base)), logarithm and product held in two doubles.
double pow(double base, double exponent);

/// Sine and cosine of an angle in radians, |x| <= 2^30; beyond that, and for Inf and NaN, NaN.
///
/// x = k pi/2 + r, |r| <= pi/4, pi/2 in three doubles, r in two; Taylor series to r^17 and r^18.
double sin(double x);
double cos(double x);

}  // namespace ingot::math
