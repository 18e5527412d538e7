// Engine: many requests at once on one model, in a thread of its own or step by step.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/bounded_queue.h"
#include "base/thread_pool.h"
#include "runtime/executor.h"
#include "runtime/observe/engine_observer.h"
#include "runtime/request.h"
#include "runtime/running_request.h"
#include "runtime/schedule/queue_pace.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/session/session_file.h"
#include "runtime/step_runner.h"
#include "runtime/step_watch.h"
#include "runtime/stream.h"

namespace ingot {

/// Bounds of what waits, and how requests share the machine.
struct EngineOptions {
  /// Requests that may wait beside those that run: for their turn, for blocks, or for their
  /// readers.
  std::size_t waiting_max = 1024;
  std::size_t deltas_max = 256;  ///< pieces that a reader may be behind
  /// A reader that takes nothing for so long although its queue is full is given up.
  double stall_seconds = kNever;
  bool prefix_cache = true;  ///< what was computed stays, where no running request needs its blocks
  PrefixIndexOptions prefix{};
  /// Seconds that a step may take for prompts while others wait for their next token; 0 = in
  /// proportion to a step without them.
  double step_seconds = 0;
  std::int32_t preemptions_max = 4;  ///< see SchedulerLimits
  std::int32_t pipeline_depth = 1;   ///< see SchedulerLimits; a runner has to support more
  /// Bytes of a session's keys and values that are copied between two steps; at least a block.
  std::int64_t session_bytes = 16 << 20;
  WaitingOptions waiting{};
  /// Seconds after which a step is given up that the runner has not come back from, and the engine
  /// with it; see `Engine::watch`.
  double step_limit_seconds = kNever;
  Clock now{};  ///< asked from any thread; empty = the system's
  /// Told once why no step can be computed any more. All requests have ended with that error. Where
  /// a step is given up, it comes from the thread that watches, and the engine's own may never end:
  /// so that the process has to, without `stop`.
  std::function<void(const Error&)> failed{};
  EngineObserver* observer = nullptr;  ///< outlives the engine
};

/// What an engine on a model runs on. All of it outlives the engine; the executor is the engine's
/// alone.
struct ModelParts {
  Executor& executor;
  ThreadPool& pool;
  const KernelTable& kernels;
  const Tokenizer* tokenizer = nullptr;  ///< null: no text
  std::int64_t ids = 0;                  ///< that can be drawn: the tokenizer's
  std::vector<std::int32_t> end_ids{};   ///< the model's end-of-sequence and end-of-turn tokens
  const ProfiledBackend* profiled = nullptr;  ///< that the executor runs on, where ops are timed
};

/// What any engine runs on.
struct EngineSetup {
  std::unique_ptr<StepRunner> steps;
  RequestLimits limits;
  const Tokenizer* tokenizer = nullptr;
  std::vector<std::int32_t> end_ids{};
};

/// Takes requests in at one end and hands out streams; what it computes for one depends on that
/// request alone, bit for bit, whatever shares its steps.
///
/// Either `start` gives it a thread, or its owner calls `step`, always from the same thread.
/// Several engines may share one thread pool: each holds it for a step at a time.
class Engine {
 public:
  /// Errors: Error{kDoesNotFit}.
  explicit Engine(const ModelParts& parts, const EngineOptions& options = {});
  explicit Engine(EngineSetup&& world, const EngineOptions& options = {});
  ~Engine() { stop(); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Hands a request in; from any thread. Nothing, with the request as it was, while as many wait
  /// as may, and once the engine was stopped, is draining, or has failed.
  ///
  /// Errors: Error{kInvalid} as of `check_request`, or when the KV pool is too small for the
  /// request on its own; std::bad_alloc.
  [[nodiscard]] std::optional<Stream> submit(Request&& request);
  /// The same for several continuations of one prompt, which is computed once. Number i is what
  /// `submit` gives for sampling.choice + i. Empty in place of nothing.
  ///
  /// Errors: as of `submit`; Error{kInvalid} for no choices or more than kChoicesMax.
  [[nodiscard]] std::vector<Stream> submit_choices(Request&& request, std::int32_t choices);

  /// Has the runner do what the first steps would otherwise wait for. Before the first request; it
  /// leaves nothing behind that anybody could see.
  void prepare();
  /// Starts the thread. It sleeps while there is nothing to do. Another one calls `watch` where
  /// there is a limit on steps.
  ///
  /// Errors: Error{kDoesNotFit} when the system refuses a thread.
  void start();
  /// One step without a thread: takes requests in, computes, hands out. Returns whether requests
  /// are left; while all of those are paused by their readers, it does nothing.
  bool step();
  /// The same, but returns whether anything was computed: where not, no request gets on before a
  /// reader takes a piece, drops a stream, or submits.
  bool advance();
  /// Whether a thread that sleeps since `advance` computed nothing would wake now: somebody rang,
  /// or something is due. For whoever simulates that thread.
  bool wakes();
  /// Gives the engine up where the runner computes for longer than `step_limit_seconds`: every
  /// request ends with an error then, although the step may never end. Returns whether the engine
  /// has failed. From any thread but the one that steps.
  bool watch();
  /// Takes no further requests, and cancels those that have not ended within `seconds`; from any
  /// thread, and at once.
  void begin_drain(double seconds);
  /// Waits for the end of a drain, which a thread has to be working on; no longer than a second
  /// past the drain's time for a step that does not come back. Returns whether every request ended
  /// by itself. Where not and `step_seconds_now` is not 0, `stop` would wait for that step.
  bool wait_drained();
  /// Cancels all requests, and ends the thread once its step is done. From the thread that owns
  /// the engine.
  void stop();

  /// Runs `body` between two steps, where it may touch what only the steps' thread may, and returns
  /// once it is done; what it throws comes out here. From any thread but the engine's own; without
  /// a thread from the one that calls `step`.
  ///
  /// Errors: Error{kUnavailable} when the engine was stopped or given up, or many wait for the
  /// same.
  void between_steps(const std::function<void()>& body);

  /// Writes a session with what is there of its tokens' keys and values for requests of `domain`;
  /// `session.model` needs its weights' fingerprint alone. These are copied into memory a few
  /// blocks between two steps, and written in the calling thread: other requests go on, and what
  /// they evict before it is copied is not in the file. Returns how many tokens have keys in it.
  ///
  /// Errors: Error{kIo}; as of `between_steps`; std::bad_alloc.
  std::int64_t save_session(const std::string& path, Session session,
                            const std::array<std::uint64_t, 2>& domain = {});
  /// Takes a session's keys and values over for requests of `domain` that begin with its tokens,
  /// from the front as far as blocks are free, a few between two steps: other requests go on. What
  /// is not restored is computed: the bits are the same. Returns how many tokens have keys now.
  ///
  /// Errors: Error{kModel} where the session is of another model, with nothing changed; Error{kIo};
  /// as of `between_steps`; std::bad_alloc.
  std::int64_t restore_session(const SessionFile& file, const ModelFingerprint& weights,
                               const std::array<std::uint64_t, 2>& domain = {});

  /// What a request has to fit.
  const RequestLimits& request_limits() const { return request_limits_; }
  /// Requests that have not ended; from any thread.
  std::size_t under_way() const { return under_way_.load(); }
  /// The most that there can be: those that run and those that may wait.
  std::size_t under_way_max() const { return inbox_.capacity(); }
  /// Seconds that a request would wait for its turn, whose tenant has `own` others under way: those
  /// that found no room in the last plan and what came since, but no more than tenants take turns
  /// with `own`, at the pace of late. 0 where nobody waited, or too few had to. Takes no lock; from
  /// any thread.
  double expected_wait(std::size_t own) const;
  /// How long the step that is under way has taken, by the engine's clock; 0 between steps. Takes
  /// no lock; from any thread.
  double step_seconds_now() const { return timer_.seconds(options_.now()); }
  /// The same for all that the engine's thread does between two looks at what has come: planning,
  /// sampling and errands too. 0 while it waits for requests.
  double tick_seconds_now() const { return turn_timer_.seconds(options_.now()); }
  /// Whether no step can be computed any more; from any thread.
  bool has_failed() const { return failed_.load(); }
  /// Errors: Error{kInternal}, and why, when no step can be computed any more; from any thread.
  void require_alive() const;
  /// Forgets all prefixes that are not in use; for whoever calls `step`.
  void flush_prefixes() { scheduler_.flush_prefixes(); }
  /// Looks at every block and prefix, and ends the process where the books disagree; for whoever
  /// calls `step`.
  void check_invariants() const;
  /// Of the last step; for whoever calls `step`.
  const Scheduler& scheduler() const { return scheduler_; }
  /// Calls `visit` with all requests that were taken in and have not ended, by their numbers; for
  /// whoever calls `step`.
  void visit(FunctionRef<void(const RunningRequest&)> visit) const;

 private:
  using Active = std::map<std::uint64_t, std::unique_ptr<RunningRequest>>;
  /// Times at which a step was computed, its tokens drawn, and handed out.
  struct PhaseEnds {
    double computed = 0;
    double sampled = 0;
    double delivered = 0;
  };

  void run_thread();
  void run_watcher();
  double next_event() const;
  bool turn();
  bool take_turn();
  void publish_queue_state(double now);
  void drain(double now);
  void poll_reader(RunningRequest& continuation, bool drain_is_over, double now);
  void take_in(double now);
  void run_errands();
  /// Who waits for one is told so.
  void drop_errands() {
    errands_.close();
    while (errands_.try_pop()) continue;
  }
  void admit(Submission&& submission, double now);
  void admit_choice(Submission& submission, std::size_t choice, double now);
  void refuse(const Submission& submission, std::size_t choice, const Error& error);
  bool end_dropped(std::span<const Dropped> all);
  void run(const Step& step);
  bool attempt(FunctionRef<void(bool again)> body);
  void compute(const Step& step);
  void run_again();
  void sample(const Step& step);
  void deliver(const Step& step);
  void guarded(RunningRequest& continuation, FunctionRef<void()> body);
  void drop_ended();
  void end_inbox(FinishReason reason, const Error* error);
  void end_streams(FinishReason reason, const Error* error);
  void end_active(FinishReason reason, const Error* error);
  void clear();
  void give_up(const Error& error);
  void check_idle();
  StepRecord state() const;
  void observe(const Step& step, const PhaseEnds& ends);
  void observe_state();
  void observe_token(const RunningRequest& continuation);
  void observe_unstarted(const Submission& submission, std::size_t choice, FinishReason reason);
  void observe_cancelled(const RunningRequest& continuation);
  void observe_freed();
  void observe_rejection(Rejection reason, std::size_t requests) const;
  void check_submission(const Request& request, std::int32_t choices) const;
  Rejection why_refused() const;
  bool hand_in(Submission&& submission);
  static RunningRequest& of(const StepPart& part) { return *part.sequence->request; }

  std::unique_ptr<StepRunner> steps_;
  const Tokenizer* tokenizer_;
  std::vector<std::int32_t> end_ids_;
  EngineOptions options_;
  RequestLimits request_limits_;

  // Shared with readers and those who submit.
  std::atomic<std::uint64_t> last_id_{0};
  std::atomic<std::size_t> under_way_{0};
  /// Of the last plan.
  struct {
    std::atomic<std::size_t> queued{0};
    std::atomic<std::size_t> under_way{0};
    std::atomic<std::size_t> tenants{0};
    std::atomic<double> seconds_each{0};
  } queue_now_;
  BoundedQueue<Submission> inbox_;
  BoundedQueue<std::packaged_task<void()>> errands_;  ///< for between two steps
  std::atomic<bool> has_thread_{false};
  std::shared_ptr<Doorbell> bell_;
  std::shared_ptr<const Clock> clock_;  ///< of the options
  std::atomic<bool> stopping_{false};
  std::optional<Error> failure_;  ///< why no step can be computed any more; before `failed_`
  std::atomic<bool> failed_{false};
  StepWatch watch_;
  StepTimer timer_;
  StepTimer turn_timer_;
  std::atomic<double> drain_by_{kNever};
  std::atomic<bool> draining_{false};
  std::atomic<bool> drained_by_force_{false};
  Doorbell drained_;

  // The stepping thread's alone.
  Scheduler scheduler_;
  QueuePace pace_;
  std::int64_t admissions_seen_ = 0;
  Active active_;  ///< by request number
  /// By the step's rows of logits; null for those who have ended.
  std::vector<RunningRequest*> drawing_;
  std::vector<RunningRequest*> sampled_;  ///< of them, the others
  std::vector<RunningRequest*> touched_;  ///< those with rows in this step
  bool some_ended_ = false;
  std::vector<SampleRow> rows_;
  std::vector<Drawn> drawn_;
  std::vector<std::int32_t> tokens_;  ///< what goes on each of `drawing_`
  /// Times of the steps under way, by number.
  struct StepTime {
    double planned = 0;  ///< its turn began: what came was taken in, then it was planned
    double begun = 0;    ///< it was handed to the runner
  };
  StepTime times_[2];
  /// A cancelled request whose blocks are back once so many steps were committed.
  struct Freeing {
    double cancelled_at = 0;
    std::int64_t commits = 0;
  };
  std::vector<Freeing> freeing_;
  std::int64_t commits_ = 0;  ///< steps so far
  double made_ = 0;           ///< time of the engine's making
  double committed_ = 0;      ///< time of the last commit
  bool is_idle_ = true;
  std::thread thread_;
  std::thread watcher_;
  Doorbell watcher_bell_;
  std::atomic<bool> unwatched_{false};
};

}  // namespace ingot
