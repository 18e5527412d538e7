// EngineMetrics: updates counters, gauges and histograms from events.
#include "runtime/observe/engine_metrics.h"

#include "base/index.h"

#include <algorithm>

namespace ingot {

namespace {

double as_number(std::int64_t count) { return static_cast<double>(count); }

bool ended_by_itself(FinishReason reason) {
  return reason == FinishReason::kStop || reason == FinishReason::kLength;
}

}  // namespace

void EngineMetrics::step(const StepRecord& r) {
  const std::lock_guard lock(mutex_);
  // The gap counts only if a running request with a ready reader waited for this step.
  if (ready_ > 0) {
    counts_.stall_seconds_max = std::max(counts_.stall_seconds_max, r.start_seconds - step_end_);
  }
  step_end_ = r.start_seconds + r.seconds;
  ++counts_.steps;
  counts_.step_seconds.add(r.seconds);
  counts_.step_rows.add(r.rows());
  counts_.drafts += r.drafts;
  take_state(r);
}

void EngineMetrics::state(const StepRecord& r) {
  const std::lock_guard lock(mutex_);
  take_state(r);
}

void EngineMetrics::take_state(const StepRecord& r) {
  counts_.running = r.running;
  counts_.waiting = r.waiting;
  counts_.paused = r.paused;
  ready_ = r.ready;
  counts_.blocks_free = r.blocks_free;
  counts_.blocks_evictable = r.blocks_evictable;
  counts_.blocks_referenced = r.blocks_referenced;
  counts_.blocks_total = r.blocks_total;
  counts_.blocks_reserved = r.blocks_reserved;
  counts_.prefix_entries = r.prefix_blocks;
  counts_.prefix_bytes = r.prefix_bytes;
  counts_.prefix_evictions = static_cast<std::uint64_t>(r.evictions);
  counts_.preemptions = static_cast<std::uint64_t>(r.preemptions);
}

void EngineMetrics::first_token(const RequestRecord& r) {
  const std::lock_guard lock(mutex_);
  ++counts_.generation_tokens;
  counts_.first_token_seconds.add(*r.first_token_seconds - r.queued_seconds);
  add_prompt(r, *r.first_token_seconds);
}

void EngineMetrics::add_prompt(const RequestRecord& r, double done_seconds) {
  const std::int64_t ready = r.cached_tokens + r.computed_tokens;
  counts_.prompt_tokens += static_cast<std::uint64_t>(ready);
  if (r.reads_cache) counts_.prefix_queries += static_cast<std::uint64_t>(r.prompt_tokens);
  counts_.prefix_hits += static_cast<std::uint64_t>(r.cached_tokens);
  counts_.queue_seconds.add(*r.start_seconds - r.queued_seconds);
  if (ready == r.prompt_tokens) counts_.prefill_seconds.add(done_seconds - *r.start_seconds);
}

void EngineMetrics::token(double gap_seconds) {
  const std::lock_guard lock(mutex_);
  ++counts_.generation_tokens;
  counts_.token_gap_seconds.add(gap_seconds);
}

void EngineMetrics::request(const RequestRecord& r) {
  const std::lock_guard lock(mutex_);
  const FinishReason reason = r.finish.value_or(FinishReason::kError);
  ++at(counts_.finished, reason);
  // No first_token event counted this request: it had no token, or was cut, or ended at once.
  if (r.generated_tokens == 0 && r.start_seconds) {
    add_prompt(r, r.first_token_seconds.value_or(r.end_seconds));
  }
  counts_.request_prompt_tokens.add(as_number(r.prompt_tokens));
  counts_.request_generation_tokens.add(as_number(r.generated_tokens));
  counts_.request_max_tokens.add(as_number(r.max_tokens));
  if (r.choices > 0) counts_.request_choices.add(r.choices);
  if (!ended_by_itself(reason)) return;
  counts_.request_seconds.add(r.end_seconds - r.queued_seconds);
  if (r.start_seconds) counts_.inference_seconds.add(r.end_seconds - *r.start_seconds);
  if (r.generated_tokens > 0) counts_.decode_seconds.add(r.end_seconds - *r.first_token_seconds);
}

void EngineMetrics::freed(double seconds) {
  const std::lock_guard lock(mutex_);
  counts_.cancel_to_free_seconds.add(seconds);
}

void EngineMetrics::rejected(Rejection reason, std::size_t requests) {
  const std::lock_guard lock(mutex_);
  at(counts_.rejected, reason) += requests;
}

EngineCounts EngineMetrics::snapshot() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace ingot
