// INGOT_INLINE: for small functions in headers that files compiled for a particular instruction set
// include.
#pragma once

/// Forces inlining, so that no out-of-line copy is emitted. A copy compiled with AVX-512, say,
/// could be the one that the linker keeps for everybody, and the program would then die on a
/// machine without it.
#define INGOT_INLINE [[gnu::always_inline]] inline
