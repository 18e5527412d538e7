// Inbox: checks, counts and queues submitted requests for the engine's thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bounded_queue.h"
#include "base/function_ref.h"
#include "base/index.h"
#include "runtime/doorbell.h"
#include "runtime/engine_reporter.h"
#include "runtime/request.h"
#include "runtime/sampling/shared_sampling.h"
#include "runtime/schedule/queue_pace.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/stream.h"
#include "runtime/token_rules.h"

namespace ingot {

/// A submitted request, with a channel for each of its choices.
struct Submission {
  std::uint64_t id = 0;  ///< id of the first choice; choice i has the id `id` + i
  Request request;
  std::optional<RepeatHistory> repeats;  ///< history of the prompt; present if DRY acts
  std::optional<Matcher> matcher;        ///< present if the request has a constraint
  std::vector<std::shared_ptr<Channel>> channels;
  std::int64_t prompt_tokens = 0;  ///< length of the prompt, which `request` loses to a choice
  double time = 0;                 ///< time of submission, in seconds of the engine's clock
};

/// How many choices run and how many wait.
struct EngineLoad {
  std::size_t running = 0;  ///< admitted choices
  std::size_t waiting = 0;  ///< choices that were accepted, but not admitted
};

/// Whether a submission needs a free place.
enum class QueuePlace {
  kNew,        ///< refused if too many choices are under way, or during a drain
  kSuccessor,  ///< takes the place of choices that have ended; only a failure or the end refuses it
};

/// Limits on the requests that an inbox accepts.
struct InboxLimits {
  RequestLimits request;
  std::size_t under_way_max = 0;  ///< limit on the choices that run or wait
  std::size_t deltas_max = 0;     ///< limit on the deltas that wait in one reader's queue
};

/// A bounded queue of submitted requests. Any thread adds requests, and one thread removes them.
class Inbox {
 public:
  /// `scheduler`, `reporter` and `tokenizer`, which may be null, must outlive this object. `bell`
  /// wakes the engine's thread.
  Inbox(const InboxLimits& limits, const Scheduler& scheduler, const EngineReporter& reporter,
        std::shared_ptr<Doorbell> bell, const Clock& now, const Tokenizer* tokenizer);

  // Functions for any thread.

  /// Prepares sampling: encodes and sorts the lists of `request.sampling` and moves them to
  /// `request.shared`, which all copies of the request share. Does nothing if `shared` is there.
  ///
  /// Errors: those of `check_sampling` and Tokenizer::encode; std::bad_alloc.
  void prepare(Request& request) const;
  /// Queues a request and returns a stream for each choice. Returns no streams if too many choices
  /// are under way, or after `refuse_all` or `close`: see QueuePlace. Then `request` is unchanged,
  /// but may be prepared. Only a new request counts as refused. The calling thread prepares
  /// sampling, searches the prompt for sequence breakers and begins the constraint's text, so that
  /// the engine's thread need not.
  ///
  /// `place`: kSuccessor is for a caller that replaces its own ended choices, one by one. Meanwhile
  /// other requests may take the free places. Then the number of choices under way exceeds its
  /// limit, at most by the number of replaced choices.
  ///
  /// Errors: those of `check_request`; Error{kInvalid} for a number of choices outside
  /// [1, kChoicesMax] and for a request that does not fit into the KV pool; those of
  /// Tokenizer::encode and `begin_matcher`; std::bad_alloc.
  [[nodiscard]] std::vector<Stream> submit(Request&& request, std::int32_t choices,
                                           QueuePlace place = QueuePlace::kNew);
  /// Returns whether `submit` would accept a new request for this number of choices now.
  bool has_room(std::size_t choices) const {
    return refusal_.load() == Rejection::kFull && under_way() + choices <= limits_.under_way_max;
  }
  /// Announces successors: until the returned object is destroyed, a drain lasts to its time limit.
  /// Destroy it after the last successor was submitted. Errors: std::bad_alloc.
  [[nodiscard]] std::shared_ptr<void> expect_successors();
  bool expects_successors() const { return expecting_->load() > 0; }
  /// Refuses all later new requests. `reason` is kDraining or kFailed. kFailed replaces an earlier
  /// kDraining, but kDraining does not replace an earlier kFailed.
  void refuse_all(Rejection reason);
  bool is_draining() const { return refusal_.load() == Rejection::kDraining; }
  /// Predicts how many seconds a new request waits for admission; 0 if no sequence waits. This is
  /// the mean time between admissions times the number of choices that the last plan did not admit
  /// or that came later. This number is at most `own` (the tenant's other requests under way) times
  /// the number of tenants, because tenants share admissions. Takes no lock.
  double expected_wait(std::size_t own) const;

  const InboxLimits& limits() const { return limits_; }
  /// Returns the number of choices that have not ended.
  std::size_t under_way() const { return under_way_.load(); }
  /// Returns how many choices run and wait now, also while a step is computed. Takes no lock.
  EngineLoad load() const;
  /// Returns whether a request was ever submitted.
  bool was_used() const { return last_id_.load() > 0; }
  bool is_empty() const { return queue_.size() == 0; }

  // Functions for the thread that steps, or for the watching thread after a step took too long.

  /// Removes the oldest request from the queue and returns it; nullopt if the queue is empty.
  std::optional<Submission> try_pop() { return queue_.try_pop(); }
  /// Subtracts one ended choice from `under_way`.
  void release() { under_way_.fetch_sub(1); }
  /// Ends a choice that left the queue but never ran: sets its outcome and closes its stream.
  void end(const Submission& submission, std::size_t choice, FinishReason reason,
           const Error* error);
  /// Refuses further requests, and ends all queued requests with `reason` and `error`.
  void close(FinishReason reason, const Error* error);
  /// Publishes the scheduler's state after a plan, for `expected_wait` and `load`.
  void publish_queue_state(double now);
  /// Publishes the number of running choices, for `load`. Call it after sequences were removed.
  void publish_running() { running_.store(to_size(scheduler_.running())); }

 private:
  void check(const Request& request, std::int32_t choices) const;
  void count_invalid(FunctionRef<void()> body) const;
  bool hand_in(Submission&& submission, QueuePlace place);

  InboxLimits limits_;
  const Scheduler& scheduler_;
  const EngineReporter& reporter_;
  std::shared_ptr<Doorbell> bell_;
  const Tokenizer* tokenizer_;
  std::shared_ptr<const Clock> now_;  ///< clock; shared with streams that outlive the inbox
  BoundedQueue<Submission> queue_;
  std::atomic<std::uint64_t> last_id_{0};
  std::atomic<std::size_t> under_way_{0};
  /// Number of objects of `expect_successors`, which may outlive the inbox.
  std::shared_ptr<std::atomic<std::size_t>> expecting_;
  std::atomic<std::size_t> running_{0};  ///< see `publish_running`
  /// Why the inbox refuses requests. kFull: refuses them only while too many choices are under way.
  std::atomic<Rejection> refusal_{Rejection::kFull};

  /// The scheduler's state after the last plan: see `publish_queue_state`.
  struct {
    std::atomic<std::size_t> queued{0};
    std::atomic<std::size_t> under_way{0};
    std::atomic<std::size_t> tenants{0};
    std::atomic<double> seconds_each{0};
  } plan_;
  QueuePace pace_;
  std::int64_t admissions_ = 0;  ///< value of Scheduler::admissions after the last plan
};

}  // namespace ingot
