// CpuBackend: the op moe (mixture of experts). The panels of all experts of a wave are one list of
// items, so that threads seldom wait for each other.
#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "base/index.h"

namespace ingot {

namespace {

/// Writes the indices of the `used` largest p to `chosen`, largest first, ties to the lower index.
void choose(const float* p, std::int32_t experts, std::int32_t used, std::int32_t* chosen) {
  std::int32_t filled = 0;
  for (std::int32_t e = 0; e < experts; ++e) {
    // A row of NaN gets the first experts: its result is NaN, and other rows are unaffected.
    if (filled == used && !(p[e] > p[chosen[used - 1]])) continue;
    std::int32_t slot = filled < used ? filled++ : used - 1;
    for (; slot > 0 && p[e] > p[chosen[slot - 1]]; --slot) chosen[slot] = chosen[slot - 1];
    chosen[slot] = e;
  }
}

}  // namespace

void CpuBackend::route(View logits, const Moe& m) {
  pool_.parallel_for(logits.rows, [&](std::int64_t t, int) {
    float* p = logits.row<float>(t);
    table_.softmax(p, m.experts);
    std::int32_t* chosen = scratch_.pair_expert + t * m.used;
    float* weight = scratch_.pair_weight + t * m.used;
    choose(p, m.experts, m.used, chosen);
    float sum = 0;
    for (std::int32_t k = 0; k < m.used; ++k) {
      weight[k] = p[chosen[k]];
      sum += weight[k];
    }
    if (!m.renormalise) return;
    for (std::int32_t k = 0; k < m.used; ++k) weight[k] /= sum;
  });
}

std::int64_t CpuBackend::cached_rows(std::int64_t ffn) const {
  // Bytes for rows in a thread's second-level cache, which has 1 MiB or more on most server
  // processors. If the value is too large, rows leave the cache between gate and down; if it is too
  // small, there are more and shorter waves.
  constexpr std::int64_t kBytesOfThread = 1 << 20;
  return std::max<std::int64_t>(1, pool_.size() * kBytesOfThread / (3 * ffn * 4));
}

void CpuBackend::send_rows(View in, const LinearInput& q, const MoeWeights& w, const Moe& m,
                           const ExpertWave& wave) {
  const LinearInput wave_q = scratch_.wave_q.of_groups(in.cols / kGroup);
  pool_.parallel_for(wave.rows(), [&](std::int64_t i, int) {
    const std::int64_t row = wave.row + i;
    const std::int32_t pair = experts_.pair(row);
    const std::int64_t t = pair / m.used;
    const std::int32_t expert = scratch_.pair_expert[pair];
    const Weight& gate_up = at(w.gate_up, expert);
    if (observer_ != nullptr || gate_up.has_dense()) {
      std::copy_n(in.row<const float>(t), in.cols, scratch_.routed.row<float>(row));
    }
    if (!gate_up.has_blocks()) return;
    wave_q.copy(experts_.quantised_row(expert, row), q, t);
  });
}

void CpuBackend::activate_wave(const MoeWeights& w, const Moe& m, const ExpertWave& wave) {
  const LinearInput wave_q = scratch_.wave_q.of_groups(m.ffn / kGroup);
  pool_.parallel_for(wave.rows(), [&](std::int64_t i, int) {
    float* ffn = scratch_.ffn.row<float>(i);
    const float* gate = scratch_.gate_up.row<const float>(i);
    table_.activate(gate, gate + m.ffn, m.act, m.ffn, ffn);
    const std::int64_t row = wave.row + i;
    const std::int32_t expert = scratch_.pair_expert[experts_.pair(row)];
    if (!at(w.down, expert).has_blocks()) return;
    wave_q.write(table_, experts_.quantised_row(expert, row), 0, ffn, m.ffn);
  });
}

void CpuBackend::expert_linears(const ExpertWave& wave, WaveRows in, std::span<const Weight> w,
                                WaveRows out) {
  expert_work_.clear();
  int taken = 0;
  for (std::int32_t e = wave.expert; e < wave.end_expert; ++e) {
    taken += experts_.rows_of(e).count > 0 ? 1 : 0;
  }
  const int threads_each = (pool_.size() + taken - 1) / std::max(1, taken);
  std::int64_t items = 0;
  for (std::int32_t e = wave.expert; e < wave.end_expert; ++e) {
    const ExpertRows& rows = experts_.rows_of(e);
    if (rows.count == 0) continue;
    const Weight& weight = at(w, e);
    INGOT_CHECK(!weight.has_blocks() || (weight.cols <= limits_.cols && weight.cols % kGroup == 0),
                "expert ", e, " of ", weight.cols, " inputs, planned for ", limits_.cols);
    const View x = in.of(rows);
    if (observer_ != nullptr) observer_->linear(x, weight);
    expert_work_.push_back(
        {.first_item = items,
         .panels = PanelWork(table_, threads_each, x, weight, out.of(rows)),
         .rows = scratch_.wave_q.of_groups(weight.cols / kGroup).from(rows.q_first)});
    items += expert_work_.back().panels.items();
  }
  pool_.parallel_for(items, [&](std::int64_t item, int thread) {
    const auto after = std::upper_bound(
        expert_work_.begin(), expert_work_.end(), item,
        [](std::int64_t i, const ExpertWork& work) { return i < work.first_item; });
    const ExpertWork& work = *(after - 1);
    work.panels.run(item - work.first_item, work.rows, linear_scratch(thread));
  });
}

void CpuBackend::moe(View in, const MoeWeights& w, const Moe& m, View out) {
  INGOT_CHECK(in.rows <= limits_.rows && m.experts <= limits_.moe.experts &&
                  m.used <= limits_.moe.used && m.ffn == limits_.moe.ffn &&
                  in.cols == limits_.hidden,
              in.rows, " rows, ", m.used, " of ", m.experts, " experts: not planned");
  const View logits = scratch_.router.slice(0, in.rows);
  linear(in, *w.router, logits);
  route(logits, m);
  const auto pairs = to_size(in.rows * m.used);
  experts_.sort({scratch_.pair_expert, pairs}, m.experts);
  const bool blocks = std::any_of(w.gate_up.begin(), w.gate_up.end(),
                                  [](const Weight& gate_up) { return gate_up.has_blocks(); });
  const LinearInput q = blocks ? quantised(in) : LinearInput{};
  const WaveRows all{.view = scratch_.routed};
  for (std::int32_t e = 0; e < m.experts;) {
    const ExpertWave wave = experts_.wave_from(e);
    send_rows(in, q, w, m, wave);
    expert_linears(wave, all, w.gate_up, {.view = scratch_.gate_up, .first = wave.row});
    activate_wave(w, m, wave);
    expert_linears(wave, {.view = scratch_.ffn, .first = wave.row}, w.down, all);
    e = wave.end_expert;
  }
  overwrites(out);
  pool_.parallel_for(in.rows, [&](std::int64_t t, int) {
    float* y = out.row<float>(t);
    std::fill_n(y, out.cols, 0.0f);
    for (std::int64_t i = t * m.used; i < (t + 1) * m.used; ++i) {
      table_.add_scaled(scratch_.pair_weight[i],
                        scratch_.routed.row<const float>(experts_.routed_row(i)), out.cols, y);
    }
  });
}

}  // namespace ingot
