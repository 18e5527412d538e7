// Engine: runs many requests at once on one model, in a thread of its own or step by step.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/doorbell.h"
#include "runtime/engine_reporter.h"
#include "runtime/engine_setup.h"
#include "runtime/errands.h"
#include "runtime/inbox.h"
#include "runtime/intake.h"
#include "runtime/running_request.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/step_guard.h"
#include "runtime/step_results.h"
#include "runtime/step_runner.h"
#include "runtime/stream.h"

namespace ingot {

/// Accepts requests and returns a stream for each. The results of a request depend on that request
/// alone, bit for bit, whatever other requests share its steps.
///
/// Either `start` gives the engine a thread, or the caller calls `step`, always from one thread.
/// Several engines may share a thread pool: each engine holds the pool for one step at a time.
class Engine {
 public:
  /// Errors: Error{kDoesNotFit}.
  explicit Engine(const ModelParts& parts, const EngineOptions& options = {});
  explicit Engine(EngineSetup&& setup, const EngineOptions& options = {});
  ~Engine() { stop(); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Submits a request, from any thread. Returns an empty optional and leaves `request` unchanged
  /// if the queue is full, or if the engine is draining, has stopped or has failed.
  ///
  /// Errors: those of Inbox::submit.
  [[nodiscard]] std::optional<Stream> submit(Request&& request);
  /// Submits a request for several choices of one prompt. The prompt is computed once. Choice i
  /// equals the result of `submit` with sampling.choice + i. Returns an empty vector if `submit`
  /// would return an empty optional.
  ///
  /// Errors: those of Inbox::submit.
  [[nodiscard]] std::vector<Stream> submit_choices(Request&& request, std::int32_t choices) {
    return inbox_.submit(std::move(request), choices);
  }

  /// Warms up, so that the first steps are not slow: see StepRunner::warm_up. Call it before the
  /// first request.
  void prepare();
  /// Starts the engine's thread, which sleeps while it has nothing to do. If steps have a time
  /// limit, starts a second thread that calls `watch`.
  ///
  /// Errors: Error{kDoesNotFit} if the system refuses a thread.
  void start();
  /// Runs one tick in the caller's thread: admits requests, computes a step, delivers its tokens.
  /// Returns whether any requests are left. Does nothing while all requests wait for their readers.
  bool step();
  /// Runs one tick like `step`. Returns whether the next tick may do something. After false, call
  /// `advance` again only after a submit, a reader's take or cancel, or a deadline: see `wakes`.
  bool advance();
  /// Whether a thread that sleeps since `advance` returned false would wake now, because the bell
  /// was rung or a deadline passed. For simulations of the engine's thread.
  bool wakes();
  /// Makes the engine fail if a step takes longer than `step_limit_seconds`. Every request then
  /// ends with an error, although the step may never return. Returns whether the engine has failed.
  /// From any thread except the thread that steps.
  bool watch();
  /// Refuses further requests, and cancels requests that do not end within `seconds`. Returns at
  /// once. From any thread.
  void begin_drain(double seconds);
  /// Waits for the end of a drain. If a step does not return, waits until 1 s after the drain's
  /// time limit. Returns whether every request ended by itself. If not, and if `step_seconds_now`
  /// is not 0, a call of `stop` would wait for the step that runs now.
  bool wait_drained();
  /// Cancels all requests and ends the thread after its current step. From the thread that owns the
  /// engine.
  void stop();

  /// Runs `body` in the engine's thread between two steps and waits for its end. Rethrows its
  /// exceptions. From any thread except the engine's own. If it has no thread, runs `body` now.
  ///
  /// Errors: Error{kUnavailable} if the engine has stopped or failed, or too many calls wait.
  void between_steps(const std::function<void()>& body);

  // Functions for any thread.

  const EngineOptions& options() const { return options_; }
  /// The limits that `submit` checks requests against.
  const RequestLimits& request_limits() const { return inbox_.limits().request; }
  /// Number of choices that have not ended, and the limit on this number.
  std::size_t under_way() const { return inbox_.under_way(); }
  std::size_t under_way_max() const { return inbox_.limits().under_way_max; }
  /// Predicted seconds until a new request is admitted: see Inbox::expected_wait.
  double expected_wait(std::size_t own) const { return inbox_.expected_wait(own); }
  /// Seconds since the current step began; 0 between steps. Takes no lock.
  double step_seconds_now() const { return guard_.step_seconds(options_.now()); }
  /// Seconds since the current tick began. A tick includes planning, sampling and errands. 0 while
  /// the thread waits for requests. Takes no lock.
  double tick_seconds_now() const { return tick_.seconds(options_.now()); }
  /// Whether the engine has failed and computes no more steps.
  bool has_failed() const { return guard_.has_failed(); }
  /// Errors: Error{kInternal} with the reason, if the engine has failed.
  void require_alive() const { guard_.require_alive(); }

  // Functions for the thread that steps, or for a body of `between_steps`.

  KvCache& cache() { return steps_->cache(); }
  /// The index of cached prefixes; null without a prefix cache.
  PrefixIndex* prefixes() { return scheduler_.prefixes(); }
  /// Forgets all cached prefixes, so that later requests do not find them.
  void flush_prefixes() { scheduler_.flush_prefixes(); }
  /// Ends the process if the counts of blocks and prefixes disagree. Slow: checks every block.
  void check_invariants() const;
  const Scheduler& scheduler() const { return scheduler_; }
  /// Calls `visit` with all running and waiting requests, by ascending id.
  void visit(FunctionRef<void(const RunningRequest&)> visit) const;

 private:
  void run_thread();
  void run_watcher();
  double next_event() const;

  bool tick();
  bool run_tick();
  void drain(double now);
  void poll_reader(RunningRequest& request, bool is_drain_over, double now);
  bool end_dropped(std::span<const Dropped> all);
  void compute(const Step& step);
  void finish(const Step& step);
  bool attempt(FunctionRef<void(bool is_retry)> body);
  void drop_ended();
  void end_requests(FinishReason reason, const Error* error);
  void end_all(const Error& error);
  void clear();
  void give_up(const Error& error);
  void check_idle();

  // Only the thread that steps uses these. The inbox, errands and guard also serve other threads.
  EngineOptions options_;
  std::unique_ptr<StepRunner> steps_;
  Scheduler scheduler_;
  RunningRequests requests_;
  EngineReporter reporter_;
  std::shared_ptr<Doorbell> bell_;  ///< wakes the engine; streams may use it after the engine
  Inbox inbox_;
  Intake intake_;
  Errands errands_;
  StepGuard guard_;
  StepResults results_;
  RunningTime tick_;
  std::vector<RunningRequest*> in_step_;  ///< requests with rows in the step that is committed now
  StepPhases phases_[2];                  ///< phase times of step n at index n modulo 2
  double committed_ = 0;     ///< time at which the last committed step's tokens were drawn
  bool some_ended_ = false;  ///< whether `requests_` contains requests that have ended
  bool is_idle_ = true;      ///< whether no request came since the last `check_idle`

  // Shared with any thread.
  std::atomic<bool> has_thread_{false};
  std::atomic<bool> is_stopping_{false};
  std::atomic<double> drain_by_{kNever};
  std::atomic<bool> was_forced_{false};  ///< whether the engine ended requests that were not done
  Doorbell drained_;

  std::thread thread_;
  std::thread watcher_;
  Doorbell watcher_bell_;
  std::atomic<bool> is_unwatched_{false};
};

}  // namespace ingot
