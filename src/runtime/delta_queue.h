// DeltaQueue: the deltas of a stream that its reader has not taken yet.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/delta.h"

namespace ingot {

/// A bounded first-in first-out queue. One thread pushes, one pops. A third may close it while it
/// keeps the first from pushing.
///
/// Deltas lie end to end in memory that is used again. So a push writes a few bytes, which matters
/// because weights fill the pushing thread's caches, and the reader fetches all new deltas at once.
class DeltaQueue {
 public:
  explicit DeltaQueue(std::size_t capacity) : capacity_(capacity) {}

  /// Appends a delta. Returns false and leaves `delta` as it is when the queue is full or closed.
  /// Errors: std::bad_alloc, with nothing changed.
  [[nodiscard]] bool try_push(Delta&& delta);
  /// Waits for a delta and moves it into `delta`, whose memory is used again. Returns false once
  /// the queue is closed and empty. Errors: std::bad_alloc, with nothing popped; `delta` has any
  /// value then.
  [[nodiscard]] bool pop(Delta& delta);
  /// Pops like `pop`, but returns false at once when the queue is empty.
  [[nodiscard]] bool try_pop(Delta& delta);
  /// Refuses further deltas and wakes a waiting reader. Deltas inside can still be popped.
  void close();

  /// Deltas inside now, for the two threads. Takes no lock. When a push and a pop happen at once,
  /// at least one of the threads sees the other's, by the sequentially consistent order. Otherwise
  /// the engine would pause at a full queue, and the reader would not know that it has to wake it.
  std::size_t size() const {
    // In this order, so that the difference is never negative.
    const std::size_t popped = popped_.load(std::memory_order_seq_cst);
    return pushed_.load(std::memory_order_seq_cst) - popped;
  }
  /// From any thread. Takes no lock. Writes before `close` are visible after it returns true.
  bool is_closed() const { return closed_.load(std::memory_order_acquire); }
  std::size_t capacity() const { return capacity_; }

 private:
  /// Lengths of one delta's parts in the lists.
  struct Piece {
    std::uint32_t ids = 0;
    std::uint32_t text = 0;
    std::uint32_t logprobs = 0;
  };

  /// Deltas end to end.
  struct Pieces {
    std::vector<Piece> pieces;
    std::vector<std::int32_t> ids;
    std::string text;
    std::vector<TokenLogprobs> logprobs;

    void append(Delta&& delta);
    void clear();
  };

  bool fetched(Delta& delta);

  const std::size_t capacity_;
  std::atomic<std::size_t> pushed_{0};
  std::atomic<std::size_t> popped_{0};
  std::atomic<bool> closed_{false};
  bool is_awaited_ = false;  ///< the reader sleeps
  std::mutex mutex_;
  Pieces came_;  ///< newer than those in `read_`
  std::condition_variable not_empty_;

  // The reader's.
  Pieces read_;
  std::size_t piece_ = 0, id_ = 0, text_ = 0, logprob_ = 0;  ///< where the unread rest begins
};

}  // namespace ingot
