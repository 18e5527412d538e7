// StepLog: the newest step records of an engine, for operators and /admin/steps.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "backend/op_profile.h"
#include "runtime/draft/draft_counts.h"

namespace ingot {

/// One step of an engine: its times, rows and blocks, as plain data.
struct StepRecord {
  std::uint64_t number = 0;  ///< the step's number, counted from 1

  double start_seconds = 0;  ///< start of the tick, in seconds since the engine was made
  double seconds = 0;        ///< duration of all phases together
  // Durations of the phases, in order.
  double plan_seconds = 0;  ///< time to queue new requests and plan the step
  double forward_seconds = 0;
  double sample_seconds = 0;
  double deliver_seconds = 0;  ///< time to turn tokens into text and pass it to readers
  double commit_seconds = 0;   ///< time to update the scheduler and end requests
  bool profiled = false;       ///< whether `op_seconds` is set
  OpSeconds op_seconds{};      ///< seconds of each kind of op, contained in `forward_seconds`

  std::int32_t decode_rows = 0;   ///< rows of sequences that had just one row to compute
  std::int32_t prefill_rows = 0;  ///< rows of prompts and of preempted sequences
  std::int32_t verify_rows = 0;   ///< rows of drafts, and of the token before each draft
  DraftCounts drafts{};           ///< verified and accepted drafts
  std::int32_t output_rows = 0;   ///< rows of logits
  std::int32_t scored_rows = 0;   ///< rows that give log-probabilities of prompt tokens
  std::int32_t row_budget = 0;    ///< the step's token budget
  std::int32_t sequences = 0;     ///< number of sequences with rows in the step

  // After the step.
  std::int32_t running = 0;  ///< number of admitted requests
  std::int32_t waiting = 0;  ///< number of requests that are not admitted
  std::int32_t paused = 0;   ///< number of requests, running or waiting, whose reader is behind
  std::int32_t ready = 0;    ///< number of running requests whose reader keeps up
  std::int64_t blocks_free = 0;
  std::int64_t blocks_evictable = 0;   ///< cached blocks that no request holds
  std::int64_t blocks_referenced = 0;  ///< blocks that running requests hold
  std::int64_t blocks_total = 0;
  /// Free or evictable blocks that only requests with a guarantee may take: see GuaranteedBlocks.
  std::int64_t blocks_reserved = 0;
  std::int64_t prefix_blocks = 0;  ///< blocks in the prefix cache, held or evictable
  std::int64_t prefix_bytes = 0;   ///< bytes of these blocks

  // Totals since the engine was made.
  std::int64_t preemptions = 0;
  std::int64_t cached_tokens = 0;  ///< prompt tokens that were found in the prefix cache
  std::int64_t evictions = 0;      ///< blocks evicted from the prefix cache

  std::int32_t rows() const { return decode_rows + prefill_rows + verify_rows; }
};

/// Keeps the newest records in a ring buffer that is allocated once. One thread adds records, and
/// any thread reads them. Each call holds a mutex while it copies records.
class StepLog {
 public:
  /// Keeps the newest `capacity` records, but at least one.
  explicit StepLog(std::size_t capacity);

  /// Adds a record. If the ring is full, replaces the oldest record. Allocates nothing.
  void add(const StepRecord& record);

  std::size_t capacity() const { return ring_.size(); }
  /// Returns the number of records added so far.
  std::uint64_t added() const;
  /// Returns the newest record; empty if there is none.
  std::optional<StepRecord> last() const;
  /// Copies the newest `most` records, or all if there are fewer. The oldest record is first.
  std::vector<StepRecord> snapshot(std::size_t most = SIZE_MAX) const;

 private:
  mutable std::mutex mutex_;
  std::vector<StepRecord> ring_;  ///< record n, counted from 0, is at index n modulo the capacity
  std::uint64_t added_ = 0;
};

}  // namespace ingot
