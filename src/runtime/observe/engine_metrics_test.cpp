// EngineMetrics: sums of known records, and snapshots while another thread adds.
#include "runtime/observe/engine_metrics.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "base/temp_folder_test_util.h"
#include "runtime/observe/engine_log.h"

namespace ingot {
namespace {

using Buckets = std::map<double, std::uint64_t>;

/// Buckets that hold something, by their upper bound; -1 = above all bounds.
Buckets buckets(const Histogram& h) {
  Buckets found;
  for (std::size_t i = 0; i < h.counts().size(); ++i) {
    if (h.counts()[i] == 0) continue;
    found[i < h.bounds().size() ? h.bounds()[i] : -1] = h.counts()[i];
  }
  return found;
}

/// Submitted at 10, in its first step at 10.7, first token at 13, end at 63.
RequestRecord example() {
  return {.id = 3,
          .queued_seconds = 10,
          .start_seconds = 10.75,
          .first_token_seconds = 13,
          .end_seconds = 63,
          .prompt_tokens = 150,
          .cached_tokens = 48,
          .computed_tokens = 102,
          .generated_tokens = 20,
          .max_tokens = 64,
          .choices = 4,
          .finish = FinishReason::kStop};
}

StepRecord step(std::uint64_t number, double start, double seconds) {
  return {.number = number, .start_seconds = start, .seconds = seconds};
}

TEST(EngineMetrics, BeginWithNothing) {
  const EngineCounts c = EngineMetrics().snapshot();
  EXPECT_EQ(c.steps, 0u);
  EXPECT_EQ(c.kv_usage(), 0);
  EXPECT_EQ(c.first_token_seconds.count(), 0u);
}

TEST(EngineMetrics, StepsAddUpTheirDrafts) {
  EngineMetrics metrics;
  StepRecord first = step(1, 0, 1);
  first.drafts.add(3);
  first.drafts.add(0);
  first.drafts.accept(0);
  first.drafts.accept(1);
  StepRecord second = step(2, 1, 1);
  second.drafts.add(2);
  second.drafts.accept(0);
  metrics.step(first);
  metrics.step(second);
  metrics.state(second);
  const DraftCounts drafts = metrics.snapshot().drafts;
  EXPECT_EQ(drafts.lists, 2);
  EXPECT_EQ(drafts.drafts, 5);
  EXPECT_EQ(drafts.accepted, 3);
  EXPECT_EQ(drafts.accepted_at[0], 2);
  EXPECT_EQ(drafts.accepted_at[1], 1);
  EXPECT_EQ(drafts.accepted_at[2], 0);
}

TEST(EngineMetrics, AFirstTokenCountsThePromptAndTheTimesToIt) {
  EngineMetrics metrics;
  RequestRecord r = example();
  r.generated_tokens = 1;
  metrics.first_token(r);
  const EngineCounts c = metrics.snapshot();
  EXPECT_EQ(c.prompt_tokens, 150u);
  EXPECT_EQ(c.prefix_queries, 150u);
  EXPECT_EQ(c.prefix_hits, 48u);
  EXPECT_EQ(c.generation_tokens, 1u);
  EXPECT_EQ(buckets(c.first_token_seconds), (Buckets{{5, 1}}));
  EXPECT_EQ(buckets(c.queue_seconds), (Buckets{{.8, 1}}));
  EXPECT_EQ(buckets(c.prefill_seconds), (Buckets{{2.5, 1}}));
  EXPECT_EQ(c.first_token_seconds.sum(), 3);
  EXPECT_EQ(c.queue_seconds.sum(), 0.75);
  EXPECT_EQ(c.prefill_seconds.sum(), 2.25);
  EXPECT_EQ(c.token_gap_seconds.count(), 0u);
}

TEST(EngineMetrics, WhatMayNotReadThePrefixesIsNoQuery) {
  EngineMetrics metrics;
  RequestRecord r = example();
  r.reads_cache = false;
  r.cached_tokens = 0;
  r.computed_tokens = 150;
  metrics.first_token(r);
  EXPECT_EQ(metrics.snapshot().prompt_tokens, 150u);
  EXPECT_EQ(metrics.snapshot().prefix_queries, 0u);
}

TEST(EngineMetrics, FurtherTokensCountWithTheirGaps) {
  EngineMetrics metrics;
  for (const double gap : {0.0, 0.01, 0.03, 0.04, 100.0}) metrics.token(gap);
  const EngineCounts c = metrics.snapshot();
  EXPECT_EQ(c.generation_tokens, 5u);
  EXPECT_EQ(buckets(c.token_gap_seconds), (Buckets{{.01, 2}, {.05, 2}, {-1, 1}}));
}

TEST(EngineMetrics, TheEndOfARequest) {
  EngineMetrics metrics;
  metrics.request(example());
  const EngineCounts c = metrics.snapshot();
  EXPECT_EQ(c.finished_by(FinishReason::kStop), 1u);
  EXPECT_EQ(buckets(c.request_seconds), (Buckets{{60, 1}}));    // 53
  EXPECT_EQ(buckets(c.inference_seconds), (Buckets{{60, 1}}));  // 52.25
  EXPECT_EQ(c.inference_seconds.sum(), 52.25);
  EXPECT_EQ(buckets(c.decode_seconds), (Buckets{{50, 1}}));
  EXPECT_EQ(buckets(c.request_prompt_tokens), (Buckets{{200, 1}}));
  EXPECT_EQ(buckets(c.request_generation_tokens), (Buckets{{20, 1}}));
  EXPECT_EQ(buckets(c.request_max_tokens), (Buckets{{100, 1}}));
  EXPECT_EQ(buckets(c.request_choices), (Buckets{{5, 1}}));
  EXPECT_EQ(c.prompt_tokens, 0u) << "counted with the first token";
}

TEST(EngineMetrics, APromptWithoutTokensCountsAtItsEnd) {
  EngineMetrics metrics;
  RequestRecord r = example();
  r.first_token_seconds.reset();
  r.generated_tokens = 0;
  r.choices = 0;
  r.finish = FinishReason::kLength;
  metrics.request(r);
  const EngineCounts c = metrics.snapshot();
  EXPECT_EQ(c.finished_by(FinishReason::kLength), 1u);
  EXPECT_EQ(c.prompt_tokens, 150u);
  EXPECT_EQ(c.prefill_seconds.sum(), 52.25);
  EXPECT_EQ(c.first_token_seconds.count(), 0u);
  EXPECT_EQ(c.decode_seconds.count(), 0u);
  EXPECT_EQ(buckets(c.request_generation_tokens), (Buckets{{1, 1}}));
  EXPECT_EQ(c.request_choices.count(), 0u) << "not the first of its choices";
}

TEST(EngineMetrics, WhoIsCutOffHasNoLatency) {
  EngineMetrics metrics;
  RequestRecord r = example();
  for (const FinishReason finish :
       {FinishReason::kCancelled, FinishReason::kError, FinishReason::kCancelled}) {
    r.finish = finish;
    metrics.request(r);
  }
  r = {.id = 9, .queued_seconds = 5, .end_seconds = 6, .finish = FinishReason::kError};
  metrics.request(r);
  const EngineCounts c = metrics.snapshot();
  EXPECT_EQ(c.finished_by(FinishReason::kCancelled), 2u);
  EXPECT_EQ(c.finished_by(FinishReason::kError), 2u);
  EXPECT_EQ(c.finished_by(FinishReason::kStop), 0u);
  EXPECT_EQ(c.request_seconds.count(), 0u);
  EXPECT_EQ(c.decode_seconds.count(), 0u);
  EXPECT_EQ(c.inference_seconds.count(), 0u);
}

TEST(EngineMetrics, ACutRequestCountsWhatItTook) {
  EngineMetrics metrics;
  RequestRecord r = example();
  r.finish = FinishReason::kCancelled;
  metrics.request(r);
  EngineCounts c = metrics.snapshot();
  EXPECT_EQ(buckets(c.request_prompt_tokens), (Buckets{{200, 1}}));
  EXPECT_EQ(buckets(c.request_generation_tokens), (Buckets{{20, 1}}));
  EXPECT_EQ(buckets(c.request_max_tokens), (Buckets{{100, 1}}));
  EXPECT_EQ(buckets(c.request_choices), (Buckets{{5, 1}}));
  EXPECT_EQ(c.prompt_tokens, 0u) << "counted with the first token";
  // During its prefill: 48 tokens were cached, 30 are computed.
  r.first_token_seconds.reset();
  r.generated_tokens = 0;
  r.computed_tokens = 30;
  metrics.request(r);
  c = metrics.snapshot();
  EXPECT_EQ(c.prompt_tokens, 78u);
  EXPECT_EQ(c.prefix_queries, 150u);
  EXPECT_EQ(c.prefix_hits, 48u);
  EXPECT_EQ(c.queue_seconds.sum(), 0.75);
  EXPECT_EQ(c.prefill_seconds.count(), 0u) << "it did not end";
  EXPECT_EQ(c.first_token_seconds.count(), 0u);
  // While it waits.
  r = {.id = 9, .prompt_tokens = 150, .max_tokens = 64, .finish = FinishReason::kCancelled};
  metrics.request(r);
  c = metrics.snapshot();
  EXPECT_EQ(c.prompt_tokens, 78u);
  EXPECT_EQ(c.queue_seconds.count(), 1u);
  EXPECT_EQ(buckets(c.request_prompt_tokens), (Buckets{{200, 3}}));
}

TEST(EngineMetrics, StepsAddUpAndTheLastOneSaysWhatIs) {
  EngineMetrics metrics;
  StepRecord r = step(1, 0, 0.002);
  r.decode_rows = 3;
  r.prefill_rows = 40;
  r.verify_rows = 5;
  r.preemptions = 4;
  metrics.step(r);
  r = step(2, 1, 20);
  r.decode_rows = 1;
  r.running = 5;
  r.waiting = 2;
  r.paused = 1;
  r.blocks_free = 10;
  r.blocks_evictable = 20;
  r.blocks_referenced = 90;
  r.blocks_total = 120;
  r.blocks_reserved = 7;
  r.prefix_blocks = 60;
  r.prefix_bytes = 61440;
  r.preemptions = 6;
  r.evictions = 8;
  metrics.step(r);
  const EngineCounts c = metrics.snapshot();
  EXPECT_EQ(c.steps, 2u);
  EXPECT_EQ(buckets(c.step_seconds), (Buckets{{.0025, 1}, {-1, 1}}));
  EXPECT_EQ(buckets(c.step_rows), (Buckets{{1, 1}, {64, 1}}));
  EXPECT_EQ(c.step_rows.sum(), 49);
  EXPECT_EQ(c.preemptions, 6u);
  EXPECT_EQ(c.running, 5);
  EXPECT_EQ(c.waiting, 2);
  EXPECT_EQ(c.paused, 1);
  EXPECT_EQ(c.blocks_free, 10);
  EXPECT_EQ(c.blocks_evictable, 20);
  EXPECT_EQ(c.blocks_referenced, 90);
  EXPECT_EQ(c.blocks_reserved, 7);
  EXPECT_EQ(c.prefix_entries, 60);
  EXPECT_EQ(c.prefix_bytes, 61440);
  EXPECT_EQ(c.prefix_evictions, 8u);
  EXPECT_EQ(c.kv_usage(), 0.75);
}

TEST(EngineMetrics, ATurnWithoutAStepSaysWhatIsAndCountsNothing) {
  EngineMetrics metrics;
  StepRecord r = step(1, 0, 1);
  r.running = 5;
  r.blocks_referenced = 9;
  metrics.step(r);
  metrics.state({.waiting = 1, .blocks_total = 7, .preemptions = 3});
  const EngineCounts c = metrics.snapshot();
  EXPECT_EQ(c.steps, 1u);
  EXPECT_EQ(c.running, 0);
  EXPECT_EQ(c.waiting, 1);
  EXPECT_EQ(c.blocks_referenced, 0);
  EXPECT_EQ(c.blocks_total, 7);
  EXPECT_EQ(c.preemptions, 3u);
}

TEST(EngineMetrics, AStallIsTimeBetweenStepsWhileSomebodyWaitsForOne) {
  EngineMetrics metrics;
  const auto stall = [&] { return metrics.snapshot().stall_seconds_max; };
  StepRecord r = step(1, 100, 1);
  r.running = 2;
  r.ready = 2;
  metrics.step(r);
  EXPECT_EQ(stall(), 0) << "nothing was before it";
  r.start_seconds = 101.5;
  metrics.step(r);
  EXPECT_EQ(stall(), 0.5);
  r.start_seconds = 102.75;  // 0.25 later
  r.ready = 0;
  metrics.step(r);
  EXPECT_EQ(stall(), 0.5) << "the longest";
  r.start_seconds = 200;
  r.ready = 1;
  r.paused = 3;  // two of them also wait for a place
  metrics.step(r);
  EXPECT_EQ(stall(), 0.5) << "all readers were behind";
  metrics.state({.waiting = 2});
  r.start_seconds = 300;
  metrics.step(r);
  EXPECT_EQ(stall(), 0.5) << "a request that waits for admission waits for no step";
  r.start_seconds = 300.5;  // planned while the one before was under way
  metrics.step(r);
  EXPECT_EQ(stall(), 0.5);
  r.start_seconds = 304.5;
  metrics.step(r);
  EXPECT_EQ(stall(), 3) << "one reader of three keeps up";
}

TEST(EngineMetrics, CancelledRequestsAndRejections) {
  EngineMetrics metrics;
  metrics.freed(0.002);
  metrics.freed(0.2);
  metrics.rejected(Rejection::kFull, 3);
  metrics.rejected(Rejection::kFull, 1);
  metrics.rejected(Rejection::kDeadline, 1);
  const EngineCounts c = metrics.snapshot();
  EXPECT_EQ(buckets(c.cancel_to_free_seconds), (Buckets{{.0025, 1}, {.25, 1}}));
  EXPECT_EQ(c.rejected_for(Rejection::kFull), 4u);
  EXPECT_EQ(c.rejected_for(Rejection::kDeadline), 1u);
  EXPECT_EQ(c.rejected_for(Rejection::kMemory), 0u);
  std::string names;
  for (std::size_t i = 0; i < kRejections; ++i) {
    names += std::string(to_string(static_cast<Rejection>(i))) + " ";
  }
  EXPECT_EQ(names, "invalid queue_full draining failed deadline out_of_memory ");
}

/// A snapshot shows all of an addition or no part of it.
TEST(EngineMetrics, MayBeReadWhileItIsWritten) {
  EngineMetrics metrics;
  std::atomic<bool> done{false};
  std::thread writer([&] {
    RequestRecord r = example();
    while (!done) {
      metrics.first_token(r);
      metrics.token(0.5);
      metrics.step(step(1, 0, 1));
      metrics.request(r);
    }
  });
  while (metrics.snapshot().steps == 0) {
  }
  bool whole = true;
  std::uint64_t before = 0;
  for (int look = 0; look < 20'000; ++look) {
    const EngineCounts c = metrics.snapshot();
    whole = whole && c.prompt_tokens == 150 * c.first_token_seconds.count() &&
            c.generation_tokens == c.first_token_seconds.count() + c.token_gap_seconds.count() &&
            c.step_seconds.sum() == static_cast<double>(c.steps) &&
            c.finished_by(FinishReason::kStop) == c.request_seconds.count() &&
            c.generation_tokens >= before;
    before = c.generation_tokens;
  }
  done = true;
  writer.join();
  EXPECT_TRUE(whole);
}

TEST(EngineLog, PassesOnToWhomThereIs) {
  const TempFolder folder;
  StepLog steps(4);
  EngineMetrics metrics;
  StepTrace trace(folder.path("t.json"), 1);  // too small for anything: what comes is dropped
  EngineLog all({.steps = &steps, .metrics = &metrics, .trace = &trace});
  EngineLog none({});
  for (EngineLog* log : {&all, &none}) {
    log->step(step(5, 0, 1));
    log->state({.running = 8});
    log->first_token(example());
    log->token(1);
    log->request(example());
  }
  EXPECT_EQ(steps.added(), 1u);
  EXPECT_EQ(trace.dropped(), 2);
  const EngineCounts c = metrics.snapshot();
  EXPECT_EQ(c.steps, 1u);
  EXPECT_EQ(c.running, 8);
  EXPECT_EQ(c.generation_tokens, 2u);
  EXPECT_EQ(c.finished_by(FinishReason::kStop), 1u);
}

}  // namespace
}  // namespace ingot
