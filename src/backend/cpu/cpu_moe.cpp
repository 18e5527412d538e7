// CpuBackend: mixture of experts. Rows are routed, bucketed by expert, run through each expert
// once, and combined.
#include <algorithm>

#include "backend/cpu/cpu_backend.h"

namespace ingot {

namespace {

/// The `used` largest of p, falling, ties to the lower index, into `chosen`.
void choose(const float* p, std::int32_t experts, std::int32_t used, std::int32_t* chosen) {
  for (std::int32_t slot = 0; slot < used; ++slot) {
    const std::int32_t* end = chosen + slot;
    std::int32_t best = -1;
    for (std::int32_t e = 0; e < experts; ++e) {
      if (std::find(static_cast<const std::int32_t*>(chosen), end, e) != end) continue;
      // A row of NaN compares with nothing and takes the first experts: it stays NaN and harms
      // nobody.
      if (best < 0 || p[e] > p[best]) best = e;
    }
    chosen[slot] = best;
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

void CpuBackend::run_experts(View in, const MoeWeights& w, const Moe& m) {
  const std::int64_t slots = in.rows * m.used;
  std::int32_t* start = scratch_.expert_start;
  std::fill_n(start, m.experts + 1, 0);
  for (std::int64_t i = 0; i < slots; ++i) ++start[scratch_.slot_expert[i] + 1];
  for (std::int32_t e = 0; e < m.experts; ++e) start[e + 1] += start[e];
  // A stable counting sort: within an expert, rows keep their order. `start` ends up shifted by one
  // expert.
  for (std::int64_t i = 0; i < slots; ++i) {
    scratch_.slot_row[i] = start[scratch_.slot_expert[i]]++;
  }
  pool_.parallel_for(in.rows, [&](std::int64_t t, int) {
    for (std::int32_t k = 0; k < m.used; ++k) {
      const std::int32_t row = scratch_.slot_row[t * m.used + k];
      std::copy_n(in.row<const float>(t), in.cols, scratch_.routed.row<float>(row));
    }
  });
  for (std::int32_t e = 0; e < m.experts; ++e) {
    const std::int64_t first = e == 0 ? 0 : start[e - 1];
    const std::int64_t count = start[e] - first;
    if (count == 0) continue;
    const View rows = scratch_.routed.slice(first, count);
    const View gate_up = scratch_.gate_up.slice(first, count);
    const View ffn = scratch_.ffn.slice(first, count);
    linear(rows, w.gate_up[static_cast<std::size_t>(e)], gate_up);
    activate(gate_up, m.act, true, ffn);
    linear(ffn, w.down[static_cast<std::size_t>(e)], rows);
  }
}

void CpuBackend::moe(View in, const MoeWeights& w, const Moe& m, View out) {
  INGOT_CHECK(in.rows <= limits_.rows && m.experts <= limits_.moe.experts &&
                  m.used <= limits_.moe.used && m.ffn == limits_.moe.ffn,
              in.rows, " rows, ", m.used, " of ", m.experts, " experts: not planned");
  const View logits = scratch_.router.slice(0, in.rows);
  linear(in, *w.router, logits);
  route(logits, m);
  run_experts(in, w, m);
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
