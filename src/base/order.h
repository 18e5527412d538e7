// The version of the canonical orders of evaluation: what the bits of every result are a function
// of.
#pragma once

namespace ingot {

/// The version of the expression trees that every op's header writes down. A change that alters a
/// single bit of any result raises it, renews the golden digests and says why.
inline constexpr int kOrderVersion = 1;

/// The name of the numerics profile these orders make up. It is part of the system fingerprint, of
/// the prefix cache's root, of session files and of packed-weight caches, so that a later profile
/// can stand beside it.
inline constexpr char kNumericsProfile[] = "canon-1";

}  // namespace ingot
