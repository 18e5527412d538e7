// Engine::generate_all: many requests in one batch, which one thread reads.
#include <utility>

#include "api/engine_impl.h"
#include "runtime/doorbell.h"

namespace ingot::api {

/// Runs the requests of one call of `generate_all`.
class Engine::BatchRun {
 public:
  BatchRun(Engine::Impl& engine, std::span<const Request> requests, const BatchCallbacks& callbacks)
      : engine_(engine), requests_(requests), callbacks_(callbacks), endings_(requests.size()) {}

  std::vector<Ending> run() {
    for (bool is_stuck = false; submit() || !running_.empty();) {
      const bool moved = read_all();
      if (!moved && is_stuck) end_stuck();
      is_stuck = !moved && !wait();
    }
    return std::move(endings_);
  }

 private:
  struct Running {
    std::size_t index = 0;
    std::unique_ptr<Stream::Impl> stream;
  };

  bool submit();
  bool read_all();
  bool read(Running& running, bool& moved);
  bool wait();
  void end_stuck();
  void end(std::size_t index, Ending&& ending) {
    endings_[index] = std::move(ending);
    if (callbacks_.end) callbacks_.end(index, endings_[index]);
  }

  Engine::Impl& engine_;
  std::span<const Request> requests_;
  const BatchCallbacks& callbacks_;
  std::vector<Ending> endings_;
  std::shared_ptr<Doorbell> bell_ = std::make_shared<Doorbell>();  ///< rings with each delta
  std::vector<Running> running_;
  std::size_t next_ = 0;  ///< index of the next request to submit
};

/// Submits requests as long as there is room. Returns whether a request is left to submit.
bool Engine::BatchRun::submit() {
  while (next_ < requests_.size()) {
    if (!running_.empty() && !engine_.engine->has_room(1)) return true;
    try {
      auto made = engine_.open(requests_[next_], 1, [bell = bell_](bool) { bell->ring(); });
      running_.push_back({.index = next_, .stream = std::move(made.front())});
      ++next_;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kBusy && !running_.empty()) return true;
      end(next_++, {.result = {}, .error = error});
    }
  }
  return false;
}

/// Reads all deltas that are there. Returns whether there was a delta or an end.
bool Engine::BatchRun::read_all() {
  bool moved = false;
  for (std::size_t i = 0; i < running_.size();) {
    if (read(running_[i], moved)) {
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return moved;
}

/// Reads one request's deltas. Returns whether the request has ended.
bool Engine::BatchRun::read(Running& running, bool& moved) {
  Stream::Impl& stream = *running.stream;
  while (const std::optional<Delta> delta = stream.taken(stream.stream.try_next())) {
    moved = true;
    if (!callbacks_.delta || callbacks_.delta(running.index, *delta)) continue;
    end(running.index, {.result = std::move(stream.result), .error = {}});
    return true;
  }
  if (!stream.finished()) return false;
  moved = true;
  Ending ending;
  try {
    ending.result = guarded([&] { return stream.take_result(); });
  } catch (const Error& error) {
    ending.error = error;
  }
  end(running.index, std::move(ending));
  return true;
}

/// Waits for a delta or an end. Returns false if a threadless engine cannot get on.
bool Engine::BatchRun::wait() {
  if (engine_.threadless) return engine_.advance();
  bell_->wait();
  return true;
}

/// Ends the requests of a threadless engine that wait for paused requests of other streams.
void Engine::BatchRun::end_stuck() {
  for (Running& running : std::exchange(running_, {})) {
    end(running.index, {.result = {}, .error = waits_for_paused()});
  }
}

std::vector<Ending> Engine::generate_all(std::span<const Request> requests,
                                         const BatchCallbacks& callbacks) {
  return BatchRun(*impl_, requests, callbacks).run();
}

}  // namespace ingot::api
