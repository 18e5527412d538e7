// INGOT_INLINE: forces inlining of functions in headers, for files that are compiled for a
// particular instruction set.
#pragma once

/// Forces inlining, so that no out-of-line copy exists. Otherwise the linker could choose one copy
/// for all callers, and a copy compiled with AVX-512 would crash on machines without AVX-512. In
/// sanitized builds the compiler decides what to inline: forced inlining would add minutes, and the
/// programs run where they were built. INGOT_INLINE_BY_COMPILER lets the compiler decide, too. Only
/// files that are compiled without flags for an instruction set may define this macro.
#if defined(INGOT_SANITIZED) || defined(INGOT_INLINE_BY_COMPILER)
#define INGOT_INLINE inline
#else
#define INGOT_INLINE [[gnu::always_inline]] inline
#endif
