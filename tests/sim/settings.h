// Settings: chances and sizes that a seed draws before its first tick. Each seed has only some of
// the faults ("swarm testing"), so that frequent faults do not hide rare ones.
#pragma once

#include <cstdint>

#include "runtime/engine.h"
#include "sim/fake_model.h"
#include "sim/random.h"

namespace ingot::sim {

/// How a run of the engine ends.
enum class Ending {
  kFinish,  ///< all remaining requests end by themselves
  kDrain,   ///< the engine drains, with a time limit
  kCancel,  ///< all streams are cancelled
  kStop,    ///< the engine is stopped
};

/// Chances of events in a tick and of properties of a request, and sizes.
struct Settings {
  bool only_scheduler = false;  ///< without an engine, so that tokens can be taken back
  /// Weights of tenants that always have waiting requests; empty: requests arrive at random. With
  /// only_scheduler.
  std::vector<double> backlogged{};
  std::int32_t rows_max = 0;

  // The machine.
  std::int32_t blocks = 0;
  std::int32_t window = 0;  ///< window of a second KV group; 0: one group without window
  std::int32_t window_blocks = 0;
  ExecutorLimits limits;
  EngineOptions engine;
  ModelSettings model;
  bool sleeps = false;  ///< the engine's thread sleeps when nothing was computed, until it is woken

  // Events of a tick.
  std::int32_t alive_max = 12;
  double arrival = 0, burst = 0;
  /// Chance that sequences of falling length arrive until there are alive_max. With only_scheduler.
  double crowd = 0;
  double cancel = 0, drop = 0, stall = 0, resume = 0;
  double jump = 0, flush = 0, refuse = 0, truncate = 0;
  std::int64_t broken_at = -1, drain_at = -1;
  Ending ending = Ending::kFinish;

  // Properties of requests.
  double shared = 0, domains = 0, adapters = 0, tenants = 0, priorities = 0, choices = 0;
  double large = 0, exact = 0, one_token = 0, end_first = 0, min_tokens = 0;
  double scores = 0, hidden = 0, embeddings = 0, deadline = 0, uncached = 0, stops = 0, host = 0;
  double constrained = 0, budgets = 0;
  double live = 0;           ///< a request continues the rows of one that has ended
  double pooled = 0;         ///< a request wants a pooled result
  bool pools_whole = false;  ///< one step computes all rows of such a request

  // Drafts, in addition to `limits.draft_rows` and `engine.speculation`.
  double drafts = 0;         ///< a sequence gets drafts when a step is planned
  double right = 0;          ///< all of them are right; else they are right up to some place
  double likelihood = 0;     ///< estimated chance that a draft is accepted
  double draft_seconds = 0;  ///< estimated time that a draft takes
  double draft_failure = 0;  ///< no memory is left while drafts are made
  bool has_drafter = false;  ///< drafts come from a FakeDrafter too, besides lookups
  double choosy = 0;         ///< a request chooses its drafts
  double predicted = 0;      ///< a request has a prediction
  std::int32_t tokens_max = 0;
  std::int32_t letters = 0;  ///< different ids in random prompts
};

/// Draws the settings of a seed.
Settings draw_settings(Random& random, std::int64_t ticks);

/// KV groups with keys of 8 bytes.
std::vector<KvGroup> fake_groups(const Settings& settings);

}  // namespace ingot::sim
