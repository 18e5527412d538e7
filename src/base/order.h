// Version numbers of the canonical order, the expression trees that fix the bits of every result.
#pragma once

namespace ingot {

/// The version of the expression trees in backend.h and math.h, and of the draws of tokens. A
/// change that alters any bit of a result must increase this number, update the golden digests and
/// say why.
///
/// Version 2: draws the token with the largest key (docs/decisions/0020-gumbel-max.md); sums over
/// BF16 matrices, and over BF16 keys and values, in the order of matrix units
/// (docs/decisions/0021-bf16-order.md).
inline constexpr int kOrderVersion = 2;

/// The name of the order that backend.h states, which Backend::numerics returns. Session files and
/// fingerprints contain the name: results of another order have other bits.
inline constexpr char kNumericsProfile[] = "canon-1";

}  // namespace ingot
