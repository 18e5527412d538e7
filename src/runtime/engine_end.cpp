// Engine: how all requests are ended at once, and what holds then.
#include "base/check.h"
#include "kv/mutant.h"
#include "runtime/engine.h"

namespace ingot {

void Engine::end_active(FinishReason reason, const Error* error) {
  end_streams(reason, error);
  clear();
}

/// Drops those that have ended, who are all. What is under way has to come to rest first: it may
/// write to blocks that are given back here.
void Engine::clear() {
  if (scheduler_.under_way() > 0 && !INGOT_MUTANT(19)) {
    const double now = options_.now();
    timer_.begin(now);
    const StepWatch::Call call(watch_, now);
    steps_->drain();
  }
  timer_.end();
  scheduler_.abandon();
  drop_ended();
  observe_state();
}

/// With nothing under way every block is free or evictable, or one has been lost.
void Engine::check_idle() {
  is_idle_ = true;
  if (scheduler_.under_way() > 0) return;
  const KvCache& cache = steps_->cache();
  for (std::int32_t g = 0; g < cache.groups(); ++g) {
    const BlockPool& pool = cache.pool(g);
    const std::int32_t used = pool.total() - pool.available();
    INGOT_CHECK(used == cache.releasing(g), used, " blocks of group ", g, " are in use by nobody");
  }
  check_invariants();
}

void Engine::check_invariants() const {
  const KvCache& cache = steps_->cache();
  for (std::int32_t g = 0; g < cache.groups(); ++g) cache.pool(g).check();
  if (scheduler_.prefixes() != nullptr) scheduler_.prefixes()->check();
}

}  // namespace ingot
