// StepResults: draws a step's tokens, and gives tokens, scores and hidden states to their requests.
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "runtime/engine_reporter.h"
#include "runtime/running_request.h"
#include "runtime/step_runner.h"

namespace ingot {

/// Takes the results of one step at a time from a runner. If memory runs out for a request's
/// results, only that request ends. Skips parts whose sequences were removed while the step ran.
class StepResults {
 public:
  /// `sequences`: limit on a step's parts. `runner` and `reporter` must outlive this object.
  StepResults(StepRunner& runner, EngineReporter& reporter, std::int32_t sequences);

  /// Finds which tokens the step's constrained requests may draw. Then returns how the runner draws
  /// from each row of logits of the planned step: see StepRunner::run. The span is valid until the
  /// next call. If a request's tokens cannot be found, the request ends, but stays in the step.
  std::span<const SampleRow> draws(const Step& step);
  /// Takes the token that the runner drew from each row of logits, or draws one in the thread pool.
  void sample(const Step& step);
  /// Gives the results to their requests. Returns a token for each row of logits, to append to the
  /// row's sequence; -1 if the request ends. The span is valid until the next call.
  std::span<const std::int32_t> deliver(const Step& step, double now);

 private:
  void choose(const Step& step);
  void deliver_scores(const Step& step);
  void deliver_hidden(const Step& step);
  void deliver_pooled(const Step& step);

  StepRunner& runner_;
  EngineReporter& reporter_;
  bool runner_draws_;
  std::vector<RunningRequest*> outputs_;   ///< request of each row of logits; null: request ended
  std::vector<RunningRequest*> sampled_;   ///< `outputs_` without nulls, in the order of `rows_`
  std::vector<RunningRequest*> choosing_;  ///< the requests for which `choose` finds tokens
  std::vector<std::exception_ptr> failures_;  ///< [choosing_] what `choose` threw; else null
  std::vector<SampleRow> rows_;
  std::vector<SampleRow> draws_;  ///< result of `draws`
  std::vector<Drawn> drawn_;
  std::vector<std::int32_t> tokens_;  ///< result of `deliver`
};

}  // namespace ingot
