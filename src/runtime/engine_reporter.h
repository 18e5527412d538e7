// EngineReporter: reports an engine's steps, tokens, requests and rejections to its observer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/observe/engine_observer.h"
#include "runtime/running_request.h"
#include "runtime/schedule/clock.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/step_runner.h"

namespace ingot {

/// Times at which the phases of a step begin or end, in seconds of the engine's clock.
struct StepPhases {
  double tick_begun = 0;  ///< start of the tick that plans the step
  double planned = 0;     ///< end of the plan phase, when the runner gets the step
  double computed = 0;
  double sampled = 0;
  double delivered = 0;
};

/// Makes records of an engine's state and passes these records to the observer, if there is one.
///
/// Any thread may call `rejected` and `never_ran`. The other functions are for the stepping thread.
class EngineReporter {
 public:
  /// The objects whose state the records describe. All must outlive the reporter.
  struct Sources {
    const Clock& now;
    const Scheduler& scheduler;
    StepRunner& runner;
    const RunningRequests& requests;
    std::function<std::size_t()> under_way;  ///< returns the number of choices that have not ended
  };

  /// `observer` may be null. Times in records are seconds since the reporter was made.
  /// `requests_max`: maximum number of cancelled requests that await `freed` at once. Reports leave
  /// out further ones.
  EngineReporter(EngineObserver* observer, const Sources& sources, std::size_t requests_max);

  /// Reports a committed step. Uses only the step's counts, because its parts may be gone.
  void step(const Step& step, const StepPhases& phases, const DraftCounts& drafts);
  /// Reports the engine's state after a tick without a step.
  void state();
  /// Reports a delivered token.
  void token(const RunningRequest& request) {
    if (observer_ != nullptr) report_token(request);
  }
  /// Reports that a request has ended.
  void ended(const RunningRequest& request);
  /// Reports each cancelled request whose blocks no step reads any more. Call it after each step.
  void freed();

  /// Reports that a request, submitted at time `submitted`, ended before it was queued. Sets the
  /// record's times.
  void never_ran(RequestRecord record, double submitted) const;
  /// Reports that the engine refused `requests` requests.
  void rejected(Rejection reason, std::size_t requests) const;

 private:
  /// A cancelled request. Its blocks are free once the engine has ended `steps` steps in total.
  struct Freeing {
    double cancelled_at = 0;
    std::int64_t steps = 0;
  };

  void report_token(const RunningRequest& request);
  StepRecord state_now() const;

  EngineObserver* observer_;
  Sources from_;
  double origin_;  ///< time 0 of records, in seconds of the engine's clock
  std::vector<Freeing> freeing_;
};

}  // namespace ingot
