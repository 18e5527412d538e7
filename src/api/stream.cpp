// The public Stream: deltas, results, cancelling.
#include "api/engine_impl.h"

namespace ingot::api {

namespace {

FinishReason to_finish(ingot::FinishReason reason) {
  switch (reason) {
    case ingot::FinishReason::kStop:
      return FinishReason::kStop;
    case ingot::FinishReason::kLength:
      return FinishReason::kLength;
    case ingot::FinishReason::kCancelled:
    case ingot::FinishReason::kError:
      break;
  }
  return FinishReason::kCancelled;
}

}  // namespace

Error waits_for_paused() {
  return {
      ErrorCode::kBusy,
      "next: this request waits for others, which are paused: read or drop their streams first"};
}

/// Leaves a request that has not ended to its live sequence, whose next request waits for its end.
Stream::Impl::~Impl() {
  if (live == nullptr || !live->is_busy || finished()) return;
  stream.cancel();
  live->is_busy = false;
  live->dropped.emplace(std::move(stream));
}

bool Stream::Impl::finished() {
  if (!stream.finished()) return false;
  if (live != nullptr) live->is_busy = false;
  return true;
}

std::optional<ingot::Delta> Stream::Impl::next() {
  for (;;) {
    const std::shared_ptr<Engine::Impl> engine = threadless.lock();
    auto delta = engine ? stream.try_next() : stream.next();
    if (delta || !engine || finished()) return delta;
    if (engine->advance() || finished()) continue;
    throw waits_for_paused();
  }
}

std::optional<Delta> Stream::Impl::taken(std::optional<ingot::Delta>&& delta) {
  finished();
  if (!delta) return std::nullopt;
  Delta piece = to_delta(std::move(*delta));
  if (live != nullptr) live->rows.add_tokens(piece.ids);
  result.ids.insert(result.ids.end(), piece.ids.begin(), piece.ids.end());
  result.logprobs.insert(result.logprobs.end(), piece.logprobs.begin(), piece.logprobs.end());
  result.text += piece.text;
  return piece;
}

Result Stream::Impl::take_result() {
  if (is_taken) throw Error(ErrorCode::kInvalid, "result: it was taken before");
  const Outcome& outcome = stream.outcome();
  if (outcome.error) throw to_error(*outcome.error);
  result.finish = to_finish(outcome.finish);
  result.prompt_logprobs = to_logprobs(outcome.prompt_logprobs);
  if (result.finish != FinishReason::kCancelled) result.digest = outcome.digest_text();
  result.cached_tokens = outcome.cached_tokens;
  result.drafted = outcome.drafts;
  result.accepted = outcome.accepted_drafts;
  result.prefill_seconds = outcome.prefill_seconds;
  result.decode_seconds = outcome.decode_seconds;
  is_taken = true;
  return std::move(result);
}

Stream::Stream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream::~Stream() = default;

std::optional<Delta> Stream::next() {
  return guarded([&] { return impl_->taken(impl_->next()); });
}

std::optional<Delta> Stream::try_next() {
  return guarded([&] { return impl_->taken(impl_->stream.try_next()); });
}

bool Stream::finished() const { return impl_->finished(); }

void Stream::cancel() { impl_->stream.cancel(); }

Result Stream::result() {
  while (next()) {
  }
  return guarded([&] { return impl_->take_result(); });
}

}  // namespace ingot::api
