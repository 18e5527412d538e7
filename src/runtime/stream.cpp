// Reading a stream, and waking the engine for what it may be waiting for.
#include "runtime/stream.h"

#include <chrono>
#include <utility>

#include "base/check.h"
#include "runtime/sampling/digest.h"

namespace ingot {

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      return "error";
  }
  return "?";
}

std::string Outcome::digest_text() const {
  return digest ? ingot::digest_text(*digest) : std::string();
}

void Doorbell::ring() {
  {
    const std::lock_guard lock(mutex_);
    is_rung_ = true;
  }
  rung_.notify_one();
}

void Doorbell::wait() {
  std::unique_lock lock(mutex_);
  rung_.wait(lock, [this] { return is_rung_; });
  is_rung_ = false;
}

bool Doorbell::wait_for(double seconds) {
  std::unique_lock lock(mutex_);
  rung_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return is_rung_; });
  return std::exchange(is_rung_, false);
}

bool Doorbell::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(is_rung_, false);
}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(channel_, other.channel_);
  return *this;
}

std::optional<Delta> Stream::next() {
  std::optional<Delta> delta(std::in_place);
  if (!channel_->deltas.pop(*delta)) return std::nullopt;
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
  tell_taken();
  return true;
}

/// A full queue pauses its sequence, and then nothing is pushed: the first piece taken from it has
/// to wake the engine, and the one that leaves it half empty, where a sequence that gave way may
/// come back.
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
