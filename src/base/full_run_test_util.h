// How much tests with random inputs do. For tests only.
#pragma once

#include <cstdlib>

namespace ingot {

/// Whether tests run for as long as INGOT_FULL=1 asks them to, rather than for as long as every
/// build has time for.
inline bool is_full_run() { return std::getenv("INGOT_FULL") != nullptr; }

/// How many random inputs a test tries.
inline int random_runs(int usual, int full) { return is_full_run() ? full : usual; }

/// The same for a test that sanitizers make slow: with them always `sanitized`.
inline int random_runs(int usual, int full, int sanitized) {
#ifdef INGOT_SANITIZED
  constexpr bool kIsSanitized = true;
#else
  constexpr bool kIsSanitized = false;
#endif
  return kIsSanitized ? sanitized : random_runs(usual, full);
}

}  // namespace ingot
