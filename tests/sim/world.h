// What the worlds of a seed share.
#pragma once

#include <cstdint>

#include "sim/coverage.h"

namespace ingot::sim {

/// What was done in a run, so that it can be seen that anything was.
struct Totals {
  std::int64_t ticks = 0, requests = 0, tokens = 0, rows = 0;
  std::int64_t preemptions = 0, hits = 0, copies = 0;

  void add(const Totals& other);
};

/// What a run of many seeds leaves behind.
struct Tally {
  Coverage coverage;
  Totals totals;
};

/// Simulates one seed for so many ticks and until all that is left has ended; returns the hash of
/// all that happened. `prints`: every event is a line on stdout.
std::uint64_t simulate(std::uint64_t seed, std::int64_t ticks, bool prints, Tally& tally);

}  // namespace ingot::sim
