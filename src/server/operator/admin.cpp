// Administration: what only the owner of the Unix socket may do.
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

/// Where they do not hold, the process has ended (decision 11).
Reply admin_check(const Call& call) {
  Engine& engine = call.service.engine();
  engine.between_steps([&] { engine.check_invariants(); });
  return HttpResponse{.body = R"({"status":"ok"})"};
}

namespace {

double milliseconds(double seconds) { return seconds * 1000; }

Json step_json(const StepRecord& r) {
  Json j = Json::object();
  j.set("number", static_cast<std::int64_t>(r.number));
  j.set("start_seconds", r.start_seconds);
  j.set("ms", milliseconds(r.seconds));
  j.set("plan_ms", milliseconds(r.plan_seconds));
  j.set("forward_ms", milliseconds(r.forward_seconds));
  j.set("sample_ms", milliseconds(r.sample_seconds));
  j.set("deliver_ms", milliseconds(r.deliver_seconds));
  j.set("commit_ms", milliseconds(r.commit_seconds));
  j.set("decode_rows", r.decode_rows);
  j.set("prefill_rows", r.prefill_rows);
  j.set("verify_rows", r.verify_rows);
  j.set("output_rows", r.output_rows);
  j.set("scored_rows", r.scored_rows);
  j.set("row_budget", r.row_budget);
  j.set("sequences", r.sequences);
  j.set("running", r.running);
  j.set("waiting", r.waiting);
  j.set("paused", r.paused);
  j.set("blocks_free", r.blocks_free);
  j.set("blocks_evictable", r.blocks_evictable);
  j.set("blocks_referenced", r.blocks_referenced);
  j.set("blocks_reserved", r.blocks_reserved);
  j.set("preemptions", r.preemptions);
  j.set("cached_tokens", r.cached_tokens);
  return j;
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
