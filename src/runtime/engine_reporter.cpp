// EngineReporter: makes step and request records from an engine's state.
#include "runtime/engine_reporter.h"

namespace ingot {

EngineReporter::EngineReporter(EngineObserver* observer, const Sources& sources,
                               std::size_t requests_max)
    : observer_(observer), from_(sources), origin_(sources.now()) {
  if (observer != nullptr) freeing_.reserve(requests_max);
}

void EngineReporter::step(const Step& step, const StepPhases& phases, const DraftCounts& drafts) {
  if (observer_ == nullptr) return;
  const double now = from_.now();
  StepRecord r = state_now();
  r.number = static_cast<std::uint64_t>(step.number) + 1;
  r.start_seconds = phases.tick_begun - origin_;
  r.seconds = now - phases.tick_begun;
  r.plan_seconds = phases.planned - phases.tick_begun;
  r.forward_seconds = phases.computed - phases.planned;
  r.sample_seconds = phases.sampled - phases.computed;
  r.deliver_seconds = phases.delivered - phases.sampled;
  r.commit_seconds = now - phases.delivered;
  r.decode_rows = step.decode_rows - step.verify_rows;
  r.prefill_rows = step.rows - step.decode_rows;
  r.verify_rows = step.verify_rows;
  r.drafts = drafts;
  r.output_rows = step.outputs;
  r.scored_rows = step.scores;
  r.row_budget = step.rows_max;
  r.sequences = step.sequences;
  if (const OpSeconds* ops = from_.runner.op_seconds(); ops != nullptr) {
    r.profiled = true;
    r.op_seconds = *ops;
  }
  observer_->step(r);
}

void EngineReporter::state() {
  if (observer_ != nullptr) observer_->state(state_now());
}

void EngineReporter::report_token(const RunningRequest& request) {
  if (request.generated() > 1) return observer_->token(request.last_gap());
  observer_->first_token(request.record(origin_, from_.now()));
}

void EngineReporter::ended(const RunningRequest& request) {
  if (observer_ == nullptr) return;
  observer_->request(request.record(origin_, from_.now()));
  // If successors (QueuePlace) fill the list, drops the report: a step must not allocate.
  if (request.cancelled_at() == kNever || freeing_.size() == freeing_.capacity()) return;
  freeing_.push_back({.cancelled_at = request.cancelled_at(), .steps = from_.scheduler.planned()});
}

void EngineReporter::freed() {
  if (freeing_.empty()) return;
  const double now = from_.now();
  const std::int64_t steps_over = from_.scheduler.planned() - from_.scheduler.under_way();
  std::erase_if(freeing_, [&](const Freeing& f) {
    if (f.steps > steps_over) return false;
    observer_->freed(now - f.cancelled_at);
    return true;
  });
}

void EngineReporter::never_ran(RequestRecord record, double submitted) const {
  if (observer_ == nullptr) return;
  record.queued_seconds = submitted - origin_;
  record.end_seconds = from_.now() - origin_;
  observer_->request(record);
}

void EngineReporter::rejected(Rejection reason, std::size_t requests) const {
  if (observer_ != nullptr) observer_->rejected(reason, requests);
}

/// A record of the current state, without the fields of a step.
StepRecord EngineReporter::state_now() const {
  const Scheduler& scheduler = from_.scheduler;
  const auto running = static_cast<std::int32_t>(scheduler.running());
  // Includes requests in the inbox, which came since the plan.
  const auto waiting = static_cast<std::int32_t>(from_.under_way()) - running;
  StepRecord r{.running = running,
               .waiting = waiting,
               .preemptions = scheduler.preemptions(),
               .cached_tokens = scheduler.cached_tokens()};
  for (const auto& [id, request] : from_.requests) {
    const Sequence& s = request->sequence();
    r.paused += s.paused ? 1 : 0;
    r.ready += s.admitted && !s.paused ? 1 : 0;
  }
  const KvCache& cache = from_.runner.cache();
  for (std::int32_t g = 0; g < cache.groups(); ++g) {
    const BlockPool& pool = cache.pool(g);
    r.blocks_free += pool.free();
    r.blocks_evictable += pool.evictable();
    r.blocks_total += pool.total();
    r.blocks_reserved += scheduler.reserved(g);
    r.prefix_blocks += pool.cached();
    r.prefix_bytes += pool.cached() * cache.group(g).bytes_per_block();
    r.evictions += pool.evictions();
  }
  r.blocks_referenced = r.blocks_total - r.blocks_free - r.blocks_evictable;
  return r;
}

}  // namespace ingot
