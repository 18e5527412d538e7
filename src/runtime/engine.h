// Engine: runs many requests at once on one model, in its own thread or in the caller's thread.
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
#include "runtime/live/live_token.h"
#include "runtime/live/resting_requests.h"
#include "runtime/running_request.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/step_guard.h"
#include "runtime/step_results.h"
#include "runtime/step_runner.h"
#include "runtime/stream.h"

namespace ingot {

class Speculation;

/// Accepts requests and returns a stream for each request. A request's results depend bit for bit
/// on this request alone, not on other requests in its steps.
///
/// Either `start` gives the engine a thread, or the caller calls `step`, always from one thread.
/// Several engines may share a thread pool: each engine holds the pool for one step at a time.
class Engine {
 public:
  /// Makes an engine without a thread: see `start`. Errors: Error{kDoesNotFit}.
  explicit Engine(const ModelParts& parts, const EngineOptions& options = {});
  explicit Engine(EngineSetup&& setup, const EngineOptions& options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Submits a request, from any thread. Returns an empty optional if the queue is full, or if the
  /// engine is draining, has stopped or has failed. Then `request` may be submitted again.
  ///
  /// Errors: those of Inbox::submit.
  [[nodiscard]] std::optional<Stream> submit(Request&& request);
  /// Submits a request for several choices of one prompt, which the engine computes once. Choice i
  /// equals the result of `submit` with sampling.choice + i. Returns an empty vector if `submit`
  /// would return an empty optional. `place`: see Inbox::submit.
  ///
  /// Errors: those of Inbox::submit.
  [[nodiscard]] std::vector<Stream> submit_choices(Request&& request, std::int32_t choices,
                                                   QueuePlace place = QueuePlace::kNew) {
    return inbox_.submit(std::move(request), choices, place);
  }

  /// Makes the name of a new live sequence, for Request::live. It may outlive the engine.
  [[nodiscard]] std::shared_ptr<const LiveToken> open_live() const {
    return std::make_shared<const LiveToken>(bell_);
  }
  /// Prepares a request whose copies are to share its lists: see Inbox::prepare.
  void prepare_sampling(Request& request) const { inbox_.prepare(request); }
  /// Makes a drain wait for successors: see Inbox::expect_successors.
  [[nodiscard]] std::shared_ptr<void> expect_successors() { return inbox_.expect_successors(); }

  /// Warms up, so that the first steps are not slow: see StepRunner::warm_up. Call it before the
  /// first request.
  void prepare();
  /// Starts the engine's thread, which sleeps while it has nothing to do. If steps have a time
  /// limit, starts a second thread that calls `watch`.
  ///
  /// Errors: Error{kDoesNotFit} if the system refuses a thread.
  void start();
  /// Runs one tick in the caller's thread: admits requests, computes a step, delivers its tokens.
  /// Returns whether any request is left. Does nothing while all requests wait for their readers.
  bool step();
  /// Runs one tick like `step`. Returns whether the next tick may have work. If not, call `advance`
  /// again only after a new request, a reader's take or cancel, or a deadline: see `wakes`.
  bool advance();
  /// Returns whether a thread that sleeps since `advance` returned false would wake now: the bell
  /// was rung, or a deadline has passed. For simulations of the engine's thread.
  bool wakes();
  /// Makes the engine fail if a step takes longer than `step_limit_seconds`. Every request then
  /// ends with an error, even if the step never returns. Returns whether the engine has failed.
  /// From any thread except the thread that steps.
  bool watch();
  /// Refuses further requests except successors, and returns at once. After `seconds`, the engine
  /// cancels all requests that have not ended. From any thread.
  void begin_drain(double seconds);
  /// Waits for the end of a drain. If a step does not return, waits only until 1 s after the
  /// drain's time limit. Returns whether every request ended by itself. If it returns false while
  /// `step_seconds_now` is not 0, `stop` would wait for the current step.
  bool wait_drained();
  /// Cancels all requests and ends the thread after its current step. Call it from the thread that
  /// owns the engine.
  void stop();

  /// Runs `body` between two steps in the engine's thread, or now if the engine has no thread.
  /// Waits for the end of `body` and rethrows its exceptions. From any thread except the engine's.
  ///
  /// Errors: Error{kUnavailable} if the engine has stopped or failed, or too many calls wait.
  void between_steps(const std::function<void()>& body);

  // Functions for any thread.

  const EngineOptions& options() const { return options_; }
  /// Returns the limits against which `submit` checks requests.
  const RequestLimits& request_limits() const { return inbox_.limits().request; }
  /// Returns the number of choices that have not ended. `under_way_max` is the limit on it.
  std::size_t under_way() const { return inbox_.under_way(); }
  std::size_t under_way_max() const { return inbox_.limits().under_way_max; }
  /// Returns whether `submit_choices` would accept this number of choices now.
  bool has_room(std::size_t choices) const { return inbox_.has_room(choices); }
  /// Returns how many choices run and wait now: see Inbox::load.
  EngineLoad load() const { return inbox_.load(); }
  /// Predicts the seconds until a new request is admitted: see Inbox::expected_wait.
  double expected_wait(std::size_t own) const { return inbox_.expected_wait(own); }
  /// Returns the seconds since the current step began; 0 between steps. Takes no lock.
  double step_seconds_now() const { return guard_.step_seconds(options_.now()); }
  /// Returns the seconds since the current tick began; 0 while the thread waits. A tick includes
  /// planning, sampling and errands. Takes no lock.
  double tick_seconds_now() const { return tick_.seconds(options_.now()); }
  /// Returns whether the engine has failed. A failed engine computes no more steps.
  bool has_failed() const { return guard_.has_failed(); }
  /// Checks that the engine has not failed. Errors: Error{kInternal} with the reason.
  void require_alive() const { guard_.require_alive(); }

  // Functions for the thread that steps, or for a body of `between_steps`.

  KvCache& cache() { return steps_->cache(); }
  /// Returns the index of cached prefixes; null without a prefix cache.
  PrefixIndex* prefixes() { return scheduler_.prefixes(); }
  /// Removes all cached prefixes from the index, so that later requests do not find them. Forgets
  /// what ended requests wrote, so that it gives no drafts.
  void flush_prefixes();
  /// Ends the process if the counts of blocks and prefixes disagree. Slow: checks every block.
  void check_invariants() const;
  const Scheduler& scheduler() const { return scheduler_; }
  /// Calls `visit` for each running or waiting request, by ascending id.
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
  void end(std::unique_ptr<RunningRequest>& request);
  void end_requests(FinishReason reason, const Error* error);
  void end_all(const Error& error);
  void clear();
  void give_up(const Error& error);
  void check_idle();

  // Only the thread that steps uses these fields, except for the inbox, the errands and the guard.
  EngineOptions options_;
  std::unique_ptr<StepRunner> steps_;
  Scheduler scheduler_;
  RunningRequests requests_;
  RestingRequests resting_;
  std::unique_ptr<Speculation> speculation_;
  EngineReporter reporter_;
  std::shared_ptr<Doorbell> bell_;  ///< wakes the engine; streams may ring it after the engine ends
  Inbox inbox_;
  Intake intake_;
  Errands errands_;
  StepGuard guard_;
  StepResults results_;
  RunningTime tick_;
  std::vector<RunningRequest*> in_step_;  ///< requests with rows in the step that `finish` commits
  StepPhases phases_[2];                  ///< times of step n's phases, at index n modulo 2
  double committed_ = 0;     ///< time at which the engine drew the last committed tokens
  bool some_ended_ = false;  ///< whether `requests_` contains requests that have ended
  bool is_idle_ = true;      ///< false if a request has come since the last `check_idle`

  // Any thread may use these fields.
  std::atomic<bool> has_thread_{false};
  std::atomic<bool> is_stopping_{false};
  std::atomic<double> drain_by_{kNever};
  std::atomic<bool> was_forced_{false};  ///< whether the engine had to end unfinished requests
  Doorbell drained_;

  std::thread thread_;
  std::thread watcher_;
  Doorbell watcher_bell_;
  std::atomic<bool> is_unwatched_{false};
};

}  // namespace ingot
