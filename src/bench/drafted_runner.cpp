// DraftedRunner: submits a batch of equal requests, and times the steps behind their prompts.
#include "bench/drafted_runner.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/checksum.h"
#include "base/error.h"
#include "runtime/sampling/digest.h"
#include "runtime/schedule/clock.h"

namespace ingot {

std::int64_t DraftedRunner::Run::total() const {
  return std::accumulate(drawn.begin(), drawn.end(), std::int64_t{0});
}

bool DraftedRunner::Run::has_begun() const {
  return std::all_of(drawn.begin(), drawn.end(), [](std::int64_t count) { return count > 0; });
}

void DraftedRunner::submit(const Workload& workload, Run& run) {
  ++runs_;
  for (std::int64_t i = 0; i < workload.batch; ++i) {
    Request request;
    for (std::int64_t at = 0; at <= workload.depth; ++at) {
      request.prompt.push_back(workload_token(i, at, vocab_));
    }
    request.max_tokens = workload.tokens;
    request.ignore_eos = true;
    request.digest = true;
    // With a domain of its own, a run finds its text in no earlier run's.
    request.domain = {runs_, 0};
    auto stream = engine_.submit(std::move(request));
    INGOT_CHECK(stream.has_value(), "an engine without room for ", workload.batch, " requests");
    run.streams.push_back(std::move(*stream));
  }
  run.drawn.resize(run.streams.size());
}

double DraftedRunner::decode(const Workload& workload, Run& run) {
  double begun = 0, ended = 0;
  std::int64_t before = 0;
  for (bool more = true; more;) {
    on_step_();
    const bool had_begun = run.has_begun();
    more = engine_.step();
    engine_.require_alive();
    const double now = steady_seconds();
    const std::int64_t drawn = run.total();
    for (std::size_t i = 0; i < run.streams.size(); ++i) {
      while (const auto delta = run.streams[i].try_next()) run.drawn[i] += std::ssize(delta->ids);
    }
    if (run.total() > drawn) ended = now;
    if (had_begun || !run.has_begun()) continue;
    begun = now;
    before = run.total();
  }
  const std::int64_t timed = run.total() - before;
  INGOT_CHECK(timed > 0, "a decode of ", workload.tokens, " tokens has no time");
  return (ended - begun) / static_cast<double>(timed) *
         static_cast<double>(workload.tokens * workload.batch);
}

WorkloadResult DraftedRunner::run(const Workload& workload) {
  Run run;
  submit(workload, run);
  WorkloadResult result;
  result.seconds = decode(workload, run);
  std::vector<std::uint64_t> digests;
  for (Stream& stream : run.streams) {
    const Outcome& outcome = stream.outcome();
    if (outcome.error) throw Error(*outcome.error);
    result.drafted += outcome.drafts;
    result.accepted += outcome.accepted_drafts;
    digests.push_back(outcome.digest.value_or(0));
    result.sequence_digests.push_back(digest_text(digests.back()));
  }
  result.digest = digests.size() == 1 ? result.sequence_digests.front()
                                      : digest_text(checksum(std::as_bytes(std::span(digests))));
  return result;
}

}  // namespace ingot
