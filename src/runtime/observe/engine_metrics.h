// EngineMetrics: an engine's counters, gauges and histograms for operators.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "base/index.h"
#include "runtime/draft/draft_counts.h"
#include "runtime/observe/engine_observer.h"
#include "runtime/observe/histogram.h"
#include "runtime/stream.h"

namespace ingot {

/// Upper bounds of histogram buckets. All lists except kStep are vLLM's, to fit vLLM's dashboards.
///
/// Source: vLLM, vllm/v1/metrics/loggers.py.
struct MetricBounds {
  static constexpr double kFirstToken[] = {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5,  .75,
                                           1,    2.5,  5,   7.5, 10,  20,  40,  80, 160, 640, 2560};
  static constexpr double kTokenGap[] = {.01, .025, .05, .075, .1,  .15, .2, .3, .4, .5,
                                         .75, 1,    2.5, 5,    7.5, 10,  20, 40, 80};
  static constexpr double kRequest[] = {.3, .5, .8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                        30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};
  static constexpr double kStepRows[] = {1,   8,    16,   32,   64,   128,  256,
                                         512, 1024, 2048, 4096, 8192, 16384};
  static constexpr double kTokens[] = {1,     2,      5,      10,     20,     50,    100,
                                       200,   500,    1000,   2000,   5000,   10000, 20000,
                                       50000, 100000, 200000, 500000, 1000000};
  static constexpr double kChoices[] = {1, 2, 5, 10, 20};
  /// Ingot's own bounds in seconds, because steps of small models take less than a millisecond.
  static constexpr double kStep[] = {.0001, .00025, .0005, .001, .0025, .005, .01, .025,
                                     .05,   .1,     .25,   .5,   1,     2.5,  5,   10};
};

/// A copy of an engine's counters, gauges and histograms at one moment.
struct EngineCounts {
  // Counters since the engine was made.
  std::uint64_t steps = 0;
  std::uint64_t prompt_tokens = 0;      ///< prompt tokens that were cached or computed
  std::uint64_t generation_tokens = 0;  ///< tokens delivered to readers
  std::uint64_t prefix_queries = 0;     ///< prompt tokens that were looked up in the prefix cache
  std::uint64_t prefix_hits = 0;        ///< prompt tokens that were found in the prefix cache
  std::uint64_t prefix_evictions = 0;   ///< blocks that were evicted from the prefix cache
  std::uint64_t preemptions = 0;
  DraftCounts drafts{};
  std::array<std::uint64_t, kFinishReasons> finished{};  ///< number of ended requests by reason
  std::array<std::uint64_t, kRejections> rejected{};     ///< number of refused requests by reason

  // Gauges: the state after the last tick. Engine::load also knows what changes during a step.
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t paused = 0;
  std::int64_t blocks_free = 0;
  std::int64_t blocks_evictable = 0;
  std::int64_t blocks_referenced = 0;
  std::int64_t blocks_total = 0;
  std::int64_t blocks_reserved = 0;  ///< free or evictable blocks kept for guaranteed requests
  std::int64_t prefix_entries = 0;   ///< blocks in the prefix cache, held or evictable
  std::int64_t prefix_bytes = 0;     ///< bytes of these blocks
  /// The longest time between two steps in which a running request waited while its reader kept up.
  /// Excludes time before admission, which `queue_seconds` counts.
  double stall_seconds_max = 0;

  Histogram step_seconds{MetricBounds::kStep};
  Histogram step_rows{MetricBounds::kStepRows};  ///< rows per step; vLLM's "iteration tokens"
  Histogram token_gap_seconds{MetricBounds::kTokenGap};
  /// Seconds from submission to first token, of requests with a token. `queue_seconds`: from
  /// submission to first step. `prefill_seconds`: from first step to first token, or to the end of
  /// a prompt without tokens.
  Histogram first_token_seconds{MetricBounds::kFirstToken};
  Histogram queue_seconds{MetricBounds::kRequest};
  Histogram prefill_seconds{MetricBounds::kRequest};
  /// Seconds from submission to end, of requests that ended with "stop" or "length". For these,
  /// `inference_seconds` starts at the first step and `decode_seconds` starts at the first token.
  Histogram request_seconds{MetricBounds::kRequest};
  Histogram inference_seconds{MetricBounds::kRequest};
  Histogram decode_seconds{MetricBounds::kRequest};
  /// Seconds from a reader's cancel to the release of its request's blocks.
  Histogram cancel_to_free_seconds{MetricBounds::kStep};
  // Sizes of all ended requests, however they ended, as in `finished`.
  Histogram request_prompt_tokens{MetricBounds::kTokens};
  Histogram request_generation_tokens{MetricBounds::kTokens};
  Histogram request_max_tokens{MetricBounds::kTokens};
  Histogram request_choices{MetricBounds::kChoices};

  std::uint64_t finished_by(FinishReason reason) const { return at(finished, reason); }
  std::uint64_t rejected_for(Rejection reason) const { return at(rejected, reason); }
  /// Returns the fraction of KV blocks that requests hold, from 0 to 1.
  double kv_usage() const {
    return blocks_total > 0
               ? static_cast<double>(blocks_referenced) / static_cast<double>(blocks_total)
               : 0;
  }
};

/// Sums up an engine's events. Any thread may call `rejected` and `snapshot`; only the engine's
/// thread may call the other functions. Each call holds a mutex briefly, and no call allocates.
class EngineMetrics final : public EngineObserver {
 public:
  void step(const StepRecord& record) override;
  void state(const StepRecord& record) override;
  void first_token(const RequestRecord& record) override;
  void token(double gap_seconds) override;
  void request(const RequestRecord& record) override;
  void freed(double seconds) override;
  void rejected(Rejection reason, std::size_t requests) override;

  EngineCounts snapshot() const;

 private:
  void take_state(const StepRecord& record);
  void add_prompt(const RequestRecord& record, double done_seconds);

  mutable std::mutex mutex_;
  EngineCounts counts_;
  double step_end_ = 0;     ///< end of the last step, in seconds since the engine was made
  std::int32_t ready_ = 0;  ///< value of StepRecord::ready after the last tick
};

}  // namespace ingot
