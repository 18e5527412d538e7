// EngineSetup and EngineOptions: derives the limits of requests and of the scheduler.
#include "runtime/engine_setup.h"

#include <algorithm>

#include "base/index.h"

namespace ingot {

namespace {

/// The limit on the rows of a sequence that one step must compute; 0: no step must. Tokens that
/// other sequences draw take one row each.
std::int64_t whole_rows(const Spec& spec, const ExecutorLimits& limits) {
  const bool pools_all =
      limits.pools && (spec.pooling == Pooling::kMean || spec.pooling == Pooling::kCls);
  if (spec.causal && !pools_all) return 0;
  return limits.rows - (limits.logits_rows > 0 ? limits.sequences - 1 : 0);
}

RequestLimits request_limits(const ModelParts& parts, const EngineOptions& options) {
  const Spec& spec = parts.executor.model().spec;
  const ExecutorLimits& limits = parts.executor.limits();
  return {.vocab = spec.vocab,
          .ids = std::min(parts.ids, spec.vocab),
          .hidden = spec.hidden,
          .embeddings = spec.takes_embeddings(),
          .context = limits.context,
          .prompt_logprobs = limits.score_top,
          .text = parts.tokenizer != nullptr,
          .hidden_all = limits.out_rows >= limits.rows,
          .embedding = static_cast<bool>(parts.executor.model().embedding),
          .head = parts.executor.model().head() != nullptr,
          .types = parts.executor.model().types.rows,
          .pooled = limits.pools ? spec.pooled_cols() : 0,
          .whole_rows = whole_rows(spec, limits),
          .draft_rows = limits.draft_rows,
          .draft_model = limits.draft_rows > 0 && options.speculation.model != nullptr};
}

}  // namespace

EngineSetup engine_setup(const ModelParts& parts, const EngineOptions& options) {
  return {.steps = std::make_unique<ModelSteps>(parts.executor, parts.pool, parts.kernels,
                                                parts.ids, parts.profiled),
          .limits = request_limits(parts, options),
          .tokenizer = parts.tokenizer,
          .end_ids = parts.end_ids};
}

EngineOptions with_clock(EngineOptions options) {
  if (!options.now) options.now = steady_seconds;
  return options;
}

SchedulerLimits scheduler_limits(const StepRunner& steps, const EngineOptions& options) {
  return {.rows = steps.limits().rows,
          .sequences = steps.limits().sequences,
          .pipeline_depth = steps.steps_ahead(),
          .draft_rows = steps.limits().draft_rows,
          .step_seconds = options.step_seconds,
          .preemptions_max = options.preemptions_max,
          .prefix_cache = options.prefix_cache,
          .prefix = options.prefix,
          .waiting = options.waiting};
}

std::size_t under_way_max(const StepRunner& steps, const EngineOptions& options) {
  return options.waiting_max + to_size(steps.limits().sequences);
}

}  // namespace ingot
