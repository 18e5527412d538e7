// Broken invariants: catches them, and reports the one with the lowest seed.
#pragma once

#include <cstdint>
#include <string>

#include "base/text.h"

namespace ingot::sim {

/// A seed that broke an invariant.
struct Violation {
  std::uint64_t seed = 0;
  std::string invariant;  ///< "I13"; "check" for an INGOT_CHECK, "crash" for a signal
  std::string message;
};

/// Prints a violation and the state of the run.
using PrintViolation = void (*)(const Violation& violation);

/// Makes failed checks and fatal signals violations of the seed that their thread simulates.
void catch_violations(int threads, PrintViolation print);

/// Says that this thread simulates `seed` now. Returns false if a lower seed has failed.
bool begin_seed(std::uint64_t seed);
/// Says that this thread is done. Ends the process if all threads are done and one found a
/// violation.
void end_seeds();

/// Reports a violation of this thread's seed. The process ends with status 1 once all threads have
/// ended their seeds; the violation with the lowest seed is printed.
[[noreturn]] void violate(const char* invariant, const std::string& message);

}  // namespace ingot::sim

/// Reports a violation of `invariant` unless `cond` holds; the other arguments form the message.
#define SIM_EXPECT(invariant, cond, ...)                                        \
  do {                                                                          \
    if (!(cond)) [[unlikely]]                                                   \
      ::ingot::sim::violate(invariant, ::ingot::cat(#cond, ": ", __VA_ARGS__)); \
  } while (false)
