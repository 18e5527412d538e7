// INGOT_INLINE: for small functions in headers that files compiled for a particular instruction set
// include.
#pragma once

/// Forces inlining, so that no out-of-line copy is emitted. Otherwise the linker could keep a copy
/// that was compiled with AVX-512 for all callers, and the program would crash on a machine without
/// it. The compiler decides in two cases: in sanitized builds, which run where they are built and
/// would compile kernels for minutes, and in files that define INGOT_INLINE_BY_COMPILER. Only files
/// without flags for an instruction set may define it.
#if defined(INGOT_SANITIZED) || defined(INGOT_INLINE_BY_COMPILER)
#define INGOT_INLINE inline
#else
#define INGOT_INLINE [[gnu::always_inline]] inline
#endif
