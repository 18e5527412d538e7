// Engine: many requests at once on one model, in a thread of its own or step by step.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/bounded_queue.h"
#include "base/thread_pool.h"
#include "runtime/continuation.h"
#include "runtime/executor.h"
#include "runtime/request.h"
#include "runtime/sampler.h"
#include "runtime/scheduler.h"
#include "runtime/stream.h"

namespace ingot {

/// Bounds of what waits.
struct EngineOptions {
  /// Requests that no step has looked at yet, and paused ones that others may run in place of.
  std::size_t inbox_max = 1024;
  std::size_t deltas_max = 256;  ///< pieces that a reader may be behind
  /// Conversations whose last turn stays computed, where no running request needs its blocks.
  std::size_t conversations_max = 16;
};

/// What an engine runs on. All of it outlives the engine; the executor is the engine's alone.
struct EngineParts {
  Executor& executor;
  ThreadPool& pool;
  const KernelTable& kernels;
  const Tokenizer* tokenizer = nullptr;  ///< null: no text
  std::int64_t ids = 0;                  ///< that can be drawn: the tokenizer's
  std::vector<std::int32_t> end_ids{};   ///< the model's end-of-sequence and end-of-turn tokens
};

/// Takes requests in at one end and hands out streams; what it computes for one depends on that
/// request alone, bit for bit, whatever shares its steps.
///
/// Either `start` gives it a thread, or its owner calls `step`, always from the same thread.
/// Several engines may share one thread pool: each holds it for a step at a time.
class Engine {
 public:
  /// Errors: Error{kDoesNotFit}.
  explicit Engine(const EngineParts& parts, const EngineOptions& options = {});
  ~Engine() { stop(); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Hands a request in; from any thread. Nothing, with the request as it was, while the inbox is
  /// full or once the engine was stopped.
  ///
  /// Errors: Error{kInvalid} as of `check_request`, or when the KV pool is too small for the
  /// request on its own.
  [[nodiscard]] std::optional<Stream> submit(Request&& request);

  /// Starts the thread. It sleeps while there is nothing to do.
  ///
  /// Errors: Error{kDoesNotFit} when the system refuses a thread.
  void start();
  /// One step without a thread: takes requests in, computes, hands out. Returns whether requests
  /// are left; while all of those are paused by their readers, it does nothing.
  bool step();
  /// The same, but returns whether anything was computed: where not, no request gets on before a
  /// reader takes a piece, drops a stream, or submits.
  bool advance();
  /// Cancels all requests, and ends the thread once its step is done. From the thread that owns
  /// the engine.
  void stop();

  /// Of the last step; for whoever calls `step`.
  const Scheduler& scheduler() const { return scheduler_; }

 private:
  void run_thread();
  bool turn();
  void drain();
  void admit(Submission&& submission);
  void refuse(std::uint64_t id, Channel& channel, const Error& error);
  void run(std::span<const StepPart> parts);
  void sample(std::span<const StepPart> parts);
  void deliver(std::span<const StepPart> parts);
  void drop_ended();
  void end_all(FinishReason reason, const Error* error);
  void check_idle();
  Continuation& of(const StepPart& part) { return *active_.at(part.sequence->id); }

  Executor& executor_;
  ThreadPool& pool_;
  const Tokenizer* tokenizer_;
  std::vector<std::int32_t> end_ids_;
  EngineOptions options_;
  RequestLimits request_limits_;

  // Shared with readers and those who submit.
  std::atomic<std::uint64_t> last_id_{0};
  BoundedQueue<Submission> inbox_;
  std::shared_ptr<Doorbell> bell_;
  std::atomic<bool> stopping_{false};

  // The stepping thread's alone.
  Scheduler scheduler_;
  Sampler sampler_;
  std::map<std::uint64_t, std::unique_ptr<Continuation>> active_;  ///< by request number
  std::vector<Continuation*> drawing_;  ///< those with a row of logits in this step
  std::vector<SampleRow> rows_;
  std::vector<Drawn> drawn_;
  std::vector<std::int32_t> tokens_;  ///< what goes on each of them
  std::thread thread_;
};

}  // namespace ingot
