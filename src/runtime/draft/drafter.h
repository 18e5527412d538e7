// Drafter: the interface that proposes tokens which sequences may draw next.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/running_request.h"

namespace ingot {

/// A token that may come next.
struct Draft {
  std::int32_t id = 0;
  float likelihood = 1;  ///< estimated probability that it is drawn if all earlier drafts are
};

/// A sequence that wants drafts, and the drafts so far. `request` draws the next token from the
/// last token of its sequence.
struct DraftTask {
  RunningRequest* request = nullptr;
  std::int32_t most = 0;  ///< limit on `drafts`
  std::vector<Draft> drafts{};
  std::vector<Draft> lookup{};  ///< drafts of lookup, while the draft model is asked
};

/// Proposes drafts. The engine's thread calls it between two steps. Drafts change no token, so a
/// drafter may guess.
class Drafter {
 public:
  virtual ~Drafter() = default;
  /// Appends drafts to the tasks, whose `drafts` are empty, up to their limits. No two tasks share
  /// a request. Errors: any; the engine then continues without these drafts.
  virtual void propose(std::span<DraftTask* const> tasks) = 0;
  /// Tells an error of `propose`.
  virtual void failed(std::string_view /*error*/) {}
  /// Estimates the seconds that each draft of `tasks` tasks takes in `propose`.
  virtual double seconds(std::size_t /*tasks*/) const { return 0; }
  /// Estimates the probability that a draft is accepted if the one before it is.
  virtual double likelihood() const { return 1; }
  /// Gives the hidden state, before the final norm, of a row that a step has computed, if
  /// ExecutorLimits::draft_hidden is set. Rows of drafts come too, before it is known whether they
  /// are accepted. Rows from the prefix cache have no hidden states.
  virtual void see(RunningRequest& /*request*/, std::int64_t /*row*/,
                   std::span<const float> /*hidden*/) {}
  /// Tells that a request has ended, before it is destroyed.
  virtual void end(RunningRequest& /*request*/) {}
};

}  // namespace ingot
