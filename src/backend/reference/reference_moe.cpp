// ReferenceBackend: the op moe.
#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "backend/reference/reference_backend.h"
#include "backend/reference/reference_math.h"
#include "base/index.h"

namespace ingot {

namespace {

/// Scores that choose experts: -Inf outside of the chosen groups.
reference::Row limited_to_groups(reference::Row c, const Moe& m) {
  if (m.groups == 1) return c;
  const auto size = to_size(m.experts / m.groups);
  reference::Row scores;
  for (std::size_t first = 0; first < c.size(); first += size) {
    reference::Row group(c.begin() + std::ptrdiff_t(first),
                         c.begin() + std::ptrdiff_t(first + size));
    std::sort(group.begin(), group.end(), std::greater<>());
    scores.push_back(m.group_score == Moe::GroupScore::kBest ? group[0] : group[0] + group[1]);
  }
  const std::vector<std::int32_t> order = reference::ranking(scores);
  for (std::size_t i = to_size(m.groups_used); i < order.size(); ++i) {
    std::fill_n(c.begin() + std::ptrdiff_t(to_size(order[i]) * size), size,
                -std::numeric_limits<double>::infinity());
  }
  return c;
}

/// A row's chosen experts with their weights, best first.
std::vector<std::pair<std::int32_t, double>> chosen_experts(const reference::Row& logits,
                                                            const MoeWeights& w, const Moe& m) {
  const bool is_sigmoid = m.score == Moe::Score::kSigmoid;
  reference::Row p = is_sigmoid ? logits : reference::softmax(logits);
  for (double& v : p) v = is_sigmoid ? reference::sigmoid(v) : v;
  reference::Row c = p;
  for (std::size_t e = 0; w.selection_bias && e < c.size(); ++e) {
    c[e] += double{w.selection_bias.row<float>(0)[e]};
  }
  std::vector<std::int32_t> chosen = reference::ranking(limited_to_groups(c, m));
  chosen.resize(to_size(m.used));
  double sum = is_sigmoid ? 1e-20 : 0;
  for (const std::int32_t e : chosen) sum += at(p, e);
  std::vector<std::pair<std::int32_t, double>> weights;
  for (const std::int32_t e : chosen) {
    weights.emplace_back(e, (m.renormalise ? at(p, e) / sum : at(p, e)) * double{m.scale});
  }
  return weights;
}

}  // namespace

void ReferenceBackend::moe(View in, const MoeWeights& w, const Moe& m, View out) {
  for (std::int64_t t = 0; t < in.rows; ++t) {
    const reference::Row x = reference::read_row(in.row<float>(t), in.cols);
    reference::Row y(x.size(), 0.0);
    for (const auto& [e, weight] : chosen_experts(adapted(*w.router, x, t), w, m)) {
      const reference::Row inner =
          reference::activated(m.act, true, adapted(at(w.gate_up, e), x, t));
      const reference::Row part = adapted(at(w.down, e), inner, t);
      for (std::size_t i = 0; i < y.size(); ++i) y[i] += weight * part[i];
    }
    reference::write_row(y, out.row<float>(t));
  }
}

}  // namespace ingot
