// ShareChecker: finds a step's prompts from the planned sequences, and computes their shares.
#include "sim/share_checker.h"

#include <algorithm>
#include <tuple>

#include "sim/violation.h"

namespace ingot::sim {

void ShareChecker::begin_plan() {
  preemptions_ = scheduler_.preemptions();
  const auto running = scheduler_.running_sequences();
  before_.assign(running.begin(), running.end());
}

void ShareChecker::find_prompts(const Step& step) {
  prompts_.clear();
  for (const Sequence* s : scheduler_.running_sequences()) {
    const auto part = std::find_if(step.parts.begin(), step.parts.end(),
                                   [&](const StepPart& p) { return p.sequence == s; });
    const bool has_part = part != step.parts.end();
    const std::int64_t rows = has_part ? part->rows : 0;
    const std::int64_t pending = s->pending - (has_part && part->outputs > 0 ? 1 : 0);
    const std::int64_t length = s->length() + (s->draws_ahead ? pending : 0);
    const std::int64_t missing = std::min(length, s->rows_max) - (s->next_row() - rows);
    const bool is_new = std::find(before_.begin(), before_.end(), s) == before_.end();
    if (!s->whole && !s->paused && (missing > 1 || is_new)) prompts_.push_back({s, missing, rows});
  }
}

void ShareChecker::end_plan(const Step& step) {
  const auto running = scheduler_.running_sequences();
  const bool reserves =
      std::any_of(running.begin(), running.end(), [](const Sequence* s) { return s->guaranteed; });
  if (reserves || scheduler_.preemptions() != preemptions_) return;
  find_prompts(step);
  const auto rank = [](const Prompt& p) {
    return std::tuple(p.sequence->terms.arrival, p.sequence->id);
  };
  const auto first =
      std::min_element(prompts_.begin(), prompts_.end(),
                       [&](const Prompt& a, const Prompt& b) { return rank(a) < rank(b); });
  std::int64_t all = step.rows_max - step.decode_rows;
  for (const StepPart& part : step.parts) {
    if (part.sequence->whole && !part.decode) all -= part.rows;
  }
  const std::int64_t quarter = (all + 3) / 4;
  const std::int64_t others = std::max<std::int64_t>(1, std::ssize(prompts_) - 1);
  const std::int64_t other_share = std::min(all / 64, (all - quarter) / others);
  for (auto p = prompts_.begin(); p != prompts_.end(); ++p) {
    const std::int64_t share = std::min(p->missing, p == first ? quarter : other_share);
    const Sequence& s = *p->sequence;
    const bool has_blocks = s.blocks.reservable() > s.next_row();
    SIM_EXPECT("I20", p->rows >= share || !has_blocks, "sequence ", s.id, " gets ", p->rows, " of ",
               all, " rows and lacks ", p->missing);
  }
}

}  // namespace ingot::sim
