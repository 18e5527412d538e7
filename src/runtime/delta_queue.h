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
/// Stores deltas end to end in lists, and reuses the lists' memory, to write less memory. Writes
/// are slow because weights fill the CPU caches. The reader fetches all queued deltas at once.
class DeltaQueue {
 public:
  explicit DeltaQueue(std::size_t capacity) : capacity_(capacity) {}

  /// Appends a delta. Returns false and leaves `delta` unchanged if the queue is full or closed.
  /// Errors: std::bad_alloc, with nothing changed.
  [[nodiscard]] bool try_push(Delta&& delta);
  /// Waits for the next delta and stores it in the memory of `delta`. Returns false once the queue
  /// is closed and empty. Errors: std::bad_alloc. After this error, the next delta is still in the
  /// queue, and the value of `delta` is unspecified.
  [[nodiscard]] bool pop(Delta& delta);
  /// Pops like `pop`, but returns false at once if the queue is empty.
  [[nodiscard]] bool try_pop(Delta& delta);
  /// Refuses further deltas and wakes a waiting reader. The reader can still pop queued deltas.
  void close();

  /// Returns the number of queued deltas. For the pushing and popping threads. Takes no lock. If
  /// both change the queue at once, sequential consistency lets at least one see the other's
  /// change. Without it, the engine could pause and the reader would not wake the engine.
  std::size_t size() const {
    // Loads `popped_` first, so that the difference is never negative.
    const std::size_t popped = popped_.load(std::memory_order_seq_cst);
    return pushed_.load(std::memory_order_seq_cst) - popped;
  }
  /// Returns true after `close`. Writes before `close` are then visible. Any thread; takes no lock.
  bool is_closed() const { return closed_.load(std::memory_order_acquire); }
  std::size_t capacity() const { return capacity_; }

 private:
  /// How many ids, text bytes and log-probabilities one delta has.
  struct Piece {
    std::uint32_t ids = 0;
    std::uint32_t text = 0;
    std::uint32_t logprobs = 0;
  };

  /// Several deltas. Each list stores one member of Delta, such as `ids`, of all deltas end to end.
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

  // Only the reader's thread uses these fields.
  Pieces read_;                                              ///< deltas that the reader has fetched
  std::size_t piece_ = 0, id_ = 0, text_ = 0, logprob_ = 0;  ///< start of the next delta in `read_`
};

}  // namespace ingot
