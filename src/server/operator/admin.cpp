// HTTP endpoints of the admin socket: drain, flush the cache, check invariants, show steps.
#include "load/json_object.h"
#include "server/common/service.h"
#include "server/operator/endpoints.h"

namespace ingot {

Reply admin_drain(const Call& call) {
  call.service.ask_to_stop();
  return HttpResponse{.body = R"({"status":"draining"})"};
}

Reply admin_flush_cache(const Call& call) {
  Engine& engine = call.service.engine();
  engine.between_steps([&] { engine.flush_prefixes(); });
  return HttpResponse{.body = R"({"status":"flushed"})"};
}

/// Ends the process if an invariant does not hold (decision 11).
Reply admin_check(const Call& call) {
  Engine& engine = call.service.engine();
  engine.between_steps([&] { engine.check_invariants(); });
  return HttpResponse{.body = R"({"status":"ok"})"};
}

namespace {

double milliseconds(double seconds) { return seconds * 1000; }

Json step_json(const StepRecord& r) {
  return json_object({{"number", static_cast<std::int64_t>(r.number)},
                      {"start_seconds", r.start_seconds},
                      {"ms", milliseconds(r.seconds)},
                      {"plan_ms", milliseconds(r.plan_seconds)},
                      {"forward_ms", milliseconds(r.forward_seconds)},
                      {"sample_ms", milliseconds(r.sample_seconds)},
                      {"deliver_ms", milliseconds(r.deliver_seconds)},
                      {"commit_ms", milliseconds(r.commit_seconds)},
                      {"decode_rows", r.decode_rows},
                      {"prefill_rows", r.prefill_rows},
                      {"verify_rows", r.verify_rows},
                      {"drafts", r.drafts.drafts},
                      {"accepted_drafts", r.drafts.accepted},
                      {"output_rows", r.output_rows},
                      {"scored_rows", r.scored_rows},
                      {"row_budget", r.row_budget},
                      {"sequences", r.sequences},
                      {"running", r.running},
                      {"waiting", r.waiting},
                      {"paused", r.paused},
                      {"blocks_free", r.blocks_free},
                      {"blocks_evictable", r.blocks_evictable},
                      {"blocks_referenced", r.blocks_referenced},
                      {"blocks_reserved", r.blocks_reserved},
                      {"preemptions", r.preemptions},
                      {"cached_tokens", r.cached_tokens}});
}

}  // namespace

Reply admin_steps(const Call& call) {
  Json steps = Json::array();
  for (const StepRecord& record : call.service.steps()) steps.push(step_json(record));
  Json j = Json::object();
  j.set("steps", std::move(steps));
  return HttpResponse{.body = j.dump()};
}

}  // namespace ingot
