// Broken invariants: how they are found, and how the one of the lowest seed is reported.
#pragma once

#include <cstdint>
#include <string>

#include "base/text.h"

namespace ingot::sim {

/// A seed that broke an invariant.
struct Violation {
  std::uint64_t seed = 0;
  std::string invariant;  ///< "I13"; "check" for one of the product's own, "crash" for a signal
  std::string message;
};

/// Prints a violation and what else is known of the run.
using PrintViolation = void (*)(const Violation& violation);

/// From here on failed checks and signals that end a process are violations of the seed that their
/// thread simulates.
void catch_violations(int threads, PrintViolation print);

/// This thread simulates `seed` now. Returns whether it is wanted: no lower one has failed.
bool begin_seed(std::uint64_t seed);
/// This thread simulates nothing more. Ends the process where another one found a violation and all
/// are done.
void end_seeds();

/// Reports a violation by this thread's seed. The process ends with status 1 as soon as all threads
/// are done with what they had begun: of several violations the one of the lowest seed is printed.
[[noreturn]] void violate(const char* invariant, const std::string& message);

}  // namespace ingot::sim

/// What always holds; the other arguments are joined to a message.
#define SIM_EXPECT(invariant, cond, ...)                                        \
  do {                                                                          \
    if (!(cond)) [[unlikely]]                                                   \
      ::ingot::sim::violate(invariant, ::ingot::cat(#cond, ": ", __VA_ARGS__)); \
  } while (false)
