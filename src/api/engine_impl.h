// The implementation of the public Engine and Stream.
#pragma once

#include <memory>
#include <optional>

#include "api/convert.h"
#include "base/thread_pool.h"
#include "ingot/ingot.h"
#include "runtime/instance.h"

namespace ingot::api {

/// The model, its threads and its engine, in the order of construction.
struct Engine::Impl {
  explicit Impl(const OpenOptions& options);

  /// Submits `n` choices. Errors: ingot::Error{kInvalid}; Error{kBusy} if too many requests wait.
  std::vector<ingot::Stream> submit(ingot::Request&& request, std::int32_t n);
  bool step();
  /// Runs one tick of the engine. Returns whether the next tick may do something.
  bool advance();
  /// Returns `weights`. Errors: ingot::Error{kInvalid} if OpenOptions::sessions was false.
  const ModelFingerprint& require_weights() const;

  bool threadless = false;
  ThreadPool pool;
  Instance instance;
  ModelInfo info;
  std::optional<ModelFingerprint> weights;  ///< empty if OpenOptions::sessions is false
  std::unique_ptr<ingot::Engine> engine;
};

/// A stream of the engine, and the result that the stream's deltas add up to.
struct Stream::Impl {
  /// Waits for the next delta. If the engine has no thread, this call runs the engine's ticks.
  ///
  /// Errors: Error{kBusy} if this request waits for paused requests. More ticks would not help.
  std::optional<ingot::Delta> next();
  /// If `delta` has a value, adds the delta to the result and returns it as the public type.
  std::optional<Delta> taken(std::optional<ingot::Delta>&& delta);

  ingot::Stream stream;
  std::weak_ptr<Engine::Impl> threadless{};  ///< the engine if it has no thread, else empty
  Result result{};
  bool is_taken = false;
};

}  // namespace ingot::api
