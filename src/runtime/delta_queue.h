// DeltaQueue: a bounded queue of a stream's deltas between the engine and one reader.
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

/// A bounded first-in first-out queue. One thread pushes deltas and one thread pops them. A third
/// thread may close the queue, but only while the pushing thread cannot push.
///
/// Deltas are stored end to end in lists whose memory is reused, so that a push writes few bytes:
/// writes are slow, because weights fill the CPU caches. The reader fetches all deltas at once.
class DeltaQueue {
 public:
  explicit DeltaQueue(std::size_t capacity) : capacity_(capacity) {}

  /// Appends a delta. Returns false and leaves `delta` unchanged if the queue is full or closed.
  /// Errors: std::bad_alloc, with nothing changed.
  [[nodiscard]] bool try_push(Delta&& delta);
  /// Waits for a delta and moves it into `delta`, whose memory is used again. Returns false once
  /// the queue is closed and empty. Errors: std::bad_alloc, with nothing popped and `delta`
  /// unspecified.
  [[nodiscard]] bool pop(Delta& delta);
  /// Pops like `pop`, but returns false at once if the queue is empty.
  [[nodiscard]] bool try_pop(Delta& delta);
  /// Refuses further deltas and wakes a waiting reader. Queued deltas can still be popped.
  void close();

  /// Number of queued deltas, for the pushing and the popping thread. Takes no lock. If
  /// a push and a pop happen at once, sequential consistency lets at least one thread see the other
  /// thread's change. Otherwise the engine could pause and the reader would not wake the engine.
  std::size_t size() const {
    // In this order, so that the difference is never negative.
    const std::size_t popped = popped_.load(std::memory_order_seq_cst);
    return pushed_.load(std::memory_order_seq_cst) - popped;
  }
  /// Whether `close` was called; writes before `close` are then visible. Any thread, no lock.
  bool is_closed() const { return closed_.load(std::memory_order_acquire); }
  std::size_t capacity() const { return capacity_; }

 private:
  /// The number of ids, text bytes and log-probabilities of one delta.
  struct Piece {
    std::uint32_t ids = 0;
    std::uint32_t text = 0;
    std::uint32_t logprobs = 0;
  };

  /// Deltas stored end to end in one list for each member of Delta.
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
  bool is_awaited_ = false;  ///< whether the reader sleeps in `pop`
  std::mutex mutex_;
  Pieces came_;  ///< pushed deltas that the reader has not fetched
  std::condition_variable not_empty_;

  // Used by the reader's thread alone.
  Pieces read_;                                              ///< deltas that the reader has fetched
  std::size_t piece_ = 0, id_ = 0, text_ = 0, logprob_ = 0;  ///< the next delta's start in `read_`
};

}  // namespace ingot
