// CpuBackend: the op moe (mixture of experts). The panels of all experts of a wave are one list of
// items, so that threads seldom wait for each other.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "base/index.h"

namespace ingot {

namespace {

/// Writes the indices of the largest scores to `chosen`, largest first, ties to the lower index.
/// Skips an index i if not allowed(i).
template <class Allowed>
void choose(std::span<const float> scores, std::span<std::int32_t> chosen, Allowed allowed) {
  std::int64_t filled = 0;
  const std::int64_t wanted = std::ssize(chosen);
  for (std::int32_t i = 0; i < std::ssize(scores); ++i) {
    if (!allowed(i)) continue;
    const float score = at(scores, i);
    // A row of NaN gets the first experts, with weights that are NaN; other rows are unaffected.
    if (filled == wanted && !(score > at(scores, chosen.back()))) continue;
    std::int64_t slot = filled < wanted ? filled++ : wanted - 1;
    for (; slot > 0 && score > at(scores, at(chosen, slot - 1)); --slot) {
      at(chosen, slot) = at(chosen, slot - 1);
    }
    at(chosen, slot) = i;
  }
}

/// Adds the time since its last call, or since its construction, to a stage.
class StageClock {
 public:
  explicit StageClock(MoeSeconds* seconds) : seconds_(seconds) {
    if (seconds != nullptr) last_ = Clock::now();
  }
  void end(MoeStage stage) {
    if (seconds_ == nullptr) return;
    const auto now = Clock::now();
    at(*seconds_, stage) += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  using Clock = std::chrono::steady_clock;
  MoeSeconds* seconds_;
  Clock::time_point last_;
};

float group_score(std::span<const float> scores, Moe::GroupScore kind) {
  constexpr auto kAll = [](std::int32_t) { return true; };
  std::int32_t best[2] = {};
  if (kind == Moe::GroupScore::kBest) {
    choose(scores, std::span(best, 1), kAll);
    return at(scores, best[0]);
  }
  choose(scores, best, kAll);
  return at(scores, best[0]) + at(scores, best[1]);
}

}  // namespace

void CpuBackend::route(View logits, const MoeWeights& w, const Moe& m) {
  const std::int32_t in_group = m.experts / m.groups;
  INGOT_CHECK(in_group * m.groups == m.experts && m.used <= m.groups_used * in_group &&
                  (m.groups == 1 || m.group_score == Moe::GroupScore::kBest || in_group > 1),
              m.used, " experts of ", m.experts, " in ", m.groups_used, " of ", m.groups,
              " groups");
  pool_.parallel_for(logits.rows, [&](std::int64_t t, int) { route_row(t, w, m); });
}

void CpuBackend::route_row(std::int64_t t, const MoeWeights& w, const Moe& m) {
  const bool sigmoid = m.score == Moe::Score::kSigmoid;
  float* p = scratch_.router.row<float>(t);
  (sigmoid ? table_.sigmoid : table_.softmax)(p, m.experts);
  // A sigmoid of NaN concerns one expert, which no comparison chooses.
  const bool has_nan = std::any_of(p, p + m.experts, [](float v) { return std::isnan(v); });
  std::span<const float> choice(p, to_size(m.experts));
  if (w.selection_bias) {
    float* c = scratch_.choice.row<float>(t);
    std::copy_n(p, m.experts, c);
    table_.add_scaled(1, w.selection_bias.row<const float>(0), m.experts, c);
    choice = {c, to_size(m.experts)};
  }
  const std::span<std::int32_t> groups(scratch_.chosen_groups + t * m.groups_used,
                                       to_size(m.groups_used));
  const std::int32_t in_group = m.experts / m.groups;
  if (m.groups > 1) {
    const std::span<float> scores(scratch_.groups.row<float>(t), to_size(m.groups));
    for (std::int32_t g = 0; g < m.groups; ++g) {
      at(scores, g) =
          group_score(choice.subspan(to_size(g * in_group), to_size(in_group)), m.group_score);
    }
    choose(scores, groups, [](std::int32_t) { return true; });
  }
  const std::span<std::int32_t> chosen(scratch_.pair_expert + t * m.used, to_size(m.used));
  choose(choice, chosen, [&](std::int32_t e) {
    return m.groups == 1 || std::find(groups.begin(), groups.end(), e / in_group) != groups.end();
  });
  float* weight = scratch_.pair_weight + t * m.used;
  float sum = 0;
  for (std::int32_t k = 0; k < m.used; ++k) {
    weight[k] = p[at(chosen, k)];
    sum += weight[k];
  }
  if (sigmoid) sum += 1e-20f;
  for (std::int32_t k = 0; k < m.used; ++k) {
    weight[k] = (m.renormalise ? weight[k] / sum : weight[k]) * m.scale;
  }
  if (has_nan) std::fill_n(weight, m.used, std::nanf(""));
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
  const LinearInput wave_q = layouts_of(scratch_.wave_q, in.cols / kGroup);
  pool_.parallel_for(wave.rows(), [&](std::int64_t i, int) {
    const std::int64_t row = wave.row + i;
    const std::int32_t pair = experts_.pair(row);
    const std::int64_t t = pair / m.used;
    const std::int32_t expert = scratch_.pair_expert[pair];
    const Weight& gate_up = at(w.gate_up, expert);
    if (observer_ != nullptr || gate_up.has_dense() || !adapters_.empty()) {
      std::copy_n(in.row<const float>(t), in.cols, scratch_.routed.row<float>(row));
    }
    if (!reads_input(gate_up)) return;
    wave_q.copy(experts_.quantised_row(expert, row), q, t);
  });
}

void CpuBackend::activate_wave(const MoeWeights& w, const Moe& m, const ExpertWave& wave) {
  const LinearInput wave_q = layouts_of(scratch_.wave_q, m.ffn / kGroup);
  pool_.parallel_for(wave.rows(), [&](std::int64_t i, int) {
    float* ffn = scratch_.ffn.row<float>(i);
    const float* gate = scratch_.gate_up.row<const float>(i);
    table_.activate(gate, gate + m.ffn, m.act, m.ffn, ffn);
    const std::int64_t row = wave.row + i;
    const std::int32_t expert = scratch_.pair_expert[experts_.pair(row)];
    if (!reads_input(at(w.down, expert))) return;
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
         .rows = reads_input(weight)
                     ? layouts_of(scratch_.wave_q, weight.cols / kGroup).from(rows.q_first)
                     : LinearInput{}});
    items += expert_work_.back().panels.items();
  }
  pool_.parallel_for(items, [&](std::int64_t item, int thread) {
    const auto after = std::upper_bound(
        expert_work_.begin(), expert_work_.end(), item,
        [](std::int64_t i, const ExpertWork& work) { return i < work.first_item; });
    const ExpertWork& work = *(after - 1);
    work.panels.run(item - work.first_item, work.rows, linear_scratch(thread));
  });
  if (!adapters_.empty()) add_expert_adapters(wave, in, w, out);
}

void CpuBackend::moe(View in, const MoeWeights& w, const Moe& m, View out) {
  INGOT_CHECK(in.rows <= limits_.rows && m.experts <= limits_.moe.experts &&
                  m.used <= limits_.moe.used && m.ffn == limits_.moe.ffn &&
                  m.groups <= limits_.moe.groups && m.groups_used <= limits_.moe.groups_used &&
                  in.cols == limits_.hidden,
              in.rows, " rows, ", m.used, " of ", m.experts, " experts: not planned");
  StageClock clock(moe_seconds_);
  const View logits = scratch_.router.slice(0, in.rows);
  linear(in, *w.router, logits);
  route(logits, w, m);
  const auto pairs = to_size(in.rows * m.used);
  experts_.sort({scratch_.pair_expert, pairs}, m.experts);
  for (std::size_t i = 0; !adapters_.empty() && i < pairs; ++i) {
    const std::int32_t row = experts_.pair(static_cast<std::int64_t>(i)) / m.used;
    scratch_.routed_lists[i] = at(adapters_.of_rows(), row);
  }
  clock.end(MoeStage::kRoute);
  const bool reads = std::any_of(w.gate_up.begin(), w.gate_up.end(),
                                 [this](const Weight& gate_up) { return reads_input(gate_up); });
  const LinearInput q = reads ? quantised(in) : LinearInput{};
  const WaveRows all{.view = scratch_.routed};
  for (std::int32_t e = 0; e < m.experts;) {
    const ExpertWave wave = experts_.wave_from(e);
    send_rows(in, q, w, m, wave);
    expert_linears(wave, all, w.gate_up, {.view = scratch_.gate_up, .first = wave.row});
    clock.end(MoeStage::kGateUp);
    activate_wave(w, m, wave);
    clock.end(MoeStage::kActivate);
    expert_linears(wave, {.view = scratch_.ffn, .first = wave.row}, w.down, all);
    clock.end(MoeStage::kDown);
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
  clock.end(MoeStage::kSum);
}

}  // namespace ingot
