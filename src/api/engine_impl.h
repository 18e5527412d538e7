// The implementation of the public Engine and Stream.
#pragma once

#include <memory>
#include <optional>

#include "api/convert.h"
#include "base/thread_pool.h"
#include "ingot/ingot.h"
#include "runtime/instance.h"
#include "runtime/live/live_rows.h"

namespace ingot::api {

/// The model, its threads and its engine, in the order of construction.
struct Engine::Impl : std::enable_shared_from_this<Impl> {
  explicit Impl(const OpenOptions& options);

  /// Submits `n` choices, appended to `sequence` if it is not null. Errors: ingot::Error{kInvalid};
  /// Error{kBusy} if too many requests wait. Then nothing was appended.
  std::vector<std::unique_ptr<Stream::Impl>> submit(ingot::Request&& request, std::int32_t n,
                                                    LiveSequence* sequence);
  /// Submits `n` choices of a public request. `notify`: see ingot::Request.
  ///
  /// Errors: those of `submit`, as Error.
  std::vector<std::unique_ptr<Stream::Impl>> open(const Request& request, std::int32_t n,
                                                  Notify notify = {});
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

/// The rows of a live sequence, and its request.
struct LiveSequence::Impl {
  Impl(std::weak_ptr<Engine::Impl> of, std::shared_ptr<const LiveToken> token)
      : engine(std::move(of)), rows(std::move(token)) {}

  /// Errors: ingot::Error{kInvalid} if another engine opened the sequence.
  void require_of(const std::shared_ptr<Engine::Impl>& other) const;
  /// Waits until the engine has ended the last request, whose stream was dropped.
  ///
  /// Errors: ingot::Error{kInvalid} if the stream of the last request is neither read to its end
  /// nor dropped.
  void await(Engine::Impl& engine);

  std::weak_ptr<Engine::Impl> engine;  ///< the engine that opened the sequence
  LiveRows rows;
  bool is_busy = false;                    ///< whether a Stream of the last request may have deltas
  std::optional<ingot::Stream> dropped{};  ///< stream of the last request, cancelled by its drop
};

/// The error of a request of a threadless engine that waits for paused requests.
Error waits_for_paused();

/// A stream of the engine, and the result that the stream's deltas add up to.
struct Stream::Impl {
  Impl(ingot::Stream&& engine_stream, std::shared_ptr<LiveSequence::Impl> live_sequence)
      : stream(std::move(engine_stream)), live(std::move(live_sequence)) {}
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Returns whether no delta is left. Then the live sequence can have its next request.
  bool finished();
  /// Waits for the next delta. If the engine has no thread, this call runs the engine's ticks.
  ///
  /// Errors: Error{kBusy} if this request waits for paused requests. More ticks would not help.
  std::optional<ingot::Delta> next();
  /// If `delta` has a value, adds the delta to the result and returns it as the public type.
  std::optional<Delta> taken(std::optional<ingot::Delta>&& delta);
  /// Returns the result of a request whose deltas are all taken. Errors: those of Stream::result.
  Result take_result();

  ingot::Stream stream;
  std::shared_ptr<LiveSequence::Impl> live;  ///< the request's live sequence; may be null
  std::weak_ptr<Engine::Impl> threadless{};  ///< the engine if it has no thread, else empty
  Result result{};
  bool is_taken = false;
};

}  // namespace ingot::api
