// Seeded bugs that the simulator has to find; they are compiled into the simulator alone.
#pragma once

/// Whether bug number n is active. Always false in the product. The simulator compiles the same
/// sources with INGOT_MUTANTS and activates one bug at a time, to show that its checks can fail.
#ifdef INGOT_MUTANTS
namespace ingot {
inline int active_mutant = 0;
}  // namespace ingot
#define INGOT_MUTANT(n) (::ingot::active_mutant == (n))
#else
#define INGOT_MUTANT(n) false
#endif
