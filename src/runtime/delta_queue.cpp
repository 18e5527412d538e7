// DeltaQueue: appends deltas to flat lists under a mutex, and takes them out again.
#include "runtime/delta_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ingot {

namespace {

/// Reserves memory for `more` elements, so that appending them throws nothing.
template <class List>
void make_room(List& list, std::size_t more) {
  const std::size_t size = list.size() + more;
  if (size > list.capacity()) list.reserve(std::max(size, 2 * list.capacity()));
}

}  // namespace

void DeltaQueue::Pieces::append(Delta&& delta) {
  make_room(pieces, 1);
  make_room(ids, delta.ids.size());
  make_room(text, delta.text.size());
  make_room(logprobs, delta.logprobs.size());
  pieces.push_back({.ids = static_cast<std::uint32_t>(delta.ids.size()),
                    .text = static_cast<std::uint32_t>(delta.text.size()),
                    .logprobs = static_cast<std::uint32_t>(delta.logprobs.size())});
  ids.insert(ids.end(), delta.ids.begin(), delta.ids.end());
  text += delta.text;
  std::move(delta.logprobs.begin(), delta.logprobs.end(), std::back_inserter(logprobs));
}

void DeltaQueue::Pieces::clear() {
  pieces.clear();
  ids.clear();
  text.clear();
  logprobs.clear();
}

bool DeltaQueue::try_push(Delta&& delta) {
  if (is_closed() || size() >= capacity_) return false;
  bool is_awaited = false;
  {
    const std::lock_guard lock(mutex_);
    came_.append(std::move(delta));
    pushed_.store(pushed_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
    is_awaited = is_awaited_;
  }
  if (is_awaited) not_empty_.notify_one();
  return true;
}

bool DeltaQueue::pop(Delta& delta) {
  if (try_pop(delta)) return true;
  {
    std::unique_lock lock(mutex_);
    is_awaited_ = true;
    not_empty_.wait(lock, [this] { return is_closed() || !came_.pieces.empty(); });
    is_awaited_ = false;
  }
  return try_pop(delta);
}

bool DeltaQueue::try_pop(Delta& delta) {
  if (fetched(delta)) return true;
  if (size() == 0) return false;
  read_.clear();
  piece_ = id_ = text_ = logprob_ = 0;
  {
    const std::lock_guard lock(mutex_);
    std::swap(read_, came_);
  }
  return fetched(delta);
}

void DeltaQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_.store(true, std::memory_order_release);
  }
  not_empty_.notify_all();
}

/// Takes the next delta that the reader has fetched; false if there is none.
bool DeltaQueue::fetched(Delta& delta) {
  if (piece_ == read_.pieces.size()) return false;
  const Piece piece = read_.pieces[piece_];
  const auto ids = read_.ids.begin() + static_cast<std::ptrdiff_t>(id_);
  const auto logprobs = read_.logprobs.begin() + static_cast<std::ptrdiff_t>(logprob_);
  // Copies that may throw come first: the moves after them cannot be undone.
  delta.ids.assign(ids, ids + piece.ids);
  delta.text.assign(read_.text, text_, piece.text);
  delta.logprobs.resize(piece.logprobs);
  std::move(logprobs, logprobs + piece.logprobs, delta.logprobs.begin());
  ++piece_;
  id_ += piece.ids;
  text_ += piece.text;
  logprob_ += piece.logprobs;
  popped_.store(popped_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  return true;
}

}  // namespace ingot
