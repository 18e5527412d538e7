// Chooses the number of random test inputs by the environment variable INGOT_FULL. For tests only.
#pragma once

#include <cstdlib>

namespace ingot {

/// Returns whether the environment variable INGOT_FULL is set. It asks for long test runs.
inline bool is_full_run() { return std::getenv("INGOT_FULL") != nullptr; }

/// Returns the number of random inputs that a test tries: `full` in a full run, else `usual`.
inline int random_runs(int usual, int full) { return is_full_run() ? full : usual; }

/// Returns `sanitized` in builds with sanitizers, which are slow; else random_runs(usual, full).
inline int random_runs(int usual, int full, int sanitized) {
#ifdef INGOT_SANITIZED
  constexpr bool kIsSanitized = true;
#else
  constexpr bool kIsSanitized = false;
#endif
  return kIsSanitized ? sanitized : random_runs(usual, full);
}

}  // namespace ingot
