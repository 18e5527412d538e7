// ShareChecker: checks that every prompt gets its share of a step's prompt rows.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/schedule/scheduler.h"

namespace ingot::sim {

/// I20: in each planned step, the prompt of first rank gets a quarter of the prompt rows (rounded
/// up), and any other prompt 1/64 (rounded down). A prompt with fewer missing rows gets all of
/// them. If there are more than 49 prompts, the others get equal parts of three quarters instead.
///
/// A prompt is a running sequence that is not paused, and that misses two rows or more or was just
/// admitted. Rows of sequences that one step must compute are no prompt rows. Leaves out prompts
/// without a block for another row, plans that preempt a sequence, and plans beside a guaranteed
/// sequence.
class ShareChecker {
 public:
  /// All sequences must have equal priorities, and no embeddings.
  explicit ShareChecker(const Scheduler& scheduler) : scheduler_(scheduler) {}

  /// Call it before Scheduler::plan.
  void begin_plan();
  /// Checks the step that Scheduler::plan returned.
  void end_plan(const Step& step);

 private:
  struct Prompt {
    const Sequence* sequence = nullptr;
    std::int64_t missing = 0;  ///< number of its missing rows before the plan
    std::int64_t rows = 0;     ///< number of its rows in the step
  };
  void find_prompts(const Step& step);

  const Scheduler& scheduler_;
  std::int64_t preemptions_ = 0;         ///< number of preemptions before the plan
  std::vector<const Sequence*> before_;  ///< the sequences that ran before the plan
  std::vector<Prompt> prompts_;
};

}  // namespace ingot::sim
