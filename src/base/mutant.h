// Seeded bugs, which the simulator has to find: compiled into it alone, absent everywhere else.
#pragma once

/// Whether bug number n is to be there. A constant in the product; the simulator compiles the same
/// sources with INGOT_MUTANTS and turns one on at a time, to see that its checks can fail.
#ifdef INGOT_MUTANTS
namespace ingot {
inline int active_mutant = 0;
}  // namespace ingot
#define INGOT_MUTANT(n) (::ingot::active_mutant == (n))
#else
#define INGOT_MUTANT(n) false
#endif
