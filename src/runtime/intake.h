// Intake: makes running requests of submissions and puts them into the scheduler's waiting line.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/engine_reporter.h"
#include "runtime/inbox.h"
#include "runtime/running_request.h"
#include "runtime/schedule/scheduler.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// Ends a choice at once for which there is no memory, or that cannot meet its deadline.
class Intake {
 public:
  /// What requests become part of, and where refusals go. All of it outlives the intake.
  struct Targets {
    KvCache& cache;
    Scheduler& scheduler;
    RunningRequests& requests;
    Inbox& inbox;
    const EngineReporter& reporter;
  };

  /// `tokenizer` may be null. `end_ids` end every request that does not ignore them.
  Intake(const Targets& targets, const Tokenizer* tokenizer, std::vector<std::int32_t> end_ids);

  /// Adds the choices of a submission, which came out of the inbox, to the waiting line.
  void enqueue(Submission&& submission, double now);

 private:
  void enqueue_choice(Submission& submission, std::size_t choice, double now);
  void require_in_time(const RunningRequest& request, double now);
  void refuse(const Submission& submission, std::size_t choice, const Error& error);

  Targets to_;
  const Tokenizer* tokenizer_;
  std::vector<std::int32_t> end_ids_;
};

}  // namespace ingot
