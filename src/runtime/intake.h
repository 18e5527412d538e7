// Intake: turns submissions into running requests and adds them to the scheduler's waiting queue.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/engine_reporter.h"
#include "runtime/inbox.h"
#include "runtime/live/resting_requests.h"
#include "runtime/running_request.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/step_runner.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// Queues the choices of submissions. Ends a choice at once if it is too late or memory runs out.
class Intake {
 public:
  /// The objects that receive requests and reports of refusals. All must outlive the intake.
  struct Targets {
    StepRunner& runner;
    Scheduler& scheduler;
    RunningRequests& requests;
    RestingRequests& resting;
    Inbox& inbox;
    const EngineReporter& reporter;
  };

  /// `tokenizer` may be null. `end_ids` are the model's end tokens, which a request may ignore.
  Intake(const Targets& targets, const Tokenizer* tokenizer, std::vector<std::int32_t> end_ids);

  /// Adds the choices of a submission from the inbox to the scheduler's waiting queue.
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
