// The version of the canonical order, which fixes the bits of every result.
#pragma once

namespace ingot {

/// The version of the expression trees in the ops' headers. A change that alters one bit of any
/// result raises it, renews the golden digests and says why.
inline constexpr int kOrderVersion = 1;

/// The name of this numerics profile. The system fingerprint, the prefix cache's root, session
/// files and packed-weight caches contain it, so that data of two profiles never mix.
inline constexpr char kNumericsProfile[] = "canon-1";

}  // namespace ingot
