// How many random inputs tests try, by INGOT_FULL. For tests only.
#pragma once

#include <cstdlib>

namespace ingot {

/// Whether INGOT_FULL=1 asks for the long runs of tests.
inline bool is_full_run() { return std::getenv("INGOT_FULL") != nullptr; }

/// How many random inputs a test tries.
inline int random_runs(int usual, int full) { return is_full_run() ? full : usual; }

/// As above, but always `sanitized` under a sanitizer, for tests that it makes slow.
inline int random_runs(int usual, int full, int sanitized) {
#ifdef INGOT_SANITIZED
  constexpr bool kIsSanitized = true;
#else
  constexpr bool kIsSanitized = false;
#endif
  return kIsSanitized ? sanitized : random_runs(usual, full);
}

}  // namespace ingot
