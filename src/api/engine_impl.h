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

  /// Submits `n` choices of a request. Errors: ingot::Error{kInvalid}; Error{kBusy}.
  std::vector<ingot::Stream> submit(ingot::Request&& request, std::int32_t n);
  bool step();
  /// Runs one tick of the engine; returns the result of `ingot::Engine::advance`.
  bool advance();
  /// The model's fingerprint. Errors: ingot::Error{kInvalid} without OpenOptions::sessions.
  const ModelFingerprint& require_weights() const;

  bool threadless = false;
  ThreadPool pool;
  Instance instance;
  ModelInfo info;
  std::optional<ModelFingerprint> weights;  ///< the model's fingerprint, with OpenOptions::sessions
  std::unique_ptr<ingot::Engine> engine;
};

/// A stream and its result so far.
struct Stream::Impl {
  /// Waits for the engine's next delta. If the engine has no thread, this runs its steps.
  ///
  /// Errors: Error{kBusy} if further steps cannot give a delta.
  std::optional<ingot::Delta> next();
  /// Adds a delta to the result, and returns its public form.
  std::optional<Delta> taken(std::optional<ingot::Delta>&& delta);

  ingot::Stream stream;
  std::weak_ptr<Engine::Impl> threadless{};  ///< the engine, if it has no thread and needs steps
  Result result{};
  bool is_taken = false;
};

}  // namespace ingot::api
