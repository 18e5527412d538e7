// StepResults: draws a step's tokens, and gives tokens, scores and hidden states to their requests.
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "runtime/draft/draft_counts.h"
#include "runtime/engine_reporter.h"
#include "runtime/running_request.h"
#include "runtime/step_runner.h"

namespace ingot {

class Drafter;

/// Takes the results of one step at a time from a runner. If memory runs out for a request's
/// results, only that request ends. Skips parts whose sequences were removed while the step ran.
///
/// A part with drafts is drawn row by row, as long as the drawn token equals the draft: each row is
/// drawn in the state that the tokens before it leave. So drafts change no token.
class StepResults {
 public:
  /// `sequences`: limit on a step's parts. `outputs`: limit on its rows of logits. `drafter` gets
  /// hidden states; it may be null. All objects must outlive this one.
  StepResults(StepRunner& runner, EngineReporter& reporter, std::int32_t sequences,
              std::int32_t outputs, Drafter* drafter = nullptr);

  /// Finds which tokens the step's constrained requests may draw. Then returns how the runner draws
  /// from each row of logits of the planned step: see StepRunner::run. The span is valid until the
  /// next call. If a request's tokens cannot be found, the request ends, but stays in the step.
  std::span<const SampleRow> draws(const Step& step);
  /// Takes the token that the runner drew from the first row of logits of each part, or draws one
  /// in the thread pool.
  void sample(const Step& step);
  /// Gives the results to their requests, and draws from further rows while drafts are accepted.
  /// Returns a token for each row of logits, to append to the row's sequence; -1 if none is drawn
  /// from the row, or if the request ends. The span is valid until the next call.
  std::span<const std::int32_t> deliver(const Step& step, double now);
  /// Returns how many drafts of the last delivered step were verified and accepted.
  const DraftCounts& drafts() const { return drafts_; }

 private:
  /// A request that draws its next token from row `row` of logits.
  struct Drawing {
    RunningRequest* request = nullptr;
    std::int64_t row = 0;
    std::span<const std::int32_t> drafts{};  ///< drafts of the rows behind, which are not drawn yet
    std::int32_t accepted = 0;               ///< number of accepted drafts
  };

  void choose();
  void draw();
  void accept(double now);
  void deliver_scores(const Step& step);
  void deliver_hidden(const Step& step);
  void show(RunningRequest& request, std::int64_t row, std::span<const float> hidden);
  void deliver_pooled(const Step& step);

  StepRunner& runner_;
  EngineReporter& reporter_;
  Drafter* drafter_;
  bool runner_draws_;
  std::vector<Drawing> drawing_;              ///< the requests that draw a token, in order of parts
  std::vector<RunningRequest*> choosing_;     ///< the requests for which `choose` finds tokens
  std::vector<std::exception_ptr> failures_;  ///< [choosing_] what `choose` threw; else null
  std::vector<SampleRow> rows_;               ///< [drawing_]
  std::vector<SampleRow> draws_;              ///< result of `draws`
  std::vector<Drawn> drawn_;                  ///< [drawing_], with memory for all parts of a step
  std::vector<std::int32_t> tokens_;          ///< result of `deliver`
  DraftCounts drafts_;
};

}  // namespace ingot
