// The interface of worlds: simulate one seed, and count events.
#pragma once

#include <cstdint>

#include "sim/coverage.h"

namespace ingot::sim {

/// Counts of a run, which show that the simulation did some work.
struct Totals {
  std::int64_t ticks = 0, requests = 0, tokens = 0, rows = 0;
  std::int64_t preemptions = 0, hits = 0, copies = 0;
  std::int64_t drafts = 0, accepted = 0;

  void add(const Totals& other);
};

/// Counts and coverage of many seeds.
struct Tally {
  Coverage coverage;
  Totals totals;
};

/// Simulates one seed for `ticks` ticks, and then until all requests have ended; returns the hash
/// of all events. `prints`: writes every event as a line to stdout.
std::uint64_t simulate(std::uint64_t seed, std::int64_t ticks, bool prints, Tally& tally);

}  // namespace ingot::sim
