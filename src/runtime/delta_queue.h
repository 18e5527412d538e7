// DeltaQueue: the pieces of a stream that its reader has not taken.
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

/// Pieces in their order, at most `capacity` of them. They lie end to end in memory that is used
/// again: a piece is a few bytes for whoever pushes it, whose caches are full of weights, and its
/// reader fetches all that came meanwhile at once. One thread pushes, one pops; who closes may be a
/// third that keeps the first from pushing.
class DeltaQueue {
 public:
  explicit DeltaQueue(std::size_t capacity) : capacity_(capacity) {}

  /// Appends a piece; false when there is no room or the queue is closed, and then `delta` is as it
  /// was. Errors: std::bad_alloc, with nothing changed.
  [[nodiscard]] bool try_push(Delta&& delta);
  /// Puts the oldest piece in place of `delta`, whose memory is used again, waiting for one; false
  /// once the queue is closed and empty. Errors: std::bad_alloc, with nothing popped, and
  /// `delta` is anything then.
  [[nodiscard]] bool pop(Delta& delta);
  /// The same, but false when there is none now.
  [[nodiscard]] bool try_pop(Delta& delta);
  /// Refuses further pieces and wakes who waits; what is inside can still be popped.
  void close();

  /// Pieces inside at this moment, for the two threads; takes no lock. Of a push and a pop at the
  /// same time one thread sees the other's: otherwise one would pause at a full queue, and the
  /// other would not know that it has to say when it no longer is. Hence the one order of all.
  std::size_t size() const {
    // In this order, so that it is never less than nothing.
    const std::size_t popped = popped_.load(std::memory_order_seq_cst);
    return pushed_.load(std::memory_order_seq_cst) - popped;
  }
  /// From any thread, takes no lock. What was done before `close` is seen behind it.
  bool is_closed() const { return closed_.load(std::memory_order_acquire); }
  std::size_t capacity() const { return capacity_; }

 private:
  /// How much of each list is one piece.
  struct Piece {
    std::uint32_t ids = 0;
    std::uint32_t text = 0;
    std::uint32_t logprobs = 0;
  };

  /// Pieces end to end.
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
  std::atomic<std::size_t> pushed_{0};  ///< so far
  std::atomic<std::size_t> popped_{0};  ///< so far
  std::atomic<bool> closed_{false};
  bool is_awaited_ = false;  ///< the reader sleeps
  std::mutex mutex_;
  Pieces came_;  ///< behind those of `read_`
  std::condition_variable not_empty_;

  // The reader's.
  Pieces read_;
  std::size_t piece_ = 0, id_ = 0, text_ = 0, logprob_ = 0;  ///< where its rest begins
};

}  // namespace ingot
