// Settings: what a seed decides before its first tick. Every seed has some of the faults and not
// others ("swarm"), so that rare ones are not drowned by frequent ones.
#pragma once

#include <cstdint>

#include "runtime/engine.h"
#include "sim/fake_model.h"
#include "sim/random.h"

namespace ingot::sim {

/// How a run of the engine ends.
enum class Ending {
  kFinish,  ///< all requests that are left end by themselves
  kDrain,   ///< with a time limit
  kCancel,  ///< all streams are cancelled
  kStop,    ///< the engine is stopped
};

/// Chances of things a tick, or of properties of a request.
struct Settings {
  bool only_scheduler = false;  ///< no engine, so that tokens can be taken back
  /// Weights of tenants who always have requests waiting, of so many rows at most and with room for
  /// all that run; empty = requests come as they like. For a scheduler alone.
  std::vector<double> backlogged{};
  std::int32_t rows_max = 0;

  // The machine.
  std::int32_t blocks = 0;
  std::int32_t window = 0;  ///< of a second group of layers; 0 = none
  std::int32_t window_blocks = 0;
  ExecutorLimits limits;
  EngineOptions engine;
  ModelFaults model;
  bool sleeps = false;  ///< the engine's thread sleeps when nothing was computed, until it is woken

  // What happens, a tick.
  std::int32_t alive_max = 12;
  double arrival = 0, burst = 0;
  double cancel = 0, drop = 0, stall = 0, resume = 0;
  double jump = 0, flush = 0, refuse = 0, truncate = 0;
  std::int64_t broken_at = -1, drain_at = -1;
  Ending ending = Ending::kFinish;

  // What requests are like.
  double shared = 0, domains = 0, adapters = 0, tenants = 0, priorities = 0, choices = 0;
  double large = 0, exact = 0, one_token = 0, end_first = 0, min_tokens = 0;
  double scores = 0, hidden = 0, embeddings = 0, deadline = 0, uncached = 0, stops = 0;
  std::int32_t tokens_max = 0;
  std::int32_t letters = 0;  ///< ids that random prompts are made of
};

/// The settings of a seed.
Settings draw_settings(Random& random, std::int64_t ticks);

/// Groups of layers with keys of 8 bytes.
std::vector<KvGroup> fake_groups(const Settings& settings);

}  // namespace ingot::sim
