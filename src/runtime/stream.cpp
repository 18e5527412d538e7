// Stream: reads deltas, and wakes the engine when a paused sequence may continue.
#include "runtime/stream.h"

#include <utility>

#include "base/check.h"

namespace ingot {

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(channel_, other.channel_);
  return *this;
}

std::optional<Delta> Stream::next() {
  std::optional<Delta> delta(std::in_place);
  if (!channel_->deltas.pop(*delta)) return std::nullopt;
  delta->cached_tokens = channel_->cached_tokens;
  tell_taken();
  return delta;
}

std::optional<Delta> Stream::try_next() {
  std::optional<Delta> delta(std::in_place);
  if (!try_next(*delta)) return std::nullopt;
  return delta;
}

bool Stream::try_next(Delta& delta) {
  if (!channel_->deltas.try_pop(delta)) return false;
  delta.cached_tokens = channel_->cached_tokens;
  tell_taken();
  return true;
}

/// Wakes the engine when a full queue, which paused the sequence, has room again, and when the
/// queue is half empty, because a sequence that was preempted while paused continues then.
void Stream::tell_taken() const {
  const std::size_t left = channel_->deltas.size(), room = channel_->deltas.capacity();
  if (left + 1 >= room || left == room / 2) channel_->bell->ring();
}

const Outcome& Stream::outcome() const {
  INGOT_CHECK(channel_->deltas.is_closed(), "request ", id_, " has not ended");
  return channel_->outcome;
}

void Stream::cancel() {
  if (channel_ == nullptr || channel_->deltas.is_closed()) return;
  double never = kNever;
  channel_->cancelled_at.compare_exchange_strong(never, (*channel_->clock)());
  channel_->bell->ring();
}

}  // namespace ingot
