// moe: every kernel table against the reference.
#include "backend/op_test_bounds.h"
#include "backend/op_test_moe.h"
#include "backend/reference/reference_backend.h"

namespace ingot::testing {
namespace {

/// What the bound of one row needs of the reference.
class MoeError {
 public:
  explicit MoeError(MoeProblem& p) : p_(p), weights_(reference_, p), router_({&p.router.view, 1}) {
    for (std::int32_t e = 0; e < p.m.experts; ++e) {
      gate_up_.emplace_back(p.gate_up(e));
      down_.emplace_back(std::span<const View>(&p.down[std::size_t(e)].view, 1));
    }
  }

  /// Bounds by output of row t; empty where the choice of experts is too close to call.
  ///
  /// Router logits are off by e: shares, being exp(r - max) / sum, by a relative 2 e, and by the
  /// roundings of exp (3), its argument, a sum of E / 16 + 4 terms, a quotient and a product;
  /// renormalisation doubles that. Gate and up carry their errors through act(g) * u, whose slopes
  /// are at most 1.13 |u| and |act(g)| <= |g|, and then through `down`.
  std::vector<double> row(std::int64_t t) {
    const std::vector<double> logits = product(weights_.router, p_.x.row(t));
    const LinearError::Input in = router_.input(p_.x.row(t));
    double e_max = 0;
    for (std::int32_t e = 0; e < p_.m.experts; ++e) {
      e_max = std::max(e_max, router_.worst(e, in));
    }
    std::vector<std::int32_t> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return logits[std::size_t(a)] > logits[std::size_t(b)];
    });
    const auto used = static_cast<std::size_t>(p_.m.used);
    const double best = logits[std::size_t(order[0])];
    double sum = 0;
    for (std::size_t i = 0; i < (p_.m.renormalise ? used : order.size()); ++i) {
      sum += std::exp(logits[std::size_t(order[i])] - best);
    }
    if (used < order.size()) {
      const double gap = logits[std::size_t(order[used - 1])] - logits[std::size_t(order[used])];
      // A gap of 0 is a tie of equal rows, which goes to the lower index on every backend.
      if (gap != 0 && gap < 4 * e_max + 64 * kEps) return {};
    }
    const double range = best - logits[std::size_t(order.back())];
    const double share_error =
        2 * (2 * e_max + kEps * range + gamma(p_.m.experts / 16 + p_.m.used + 16));
    std::vector<double> errors(std::size_t(p_.x.cols()));
    for (std::size_t i = 0; i < used; ++i) {
      const double share = std::exp(logits[std::size_t(order[i])] - best) / sum;
      add_expert(t, order[i], share, share_error, errors);
    }
    return errors;
  }

 private:
  std::vector<double> product(const Weight& w, const float* x) {
    Matrix row(1, w.cols);
    std::copy_n(x, w.cols, row.row(0));
    const OnDevice in(reference_, row), out(reference_, 1, w.rows);
    run_rows(reference_, 1, [&] { reference_.linear(in.view(), w, out.view()); });
    const Matrix y = out.matrix();
    return {y.row(0), y.row(0) + w.rows};
  }

  void add_expert(std::int64_t t, std::int32_t e, double share, double share_error,
                  std::vector<double>& errors) {
    const auto expert = static_cast<std::size_t>(e);
    const auto ffn = static_cast<std::size_t>(p_.m.ffn);
    const std::vector<double> gu = product(weights_.gate_up[expert], p_.x.row(t));
    const LinearError::Input in = gate_up_[expert].input(p_.x.row(t));
    Matrix both(1, 2 * p_.m.ffn);
    for (std::size_t i = 0; i < 2 * ffn; ++i) both.at(0, std::int64_t(i)) = float(gu[i]);
    const OnDevice gate_up(reference_, both), inner_rows(reference_, 1, p_.m.ffn);
    run_rows(reference_, 1, [&] {
      reference_.activate(gate_up.view(), p_.m.act, true, inner_rows.view(), Next::kAnyone);
    });
    const Matrix inner = inner_rows.matrix();
    std::vector<double> inner_error(ffn);
    for (std::size_t i = 0; i < ffn; ++i) {
      const double g_error = gate_up_[expert].worst(std::int64_t(i), in) + kEps * std::abs(gu[i]);
      const double u = std::abs(gu[ffn + i]);
      const double u_error = gate_up_[expert].worst(std::int64_t(ffn + i), in) + kEps * u;
      inner_error[i] = 1.13 * g_error * (u + u_error) + std::abs(gu[i]) * u_error +
                       20 * kEps * std::abs(gu[i]) * (u + u_error);
    }
    const std::vector<double> y = product(weights_.down[expert], inner.row(0));
    const LinearError::Input inner_in = down_[expert].input(inner.row(0), inner_error);
    for (std::size_t r = 0; r < errors.size(); ++r) {
      const double y_error = down_[expert].worst(std::int64_t(r), inner_in) + kEps * std::abs(y[r]);
      errors[r] += share * (1 + share_error) * y_error +
                   share * (share_error + gamma(p_.m.used + 2)) * std::abs(y[r]);
    }
  }

  MoeProblem& p_;
  ReferenceBackend reference_;
  PreparedMoe weights_;
  LinearError router_;
  std::vector<LinearError> gate_up_, down_;
};

/// Returns how many rows were judged.
std::int64_t check(MoeProblem& p, const std::vector<Device>& all) {
  ReferenceBackend reference;
  const Matrix want = run_moe(reference, p);
  MoeError model(p);
  std::vector<std::vector<double>> errors;
  for (std::int64_t t = 0; t < p.x.rows(); ++t) errors.push_back(model.row(t));
  const Matrix scalar = run_moe(*all[0], p);
  EXPECT_TRUE(within(scalar, want, [&](std::int64_t t, std::int64_t i) {
    const std::vector<double>& row = errors[std::size_t(t)];
    return row.empty() ? std::numeric_limits<double>::infinity()
                       : row[std::size_t(i)] + 2 * kEps * std::abs(want.at(t, i));
  }));
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_TRUE(same_bits(run_moe(*all[i], p), scalar)) << all[i].isa;
  }
  return std::count_if(errors.begin(), errors.end(), [](const auto& row) { return !row.empty(); });
}

TEST(Moe, AgainstTheReference) {
  const std::vector<Device> all = devices();
  const std::pair<std::int32_t, std::int32_t> sizes[] = {{1, 1}, {4, 4}, {8, 2}, {17, 3}, {40, 8}};
  const Format f32 = F32::kFormat;
  const Format q8_0 = Q8_0::kFormat;
  struct Shape {
    ExpertFormats formats;
    std::int64_t hidden;
    std::int32_t ffn;
  };
  const Shape shapes[] = {
      {{f32, f32, f32}, 33, 20},
      {{BF16::kFormat, F16::kFormat, BF16::kFormat}, 48, 17},
      {{MXFP4::kFormat, MXFP4::kFormat, q8_0}, 64, 96},
      {{Q4_K::kFormat, Q6_K::kFormat, IQ4_XS::kFormat}, 256, 256},
  };
  int choice = 0;
  for (const Shape& shape : shapes) {
    for (const auto& [experts, used] : sizes) {
      for (const std::int32_t rows : {1, 5, 19}) {
        const Moe m{.experts = experts,
                    .used = used,
                    .ffn = shape.ffn,
                    .renormalise = choice % 2 == 0,
                    .act = static_cast<Act>(choice % 3)};
        ++choice;
        SCOPED_TRACE(cat("H ", shape.hidden, " E ", experts, " used ", used, " T ", rows,
                         " renormalise ", m.renormalise ? 1 : 0, " act ", static_cast<int>(m.act)));
        Random random(std::uint64_t(101 + choice));
        MoeProblem p(m, shape.formats, shape.hidden, rows, random);
        EXPECT_GE(check(p, all), (rows + 1) / 2) << "too few rows with a clear choice";
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Moe, EveryRouterAgainstTheReference) {
  const Device scalar = device(*kernel_tables()[0], 1);
  for (int choice = 0; choice < kRouters; ++choice) {
    SCOPED_TRACE(cat("choice ", choice));
    const MoeProblem p = router_problem(choice, {F32::kFormat, F32::kFormat, F32::kFormat});
    ReferenceBackend reference;
    // Experts' outputs are below 100, and sums have at most 64 terms. No choice is close.
    EXPECT_TRUE(within(run_moe(*scalar, p), run_moe(reference, p),
                       [](std::int64_t, std::int64_t) { return 20 * gamma(64) * 100; }));
  }
}

TEST(Moe, TiesGoToTheLowerExpert) {
  // Experts 1, 3 and 4 share a router row that wins; two of them are used, so 1 and 3.
  const Moe m{.experts = 6, .used = 2, .ffn = 8};
  Random random(103);
  MoeProblem p(m, {F32::kFormat, F32::kFormat, F32::kFormat}, 16, 4, random);
  for (std::int64_t t = 0; t < 4; ++t) {
    for (std::int64_t k = 0; k < 16; ++k) p.x.at(t, k) = std::abs(p.x.at(t, k)) + 0.1f;
  }
  for (const std::int64_t e : {1, 3, 4}) std::fill_n(p.router.view.row<float>(e), 16, 2.0f);
  const std::vector<Device> all = devices();
  EXPECT_EQ(check(p, all), 4);
  for (const Device& d : all) {
    const Matrix want = run_moe(*d, p);
    // Expert 4 is not asked: changing it changes nothing. Changing 3 does.
    for (const std::size_t e : {4u, 3u}) {
      const std::vector<std::byte> kept = p.down[e].bytes;
      std::fill(p.down[e].bytes.begin(), p.down[e].bytes.end(), std::byte{0});
      EXPECT_EQ(bool(same_bits(run_moe(*d, p), want)), e == 4) << d.isa;
      std::copy(kept.begin(), kept.end(), p.down[e].bytes.begin());
    }
  }
}

TEST(Moe, EqualExpertsAreOneFeedForward) {
  // Renormalised shares of equal experts add up to 1: the result is the expert's own.
  const Moe m{.experts = 3, .used = 3, .ffn = 12};
  Random random(107);
  MoeProblem p(m, {F32::kFormat, F32::kFormat, F32::kFormat}, 20, 3, random);
  for (std::size_t e = 1; e < 3; ++e) {
    std::copy(p.gate[0].bytes.begin(), p.gate[0].bytes.end(), p.gate[e].bytes.begin());
    std::copy(p.up[0].bytes.begin(), p.up[0].bytes.end(), p.up[e].bytes.begin());
    std::copy(p.down[0].bytes.begin(), p.down[0].bytes.end(), p.down[e].bytes.begin());
  }
  for (const Device& d : devices()) {
    const Matrix got = run_moe(*d, p);
    const PreparedMoe weights(*d, p);
    const OnDevice in(*d, p.x), both(*d, 3, 24), inner(*d, 3, 12), out(*d, 3, 20);
    run_rows(*d, 3, [&] {
      d->linear(in.view(), weights.gate_up[0], both.view());
      d->activate(both.view(), m.act, true, inner.view(), Next::kAnyone);
      d->linear(inner.view(), weights.down[0], out.view());
    });
    const Matrix want = out.matrix();
    EXPECT_TRUE(within(got, want, [&](std::int64_t t, std::int64_t i) {
      return gamma(10) * std::abs(want.at(t, i));
    })) << d.isa;
  }
}

/// A row that does not choose the expert shows NaN too: nothing else would show it.
TEST(Moe, AScoreThatIsNanIsNanInTheResult) {
  const std::vector<Device> all = devices();
  for (int choice = 0; choice < kRouters; ++choice) {
    const MoeProblem p = router_problem(choice, {F32::kFormat, F32::kFormat, F32::kFormat});
    p.router.view.row<float>(p.m.experts - 1)[0] = std::nanf("");
    for (const Device& d : all) {
      const Matrix got = run_moe(*d, p);
      for (std::int64_t t = 0; t < got.rows(); ++t) {
        for (std::int64_t i = 0; i < got.cols(); ++i) {
          ASSERT_TRUE(std::isnan(got.at(t, i))) << d.isa << " choice " << choice;
        }
      }
    }
  }
}

TEST(Moe, NanStaysInItsRow) {
  const Moe m{.experts = 4, .used = 2, .ffn = 32};
  Random random(109);
  MoeProblem p(m, {Q8_0::kFormat, Q8_0::kFormat, Q8_0::kFormat}, 64, 3, random);
  for (const Device& d : devices()) {
    const Matrix clean = run_moe(*d, p);
    const float kept = p.x.at(1, 5);
    p.x.at(1, 5) = std::nanf("");
    Matrix got = run_moe(*d, p);
    p.x.at(1, 5) = kept;
    for (std::int64_t i = 0; i < 64; ++i) {
      EXPECT_TRUE(std::isnan(got.at(1, i)));
      got.at(1, i) = clean.at(1, i);
    }
    EXPECT_TRUE(same_bits(got, clean)) << d.isa;
  }
}

}  // namespace
}  // namespace ingot::testing
