// Inbox: checks and counts submitted requests, and queues them for the engine's thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bounded_queue.h"
#include "runtime/doorbell.h"
#include "runtime/engine_reporter.h"
#include "runtime/request.h"
#include "runtime/schedule/queue_pace.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/stream.h"

namespace ingot {

/// A submitted request, with a channel for each of its choices.
struct Submission {
  std::uint64_t id = 0;  ///< the first choice's; the others have the next ids
  Request request;
  std::vector<std::shared_ptr<Channel>> channels;
  double time = 0;  ///< when it was submitted
};

/// What an inbox accepts.
struct InboxLimits {
  RequestLimits request;
  std::size_t under_way_max = 0;  ///< choices that have not ended, running or not
  std::size_t deltas_max = 0;     ///< pieces that a reader may be behind
};

/// Any thread submits requests. One thread takes them out, and ends each of their choices.
class Inbox {
 public:
  /// `scheduler` and `reporter` outlive this; `bell` wakes the thread that takes requests out.
  Inbox(const InboxLimits& limits, const Scheduler& scheduler, const EngineReporter& reporter,
        std::shared_ptr<Doorbell> bell, const Clock& now);

  // From any thread.

  /// Queues a request and returns a stream for each choice. Returns none and leaves `request` as it
  /// is when too many choices are under way, or after `refuse_all`.
  ///
  /// Errors: those of `check_request`; Error{kInvalid} for a number of choices outside
  /// [1, kChoicesMax] and for a request that does not fit into the KV pool; std::bad_alloc.
  [[nodiscard]] std::vector<Stream> submit(Request&& request, std::int32_t choices);
  /// Refuses requests from now on, with kDraining or kFailed. The first reason stays, but kFailed
  /// replaces kDraining.
  void refuse_all(Rejection reason);
  bool is_draining() const { return refusal_.load() == Rejection::kDraining; }
  /// Seconds that a request of a tenant with `own` others under way would wait for its admission,
  /// at the present rate of admissions; 0 when no sequence waits. Counts the sequences that the
  /// last plan could not admit and the requests that came since, but at most `own` times the number
  /// of tenants, because tenants take turns. Takes no lock.
  double expected_wait(std::size_t own) const;

  const InboxLimits& limits() const { return limits_; }
  /// Choices that have not ended.
  std::size_t under_way() const { return under_way_.load(); }
  /// Whether a request was ever submitted.
  bool was_used() const { return last_id_.load() > 0; }
  bool is_empty() const { return queue_.size() == 0; }

  // From the thread that steps, or one that has taken over from it.

  /// The oldest request in the queue; nothing if the queue is empty.
  std::optional<Submission> try_pop() { return queue_.try_pop(); }
  /// A choice ended that was taken out.
  void release() { under_way_.fetch_sub(1); }
  /// Ends a choice of a request that was taken out but never ran.
  void end(const Submission& submission, std::size_t choice, FinishReason reason,
           const Error* error);
  /// Takes no request any more, and ends those in the queue.
  void close(FinishReason reason, const Error* error);
  /// Makes the state after a plan visible to `expected_wait`.
  void publish_queue_state(double now);

 private:
  void check(const Request& request, std::int32_t choices) const;
  bool hand_in(Submission&& submission);

  InboxLimits limits_;
  const Scheduler& scheduler_;
  const EngineReporter& reporter_;
  std::shared_ptr<Doorbell> bell_;
  std::shared_ptr<const Clock> now_;  ///< streams outlive the inbox
  BoundedQueue<Submission> queue_;
  std::atomic<std::uint64_t> last_id_{0};
  std::atomic<std::size_t> under_way_{0};
  /// Why requests are refused; kFull: only while too many are under way.
  std::atomic<Rejection> refusal_{Rejection::kFull};

  /// The state after the last plan.
  struct {
    std::atomic<std::size_t> queued{0};
    std::atomic<std::size_t> under_way{0};
    std::atomic<std::size_t> tenants{0};
    std::atomic<double> seconds_each{0};
  } plan_;
  QueuePace pace_;
  std::int64_t admissions_ = 0;  ///< as of the last plan
};

}  // namespace ingot
