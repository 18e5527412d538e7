// The implementation of the public Engine and Stream.
#pragma once

#include <memory>
#include <optional>

#include "api/convert.h"
#include "base/thread_pool.h"
#include "ingot/ingot.h"
#include "runtime/instance.h"

namespace ingot::api {

/// The model, its threads, and the engine on them, in the order of construction.
struct Engine::Impl {
  explicit Impl(const OpenOptions& options);

  /// Errors: ingot::Error{kInvalid}; Error{kBusy}.
  std::vector<ingot::Stream> submit(ingot::Request&& request, std::int32_t n);
  bool step();
  /// As the engine's `advance`.
  bool advance();
  /// The model's fingerprint. Errors: ingot::Error{kInvalid} where it was not asked for.
  const ModelFingerprint& require_weights() const;

  bool threadless = false;
  ThreadPool pool;
  Instance instance;
  ModelInfo info;
  std::optional<ModelFingerprint> weights;  ///< with OpenOptions::sessions
  std::unique_ptr<ingot::Engine> engine;
};

/// A stream and its result so far.
struct Stream::Impl {
  /// The next delta of the engine. Without an engine's thread it makes steps until there is one.
  ///
  /// Errors: Error{kBusy} where steps do not help.
  std::optional<ingot::Delta> next();
  /// Adds a delta to the result, and returns its public form.
  std::optional<Delta> taken(std::optional<ingot::Delta>&& delta);

  ingot::Stream stream;
  std::weak_ptr<Engine::Impl> threadless{};  ///< the engine, if it has no thread and needs steps
  Result result{};
  bool is_taken = false;
};

}  // namespace ingot::api
