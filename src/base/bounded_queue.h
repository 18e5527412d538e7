// BoundedQueue: a thread-safe first-in first-out queue with a maximum size.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace ingot {

/// A queue of at most `capacity` items, for any number of producer and consumer threads.
template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  /// Appends `item`. Returns false, and leaves `item` unchanged, if the queue is full or closed.
  [[nodiscard]] bool try_push(T&& item) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || items_.size() >= capacity_) return false;
      items_.push_back(std::move(item));
    }
    not_empty_.notify_one();
    return true;
  }

  /// Waits, then removes and returns the oldest item. Returns nothing if a closed queue is empty.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [this] { return closed_ || !items_.empty(); });
    return take();
  }

  /// Removes and returns the oldest item, without waiting. Returns nothing if the queue is empty.
  std::optional<T> try_pop() {
    const std::lock_guard lock(mutex_);
    return take();
  }

  /// Makes later pushes fail and wakes all waiting threads. Items in the queue can still be popped.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    not_empty_.notify_all();
  }

  /// Returns the number of items in the queue.
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }
  bool is_closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  std::size_t capacity() const { return capacity_; }

 private:
  std::optional<T> take() {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    return item;
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable not_empty_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace ingot
