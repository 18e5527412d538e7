// ExpertPlan: sorts pairs of rows and experts, and cuts waves.
#include "backend/cpu/expert_plan.h"

#include <algorithm>

#include "base/index.h"

namespace ingot {

void ExpertPlan::sort(std::span<const std::int32_t> chosen, std::int32_t experts) {
  experts_ = experts;
  const std::span<ExpertRows> all = memory_.experts.first(to_size(experts));
  std::fill(all.begin(), all.end(), ExpertRows{});
  for (const std::int32_t e : chosen) ++at(all, e).count;
  std::int32_t first = 0;
  for (ExpertRows& e : all) {
    e.first = first;
    first += e.count;
    e.count = 0;
  }
  // A stable counting sort.
  for (std::int32_t pair = 0; pair < std::ssize(chosen); ++pair) {
    ExpertRows& e = at(all, at(chosen, pair));
    const std::int32_t row = e.first + e.count++;
    at(memory_.routed_rows, pair) = row;
    at(memory_.pairs, row) = pair;
  }
}

ExpertWave ExpertPlan::wave_from(std::int32_t expert) {
  const std::int32_t first = rows_of(expert).first;
  ExpertWave wave{.expert = expert, .end_expert = expert, .row = first, .end_row = first};
  std::int32_t q_rows = 0;
  for (; wave.end_expert < experts_; ++wave.end_expert) {
    ExpertRows& e = at(memory_.experts, wave.end_expert);
    if (wave.rows() > 0 && wave.rows() + e.count > wave_rows_) break;
    wave.end_row += e.count;
    e.q_first = q_rows;
    q_rows += (e.count + rows_together_ - 1) / rows_together_ * rows_together_;
  }
  return wave;
}

}  // namespace ingot
