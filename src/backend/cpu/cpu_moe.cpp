// CpuBackend: mixture of experts. Rows are routed and sorted by expert; all experts' panels are one
// list of items, so that threads seldom wait for one another, however many experts there are.
#include <algorithm>

#include "backend/cpu/cpu_backend.h"

namespace ingot {

namespace {

/// The `used` largest of p, falling, ties to the lower index, into `chosen`.
void choose(const float* p, std::int32_t experts, std::int32_t used, std::int32_t* chosen) {
  std::int32_t filled = 0;
  for (std::int32_t e = 0; e < experts; ++e) {
    // A row of NaN compares with nothing and takes the first experts: it stays NaN and harms
    // nobody.
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
    std::int32_t* chosen = scratch_.slot_expert + t * m.used;
    float* weight = scratch_.slot_weight + t * m.used;
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
  constexpr std::int64_t kBytesOfThread = 1 << 20;
  return std::max<std::int64_t>(1, pool_.size() * kBytesOfThread / (3 * ffn * 4));
}

void CpuBackend::sort_slots(std::int64_t rows, const Moe& m) {
  ExpertRows* experts = scratch_.expert_rows;
  const std::int32_t* chosen = scratch_.slot_expert;
  const auto slots = static_cast<std::int32_t>(rows * m.used);
  std::fill_n(experts, m.experts, ExpertRows{});
  for (std::int32_t slot = 0; slot < slots; ++slot) ++experts[chosen[slot]].count;
  for (std::int32_t e = 1; e < m.experts; ++e) {
    experts[e].first = experts[e - 1].first + experts[e - 1].count;
  }
  for (std::int32_t e = 0; e < m.experts; ++e) experts[e].count = 0;
  // A stable counting sort: within an expert, rows keep their order.
  for (std::int32_t slot = 0; slot < slots; ++slot) {
    ExpertRows& e = experts[chosen[slot]];
    const std::int32_t row = e.first + e.count++;
    scratch_.slot_row[slot] = row;
    scratch_.sorted_slot[row] = slot;
  }
}

CpuBackend::ExpertWave CpuBackend::wave_from(std::int32_t expert, const Moe& m) {
  const std::int32_t first = scratch_.expert_rows[expert].first;
  ExpertWave wave{.expert = expert, .end_expert = expert, .slot = first, .end_slot = first};
  std::int32_t q_rows = 0;
  for (; wave.end_expert < m.experts; ++wave.end_expert) {
    ExpertRows& e = scratch_.expert_rows[wave.end_expert];
    const std::int32_t rows = wave.end_slot - wave.slot;
    if (rows > 0 && rows + e.count > scratch_.cached_rows) break;
    wave.end_slot += e.count;
    e.q_first = q_rows;
    q_rows += (e.count + rows_together() - 1) / rows_together() * rows_together();
  }
  return wave;
}

void CpuBackend::send_rows(View in, const LinearInput& q, const MoeWeights& w, const Moe& m,
                           const ExpertWave& wave) {
  const LinearInput wave_q = scratch_.wave_q.of_groups(in.cols / kGroup);
  pool_.parallel_for(wave.end_slot - wave.slot, [&](std::int64_t i, int) {
    const std::int64_t row = wave.slot + i;
    const std::int32_t slot = scratch_.sorted_slot[row];
    const std::int64_t t = slot / m.used;
    const Weight& gate_up = w.gate_up[static_cast<std::size_t>(scratch_.slot_expert[slot])];
    if (observer_ != nullptr || gate_up.has_dense()) {
      std::copy_n(in.row<const float>(t), in.cols, scratch_.routed.row<float>(row));
    }
    if (!gate_up.has_blocks()) return;
    wave_q.copy(quantised_row(slot), q, t);
  });
}

std::int64_t CpuBackend::quantised_row(std::int32_t slot) const {
  const ExpertRows& e = scratch_.expert_rows[scratch_.slot_expert[slot]];
  return e.q_first + scratch_.slot_row[slot] - e.first;
}

void CpuBackend::activate_wave(const MoeWeights& w, const Moe& m, const ExpertWave& wave) {
  const LinearInput wave_q = scratch_.wave_q.of_groups(m.ffn / kGroup);
  pool_.parallel_for(wave.end_slot - wave.slot, [&](std::int64_t i, int) {
    float* ffn = scratch_.ffn.row<float>(i);
    const float* gate = scratch_.gate_up.row<const float>(i);
    table_.activate(gate, gate + m.ffn, m.act, m.ffn, ffn);
    const std::int32_t slot = scratch_.sorted_slot[wave.slot + i];
    if (!w.down[static_cast<std::size_t>(scratch_.slot_expert[slot])].has_blocks()) return;
    wave_q.write(table_, quantised_row(slot), 0, ffn, m.ffn);
  });
}

void CpuBackend::expert_linears(const ExpertWave& wave, WaveRows in, std::span<const Weight> w,
                                WaveRows out) {
  expert_work_.clear();
  const auto taken =
      std::count_if(scratch_.expert_rows + wave.expert, scratch_.expert_rows + wave.end_expert,
                    [](const ExpertRows& rows) { return rows.count > 0; });
  const auto threads_each =
      static_cast<int>((pool_.size() + taken - 1) / std::max<std::int64_t>(1, taken));
  std::int64_t items = 0;
  for (std::int32_t e = wave.expert; e < wave.end_expert; ++e) {
    const ExpertRows& rows = scratch_.expert_rows[e];
    if (rows.count == 0) continue;
    const Weight& weight = w[static_cast<std::size_t>(e)];
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
  sort_slots(in.rows, m);
  const bool blocks = std::any_of(w.gate_up.begin(), w.gate_up.end(),
                                  [](const Weight& gate_up) { return gate_up.has_blocks(); });
  const LinearInput q = blocks ? quantised(in) : LinearInput{};
  const WaveRows all{.view = scratch_.routed};
  for (std::int32_t e = 0; e < m.experts;) {
    const ExpertWave wave = wave_from(e, m);
    send_rows(in, q, w, m, wave);
    expert_linears(wave, all, w.gate_up, {.view = scratch_.gate_up, .first = wave.slot});
    activate_wave(w, m, wave);
    expert_linears(wave, {.view = scratch_.ffn, .first = wave.slot}, w.down, all);
    e = wave.end_expert;
  }
  overwrites(out);
  pool_.parallel_for(in.rows, [&](std::int64_t t, int) {
    float* y = out.row<float>(t);
    std::fill_n(y, out.cols, 0.0f);
    for (std::int64_t i = t * m.used; i < (t + 1) * m.used; ++i) {
      table_.add_scaled(scratch_.slot_weight[i],
                        scratch_.routed.row<const float>(scratch_.slot_row[i]), out.cols, y);
    }
  });
}

}  // namespace ingot
