// INGOT_INLINE: for small functions in headers that files compiled for a particular instruction set
// include.
#pragma once

/// Forces inlining, so that no out-of-line copy is emitted. A copy compiled with AVX-512, say,
/// could be the one that the linker keeps for everybody, and the program would then die on a
/// machine without it. Sanitized builds run where they are built and are checked for other things:
/// there the compiler decides, and kernels compile in seconds instead of minutes. So it does in
/// files that define INGOT_INLINE_BY_COMPILER, which only those compiled for no particular
/// instruction set may.
#if defined(INGOT_SANITIZED) || defined(INGOT_INLINE_BY_COMPILER)
#define INGOT_INLINE inline
#else
#define INGOT_INLINE [[gnu::always_inline]] inline
#endif
