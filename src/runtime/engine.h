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

/// Takes requests and returns streams. The results of a request depend on that request alone, bit
/// for bit, whatever shares its steps.
///
/// Either `start` gives it a thread, or the caller steps it, always from one thread.
/// Several engines may share a thread pool: each holds it for one step at a time.
class Engine {
 public:
  /// Errors: Error{kDoesNotFit}.
  explicit Engine(const ModelParts& parts, const EngineOptions& options = {});
  explicit Engine(EngineSetup&& setup, const EngineOptions& options = {});
  ~Engine() { stop(); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Submits a request, from any thread. Returns nothing and leaves `request` as it is while the
  /// queue is full, and once the engine is draining, has stopped or failed.
  ///
  /// Errors: those of Inbox::submit.
  [[nodiscard]] std::optional<Stream> submit(Request&& request);
  /// Submits a request for several choices of one prompt, which is computed once. Choice i is what
  /// `submit` gives for sampling.choice + i. Returns an empty vector where `submit` returns
  /// nothing.
  ///
  /// Errors: those of Inbox::submit.
  [[nodiscard]] std::vector<Stream> submit_choices(Request&& request, std::int32_t choices) {
    return inbox_.submit(std::move(request), choices);
  }

  /// Does in advance what the first steps would wait for: see StepRunner::warm_up. Before the first
  /// request.
  void prepare();
  /// Starts the thread, which sleeps while it has nothing to do, and a second one that calls
  /// `watch` if steps have a time limit.
  ///
  /// Errors: Error{kDoesNotFit} when the system refuses a thread.
  void start();
  /// One tick without a thread: admits, computes, delivers. Returns whether requests are left. Does
  /// nothing while all of them are paused by their readers.
  bool step();
  /// As `step`, but returns whether the next tick may do something: if not, no request continues
  /// before a reader takes a piece, drops a stream, or submits.
  bool advance();
  /// Whether a thread that sleeps since `advance` returned false would wake now: it was rung, or
  /// something is due. For simulations of that thread.
  bool wakes();
  /// Makes the engine fail if a step takes longer than `step_limit_seconds`: every request ends
  /// with an error, although the step may never return. Returns whether the engine has failed. From
  /// any thread but the one that steps.
  bool watch();
  /// Accepts no further requests, and cancels requests that do not end within `seconds`. Returns
  /// at once; from any thread.
  void begin_drain(double seconds);
  /// Waits for the end of a drain, but at most a second longer than the drain for a step that does
  /// not return. Returns whether every request ended by itself. If it returns false and
  /// `step_seconds_now` is not 0, `stop` would wait for that step.
  bool wait_drained();
  /// Cancels all requests and ends the thread after its present step. From the thread that owns the
  /// engine.
  void stop();

  /// Runs `body` in the engine's thread between two steps, and returns after it. Rethrows what it
  /// throws. From any thread but the engine's own. Without a thread, runs it at once.
  ///
  /// Errors: Error{kUnavailable} when the engine has stopped or failed, or too many calls wait.
  void between_steps(const std::function<void()>& body);

  // From any thread.

  const EngineOptions& options() const { return options_; }
  /// What a request has to fit.
  const RequestLimits& request_limits() const { return inbox_.limits().request; }
  /// Requests that have not ended, each choice counted, and the most that there can be.
  std::size_t under_way() const { return inbox_.under_way(); }
  std::size_t under_way_max() const { return inbox_.limits().under_way_max; }
  /// See Inbox::expected_wait.
  double expected_wait(std::size_t own) const { return inbox_.expected_wait(own); }
  /// Seconds since the present step began; 0 between steps. Takes no lock.
  double step_seconds_now() const { return guard_.step_seconds(options_.now()); }
  /// Seconds since the present tick began: planning, sampling and errands included; 0 while the
  /// thread waits for requests. Takes no lock.
  double tick_seconds_now() const { return tick_.seconds(options_.now()); }
  /// Whether the engine can compute no step any more.
  bool has_failed() const { return guard_.has_failed(); }
  /// Errors: Error{kInternal} with the reason, when the engine has failed.
  void require_alive() const { guard_.require_alive(); }

  // From the thread that steps, or within `between_steps`.

  KvCache& cache() { return steps_->cache(); }
  /// Null without a prefix cache.
  PrefixIndex* prefixes() { return scheduler_.prefixes(); }
  /// Forgets all prefixes that no request uses.
  void flush_prefixes() { scheduler_.flush_prefixes(); }
  /// Checks all blocks and prefixes, and ends the process if their counts disagree.
  void check_invariants() const;
  const Scheduler& scheduler() const { return scheduler_; }
  /// Calls `visit` with all admitted or waiting requests, by ascending id.
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

  // The thread that steps uses all of this. The inbox, errands and guard have parts for any thread.
  EngineOptions options_;
  std::unique_ptr<StepRunner> steps_;
  Scheduler scheduler_;
  RunningRequests requests_;
  EngineReporter reporter_;
  std::shared_ptr<Doorbell> bell_;  ///< streams outlive the engine
  Inbox inbox_;
  Intake intake_;
  Errands errands_;
  StepGuard guard_;
  StepResults results_;
  RunningTime tick_;
  std::vector<RunningRequest*> in_step_;  ///< requests with rows in the step that is committed
  StepPhases phases_[2];                  ///< by number of the step under way, modulo 2
  double committed_ = 0;                  ///< when the last step was sampled
  bool some_ended_ = false;
  bool is_idle_ = true;

  // Shared with any thread.
  std::atomic<bool> has_thread_{false};
  std::atomic<bool> is_stopping_{false};
  std::atomic<double> drain_by_{kNever};
  std::atomic<bool> was_forced_{false};  ///< requests did not all end by themselves
  Doorbell drained_;

  std::thread thread_;
  std::thread watcher_;
  Doorbell watcher_bell_;
  std::atomic<bool> is_unwatched_{false};
};

}  // namespace ingot
