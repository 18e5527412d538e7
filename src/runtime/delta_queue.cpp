// Appending pieces, and taking them apart again.
#include "runtime/delta_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ingot {

namespace {

/// Room for so many more, so that appending them throws nothing.
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
  {
    const std::lock_guard lock(mutex_);
    came_.append(std::move(delta));
    pushed_.store(pushed_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  not_empty_.notify_one();
  return true;
}

std::optional<Delta> DeltaQueue::pop() {
  if (auto delta = fetched()) return delta;
  {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [this] { return is_closed() || !came_.pieces.empty(); });
  }
  return try_pop();
}

std::optional<Delta> DeltaQueue::try_pop() {
  if (auto delta = fetched()) return delta;
  if (size() == 0) return std::nullopt;
  read_.clear();
  piece_ = id_ = text_ = logprob_ = 0;
  {
    const std::lock_guard lock(mutex_);
    std::swap(read_, came_);
  }
  return fetched();
}

void DeltaQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_.store(true, std::memory_order_release);
  }
  not_empty_.notify_all();
}

/// The next one of those that the reader has fetched.
std::optional<Delta> DeltaQueue::fetched() {
  if (piece_ == read_.pieces.size()) return std::nullopt;
  const Piece piece = read_.pieces[piece_];
  const auto ids = read_.ids.begin() + static_cast<std::ptrdiff_t>(id_);
  const auto logprobs = read_.logprobs.begin() + static_cast<std::ptrdiff_t>(logprob_);
  std::optional<Delta> delta(std::in_place);
  delta->ids.assign(ids, ids + piece.ids);
  delta->text = read_.text.substr(text_, piece.text);
  delta->logprobs.assign(std::make_move_iterator(logprobs),
                         std::make_move_iterator(logprobs + piece.logprobs));
  ++piece_;
  id_ += piece.ids;
  text_ += piece.text;
  logprob_ += piece.logprobs;
  popped_.store(popped_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  return delta;
}

}  // namespace ingot
