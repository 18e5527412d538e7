// INGOT_INLINE: forces inlining of functions in headers, for files that are compiled for a
// particular instruction set.
#pragma once

/// Forces inlining, so that no out-of-line copy exists. Otherwise the linker could use a copy that
/// was compiled with AVX-512 for all callers, and the program would crash on machines without
/// AVX-512. The compiler decides in sanitized builds, which run on the machine that built them and
/// would take minutes to compile. It also decides in files that define INGOT_INLINE_BY_COMPILER;
/// only files without compiler flags for an instruction set may define it.
#if defined(INGOT_SANITIZED) || defined(INGOT_INLINE_BY_COMPILER)
#define INGOT_INLINE inline
#else
#define INGOT_INLINE [[gnu::always_inline]] inline
#endif
