// Step and StepPart: counts a step's rows, and chooses which rows of a part leave the model.
#include "runtime/schedule/step.h"

#include <algorithm>

namespace ingot {

namespace {

/// The number of rows in [first, min(last, end)).
std::int32_t rows_before(std::int64_t first, std::int64_t last, std::int64_t end) {
  return static_cast<std::int32_t>(std::max<std::int64_t>(0, std::min(last, end) - first));
}

}  // namespace

void Step::reset(std::int64_t new_number) {
  number = new_number;
  parts.clear();
  copies.clear();
  rows = decode_rows = verify_rows = outputs = scores = sequences = 0;
}

void Step::count_parts() {
  for (const StepPart& part : parts) {
    rows += part.rows;
    decode_rows += part.decode ? part.rows : 0;
    verify_rows += part.drafts > 0 ? part.rows : 0;
    scores += part.scores;
    if (part.outputs > 0) part.sequence->output = outputs;
    outputs += part.outputs;
  }
  sequences = static_cast<std::int32_t>(parts.size());
}

std::int64_t next_rows(const Sequence& s) {
  return std::min(s.missing(), s.run_end(s.next_row()) - s.next_row());
}

StepPart next_part(Sequence& s, std::int32_t rows) {
  StepPart part{.sequence = &s,
                .first = s.next_row(),
                .rows = rows,
                .final_norm = s.final_norm,
                .admission = s.admissions,
                .decode = s.missing() == 1};
  const std::int64_t last = part.first + rows;
  part.outputs = s.draws && last == s.length() + s.pending ? 1 : 0;
  part.previous = last > s.length() ? s.output : -1;
  part.first_score = std::max(part.first, s.score_next);
  part.scores = rows_before(part.first_score, last, s.score_end);
  part.first_hidden = std::max(part.first, s.hidden_next);
  part.hidden = rows_before(part.first_hidden, last, s.hidden_end);
  part.pooled = s.pools && last == s.length();
  if (!s.shows_hidden) return part;
  part.first_hidden = part.first;
  part.hidden = rows;
  part.final_norm = false;
  return part;
}

}  // namespace ingot
