// MoeProblem: random weights and inputs for tests of the mixture-of-experts op.
#pragma once

#include "backend/op_test_util.h"

namespace ingot::testing {

/// Formats of the three matrices of an expert.
struct ExpertFormats {
  Format gate;
  Format up;
  Format down;
};

/// Weights of a mixture of experts, in the formats of model files, and input rows.
struct MoeProblem {
  MoeProblem(const Moe& moe, const ExpertFormats& formats, std::int64_t hidden,
             std::int64_t input_rows, Random& random)
      : m(moe), x(input_rows, hidden) {
    // Small router logits give every expert a probability well above zero.
    router = random_rows(Format{0}, m.experts, hidden, random);
    const float scale = 1 / std::sqrt(static_cast<float>(hidden));
    for (std::int64_t e = 0; e < m.experts; ++e) {
      for (std::int64_t k = 0; k < hidden; ++k) router.view.row<float>(e)[k] *= scale;
    }
    for (std::int32_t e = 0; e < m.experts; ++e) {
      gate.push_back(random_rows(formats.gate, m.ffn, hidden, random));
      up.push_back(random_rows(formats.up, m.ffn, hidden, random));
      down.push_back(random_rows(formats.down, hidden, m.ffn, random));
    }
    x.fill(random, 0.5f);
  }

  /// Gives the router and all experts random biases.
  void add_biases(Random& random) {
    const auto fill = [&](std::vector<float>& to, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) to.push_back(0.3f * random.normal());
    };
    fill(router_bias, m.experts);
    fill(gate_up_biases, std::int64_t{2} * m.ffn * m.experts);
    fill(down_biases, x.cols() * m.experts);
  }
  /// Gives the choice of experts a random bias.
  void add_selection_bias(Random& random) {
    for (std::int32_t e = 0; e < m.experts; ++e) selection_bias.push_back(0.2f * random.normal());
  }

  std::span<const float> gate_up_bias(std::int32_t e) const {
    return part(gate_up_biases, e, 2 * m.ffn);
  }
  std::span<const float> down_bias(std::int32_t e) const { return part(down_biases, e, x.cols()); }

  std::vector<View> gate_up(std::int32_t e) const {
    return {gate[std::size_t(e)].view, up[std::size_t(e)].view};
  }

  StepLimits limits() const {
    return {.rows = std::int32_t(x.rows()),
            .cols = std::max<std::int64_t>(x.cols(), m.ffn),
            .hidden = x.cols(),
            .moe = m};
  }

  Moe m;
  Rows router;
  std::vector<Rows> gate, up, down;
  Matrix x;
  std::vector<float> router_bias, gate_up_biases, down_biases;  ///< empty: no biases
  std::vector<float> selection_bias;                            ///< [E], or empty

 private:
  static std::span<const float> part(const std::vector<float>& all, std::int64_t i,
                                     std::int64_t n) {
    return all.empty() ? std::span<const float>{}
                       : std::span(all).subspan(std::size_t(i * n), std::size_t(n));
  }
};

/// Number of problems of `router_problem`.
inline constexpr int kRouters = 32;

/// Makes a problem with one of kRouters routers: scores of both kinds, groups, scales and biases.
inline MoeProblem router_problem(int choice, const ExpertFormats& formats) {
  Random random(std::uint64_t(141 + choice));
  const bool groups = choice % 2 == 1;
  const Moe m{.experts = 24,
              .used = choice % 3 == 0 ? 8 : 5,
              .ffn = 32,
              .renormalise = choice % 4 < 2,
              .act = choice % 5 == 0 ? Act::kGptOss : Act::kSilu,
              .score = choice % 8 < 4 ? Moe::Score::kSigmoid : Moe::Score::kSoftmax,
              .scale = choice % 7 == 0 ? 1.0f : 2.5f,
              .groups = groups ? 6 : 1,
              .groups_used = groups ? 3 : 1,
              .group_score = choice % 16 < 8 ? Moe::GroupScore::kSumOfTwo : Moe::GroupScore::kBest};
  MoeProblem p(m, formats, 64, 9, random);
  if (choice % 3 != 1) p.add_biases(random);
  if (choice % 4 != 2) p.add_selection_bias(random);
  return p;
}

/// The weights of a MoeProblem, packed by a backend. Their numbers: the router's is 0, those of
/// expert e are 1 + 2 e and 2 + 2 e.
struct PreparedMoe {
  PreparedMoe(Backend& backend, const MoeProblem& p)
      : router(backend.prepare({&p.router.view, 1}, p.router_bias, Use::kExact)) {
    for (std::int32_t e = 0; e < p.m.experts; ++e) {
      gate_up.push_back(backend.prepare(p.gate_up(e), p.gate_up_bias(e), Use::kGated));
      down.push_back(
          backend.prepare({&p.down[std::size_t(e)].view, 1}, p.down_bias(e), Use::kPlain));
    }
    if (!p.selection_bias.empty()) selection_bias = backend.upload(p.selection_bias);
    router.number = 0;
    for (std::int32_t e = 0; e < p.m.experts; ++e) {
      gate_up[std::size_t(e)].number = 1 + 2 * e;
      down[std::size_t(e)].number = 2 + 2 * e;
    }
  }
  MoeWeights weights() const {
    return {
        .router = &router, .gate_up = gate_up, .down = down, .selection_bias = selection_bias.view};
  }

  Weight router;
  std::vector<Weight> gate_up, down;
  Tensor selection_bias;
};

inline Matrix run_moe(Backend& backend, const MoeProblem& p) {
  backend.plan(p.limits());
  const PreparedMoe weights(backend, p);
  const OnDevice in(backend, p.x);
  const OnDevice out(backend, p.x.rows(), p.x.cols());
  run_rows(backend, p.x.rows(),
           [&] { backend.moe(in.view(), weights.weights(), p.m, out.view()); });
  return out.matrix();
}

}  // namespace ingot::testing
