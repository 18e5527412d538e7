// StepLog: what the last steps of an engine were, for whoever watches it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "backend/op_profile.h"

namespace ingot {

/// One step of an engine: when it was, what it took and what it had, as plain data.
struct StepRecord {
  std::uint64_t number = 0;  ///< of the engine's steps, from 1

  double start_seconds = 0;  ///< since the engine was made
  double seconds = 0;        ///< of all of it
  // Its phases, in their order.
  double plan_seconds = 0;  ///< what came is taken in, and the step is planned
  double forward_seconds = 0;
  double sample_seconds = 0;
  double deliver_seconds = 0;  ///< text is made of tokens and handed out
  double commit_seconds = 0;   ///< the scheduler takes the results, and requests end
  bool profiled = false;       ///< whether `ops` were timed
  OpSeconds op_seconds{};      ///< within `forward_seconds`

  std::int32_t decode_rows = 0;   ///< of sequences that have one each
  std::int32_t prefill_rows = 0;  ///< of prompts, and of what is computed again
  std::int32_t verify_rows = 0;   ///< of drafts, with the token before them
  std::int32_t output_rows = 0;   ///< rows of logits
  std::int32_t scored_rows = 0;
  std::int32_t row_budget = 0;  ///< rows that the step could have had
  std::int32_t sequences = 0;   ///< that have rows in it

  // After the step.
  std::int32_t running = 0;  ///< requests
  std::int32_t waiting = 0;  ///< requests without a place or blocks
  std::int32_t paused = 0;   ///< requests whose readers are behind, whether they run or wait
  std::int32_t ready = 0;    ///< of those that run, the ones whose readers keep up
  std::int64_t blocks_free = 0;
  std::int64_t blocks_evictable = 0;   ///< kept for prefixes, and given up when others need them
  std::int64_t blocks_referenced = 0;  ///< of running requests
  std::int64_t blocks_total = 0;
  /// Of those that are free or evictable: kept for requests that gave way too often to do it again.
  std::int64_t blocks_reserved = 0;

  // Since the engine began.
  std::int64_t preemptions = 0;
  std::int64_t cached_tokens = 0;  ///< of prompts, found computed already

  std::int32_t rows() const { return decode_rows + prefill_rows + verify_rows; }
};

/// The newest records in a ring that is allocated once.
///
/// One thread adds; any thread looks. Both hold a mutex for as long as it takes to copy records.
class StepLog {
 public:
  /// Keeps the last `capacity` records, at least one.
  explicit StepLog(std::size_t capacity);

  /// Takes the place of the oldest record once the ring is full. Allocates nothing.
  void add(const StepRecord& record);

  std::size_t capacity() const { return ring_.size(); }
  /// Records ever added.
  std::uint64_t added() const;
  /// The newest record.
  std::optional<StepRecord> last() const;
  /// Copies of the records that are kept, the oldest first: all, or the newest `most`.
  std::vector<StepRecord> snapshot(std::size_t most = SIZE_MAX) const;

 private:
  mutable std::mutex mutex_;
  std::vector<StepRecord> ring_;  ///< record n, counted from 0, at n modulo the capacity
  std::uint64_t added_ = 0;
};

}  // namespace ingot
