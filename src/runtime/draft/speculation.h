// Speculation: gives running sequences drafts before each step, as many as pay.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/draft/draft_count.h"
#include "runtime/draft/drafter.h"
#include "runtime/draft/lookup_drafter.h"
#include "runtime/draft/speculation_options.h"
#include "runtime/schedule/scheduler.h"

namespace ingot {

/// Decides which sequences get which drafts. Lookup comes first; sequences for which it finds
/// nothing that is likelier than drafts of the draft model get these. Drafts change no token: see
/// StepResults.
class Speculation {
 public:
  /// `scheduler` and `runner`, whose threads it uses, must outlive this object. Without rows for
  /// drafts, all functions do nothing.
  Speculation(const SpeculationOptions& options, const Scheduler& scheduler, StepRunner& runner);

  /// Sets Sequence::drafts and Sequence::awaits_drafts of running sequences. Call it before
  /// Scheduler::plan. If memory runs out, sequences get no drafts.
  void propose() noexcept;
  /// Forgets what ended requests wrote.
  void flush() { lookup_.flush(); }
  /// Tells that a request has ended, before it is destroyed.
  void end(RunningRequest& request) noexcept;

 private:
  /// A draft of `tasks_[task]`.
  struct Choice {
    float likelihood = 0;  ///< probability that it and all earlier drafts of its task are accepted
    std::size_t task = 0;
  };

  bool uses(const RunningRequest& request, SpeculationMode source) const;
  /// Returns whether each sequence gets SpeculationOptions::tokens drafts, whether they pay or not.
  bool is_fixed() const { return options_.tokens > 0; }
  std::int32_t drafts_max(const RunningRequest& request) const;
  void find_tasks();
  void add_task(RunningRequest& request);
  void ask_lookup();
  void ask_model();
  void propose_with_model();
  void model_failed(std::string_view error);
  void choose();
  void add_choices(std::size_t task);
  void take_likeliest();
  void give();
  std::span<DraftTask> tasks() { return std::span(tasks_).first(used_); }

  SpeculationOptions options_;
  const Scheduler& scheduler_;
  DraftCount count_;
  LookupDrafter lookup_;
  std::int32_t decodes_ = 0;      ///< number of sequences that decode in the next step
  std::vector<DraftTask> tasks_;  ///< the first `used_` are in use; the others keep their memory
  std::size_t used_ = 0;
  std::vector<DraftTask*> asking_;  ///< tasks that a drafter gets
  std::int32_t failures_ = 0;       ///< errors of the draft model since its last draft
  std::int32_t rest_ = 0;           ///< number of calls in which the draft model is not asked
  std::vector<Choice> choices_;
  std::vector<float> likelihoods_;
};

}  // namespace ingot
