// Simulates one seed, from its settings to its hash.
#include "sim/world.h"

#include "backend/cpu/cpu_backend.h"
#include "sim/client_world.h"
#include "sim/scheduler_world.h"

namespace ingot::sim {

void Totals::add(const Totals& other) {
  ticks += other.ticks;
  requests += other.requests;
  tokens += other.tokens;
  rows += other.rows;
  preemptions += other.preemptions;
  hits += other.hits;
  copies += other.copies;
  drafts += other.drafts;
  accepted += other.accepted;
}

std::uint64_t simulate(std::uint64_t seed, std::int64_t ticks, bool prints, Tally& tally) {
  thread_local ThreadPool pool(1);
  thread_local CpuBackend backend(pool, scalar_kernels());
  Random random(seed);
  Trace trace(prints);
  const Settings settings = draw_settings(random, ticks);
  trace.add("# blocks of keys, # with a window of #; # steps under way", settings.blocks,
            settings.window_blocks, settings.window, settings.model.steps_ahead);
  trace.add("# rows a step, # sequences, hashes of # bits, # preemptions", settings.limits.rows,
            settings.limits.sequences, settings.engine.prefix.hash_bits,
            settings.engine.preemptions_max);
  if (settings.only_scheduler) {
    SchedulerWorld(settings, backend, random, trace, tally).run(ticks);
  } else {
    ClientWorld(settings, backend, random, trace, tally).run(ticks);
  }
  return trace.hash();
}

}  // namespace ingot::sim
