// StepResults: draws a step's tokens, and hands tokens, scores and hidden states to their requests.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/engine_reporter.h"
#include "runtime/running_request.h"
#include "runtime/step_runner.h"

namespace ingot {

/// Takes the results of one step at a time from a runner. A request that runs out of memory here
/// ends alone. Parts without a sequence (it ended meanwhile) are skipped.
class StepResults {
 public:
  /// For steps of at most `sequences` parts. `runner` and `reporter` outlive this.
  StepResults(StepRunner& runner, EngineReporter& reporter, std::int32_t sequences);

  /// Draws a token from each row of logits, in the thread pool.
  void sample(const Step& step);
  /// Hands the results to their requests. Returns, for each part with a row of logits, the token
  /// that its sequence continues with; -1 if it ends. Valid until the next call.
  std::span<const std::int32_t> deliver(const Step& step, double now);

 private:
  void deliver_scores(const Step& step);
  void deliver_hidden(const Step& step);

  StepRunner& runner_;
  EngineReporter& reporter_;
  std::vector<RunningRequest*> outputs_;  ///< by the step's rows of logits; null for ended requests
  std::vector<RunningRequest*> sampled_;  ///< `outputs_` without nulls; the same order as `rows_`
  std::vector<SampleRow> rows_;
  std::vector<Drawn> drawn_;
  std::vector<std::int32_t> tokens_;  ///< by the step's rows of logits
};

}  // namespace ingot
