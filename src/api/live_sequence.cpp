// The public LiveSequence: its rows, and how its requests follow each other.
#include <utility>

#include "api/engine_impl.h"
#include "base/text.h"

namespace ingot::api {

namespace {

void require_idle(bool is_busy) {
  if (!is_busy) return;
  throw ingot::Error(ingot::ErrorCode::kInvalid,
                     "sequence: its last request runs: read its stream to the end, or drop it");
}

}  // namespace

void LiveSequence::Impl::require_of(const std::shared_ptr<Engine::Impl>& other) const {
  // Compares owners, so that a new engine at an old engine's address is another one.
  if (!engine.owner_before(other) && !other.owner_before(engine)) return;
  throw ingot::Error(ingot::ErrorCode::kInvalid,
                     "sequence: another engine opened it: open one with this engine's "
                     "open_sequence");
}

void LiveSequence::Impl::await(Engine::Impl& engine) {
  require_idle(is_busy);
  if (!dropped) return;
  Stream::Impl last(std::move(*std::exchange(dropped, std::nullopt)), nullptr);
  if (engine.threadless) last.threadless = engine.weak_from_this();
  while (last.next()) {
  }
}

LiveSequence::LiveSequence(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
LiveSequence::LiveSequence(LiveSequence&&) noexcept = default;
LiveSequence& LiveSequence::operator=(LiveSequence&&) noexcept = default;
LiveSequence::~LiveSequence() = default;

std::int64_t LiveSequence::rows() const { return impl_->rows.rows(); }

void LiveSequence::truncate(std::int64_t rows) {
  guarded([&] {
    require_idle(impl_->is_busy);
    if (rows < 0 || rows > this->rows()) {
      throw ingot::Error(ingot::ErrorCode::kInvalid,
                         cat("rows: ", rows, " is not in [0, ", this->rows(), "]"));
    }
    impl_->rows.truncate(rows);
  });
}

LiveSequence Engine::open_sequence() {
  return guarded([&] {
    return LiveSequence(std::make_shared<LiveSequence::Impl>(impl_, impl_->engine->open_live()));
  });
}

}  // namespace ingot::api
