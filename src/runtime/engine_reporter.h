// EngineReporter: tells an engine's observer of steps, tokens, requests, freed blocks, rejections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/observe/engine_observer.h"
#include "runtime/running_request.h"
#include "runtime/schedule/clock.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/step_runner.h"

namespace ingot {

/// When the phases of a step ended, in seconds of the engine's clock.
struct StepPhases {
  double tick_begun = 0;  ///< submitted requests are admitted after it, then the step is planned
  double planned = 0;     ///< the runner gets the step
  double computed = 0;
  double sampled = 0;
  double delivered = 0;
};

/// Makes records of an engine's state and passes them to an observer, if there is one.
///
/// The thread that steps calls it. Any thread calls `rejected` and `never_ran`.
class EngineReporter {
 public:
  /// What records are made of. All of it outlives the reporter.
  struct Sources {
    const Clock& now;
    const Scheduler& scheduler;
    StepRunner& runner;
    const RunningRequests& requests;
  };

  /// `observer` may be null. Times of records count from now. At most `requests_max` requests are
  /// under way at once.
  EngineReporter(EngineObserver* observer, const Sources& sources, std::size_t requests_max);

  /// A step was committed. Its parts may be gone.
  void step(const Step& step, const StepPhases& phases);
  /// A tick ended without a step.
  void state();
  /// A request got a token.
  void token(const RunningRequest& request) {
    if (observer_ != nullptr) report_token(request);
  }
  /// A request ended.
  void ended(const RunningRequest& request);
  /// Steps were committed or abandoned: no device reads some cancelled requests' blocks any more.
  void freed();

  /// Request `id`, submitted at time `submitted`, ended before it was in the waiting line.
  void never_ran(std::uint64_t id, double submitted, FinishReason reason) const;
  /// `requests` requests were refused.
  void rejected(Rejection reason, std::size_t requests) const;

 private:
  /// A cancelled request whose blocks are free once `steps` steps are over.
  struct Freeing {
    double cancelled_at = 0;
    std::int64_t steps = 0;
  };

  void report_token(const RunningRequest& request);
  StepRecord state_now() const;

  EngineObserver* observer_;
  Sources from_;
  double origin_;  ///< the time that records count from
  std::vector<Freeing> freeing_;
};

}  // namespace ingot
