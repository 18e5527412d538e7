// INGOT_MUTANT: deliberate bugs, compiled only into the simulator, whose checks must find them.
#pragma once

/// True if deliberate bug number n is active. Always false in the product. The simulator compiles
/// these sources with INGOT_MUTANTS and activates one bug at a time, to test its own checks.
#ifdef INGOT_MUTANTS
namespace ingot {
inline int active_mutant = 0;
}  // namespace ingot
#define INGOT_MUTANT(n) (::ingot::active_mutant == (n))
#else
#define INGOT_MUTANT(n) false
#endif
