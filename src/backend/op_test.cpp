// norm, rope, activate, gather and argmax: every kernel table against the reference.
#include "backend/op_test_util.h"
#include "backend/reference/reference_backend.h"

namespace ingot::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Weights of a norm with the memory behind them.
struct TestNorm {
  TestNorm(NormKind kind, float eps, std::int64_t n, bool with_bias, Random& random)
      : weight(1, n), bias(1, n) {
    weight.fill(random, 0.3f, 1);
    bias.fill(random);
    norm = {.kind = kind, .eps = eps, .weight = weight.view(), .bias = {}};
    if (with_bias) norm.bias = bias.view();
  }
  Matrix weight, bias;
  Norm norm;
};

/// A bound on the error of one normalised row, by element.
///
/// mean: lanes of n / 16 sums and a tree of 4, relative to sum |x| / n. c = x - mean inherits that
/// error. The sum of squares has n / 16 + 4 roundings and twice c's error; the root halves it; the
/// division by n, + eps, the root and 1 / x round once each, and so do the two products and the
/// bias.
std::vector<double> norm_error(const float* x, std::int64_t n, const Norm& norm) {
  const bool layer = norm.kind == NormKind::kLayer;
  double mean = 0;
  double sizes = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    mean += double{x[i]} / double(n);
    sizes += std::abs(double{x[i]}) / double(n);
  }
  if (!layer) mean = 0;
  const double c_error = layer ? gamma(n / 16 + 8) * sizes : 0;
  double squares = 0;
  double spread = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double c = std::abs(double{x[i]} - mean);
    squares += c * c / double(n);
    spread += (2 * c * c_error + c_error * c_error) / double(n);
  }
  const double variance = squares + double{norm.eps};
  const double relative = gamma(n / 16 + 12) + (variance == 0 ? 0 : spread / variance);
  const double inv = 1 / std::sqrt(variance);
  std::vector<double> errors;
  for (std::int64_t i = 0; i < n; ++i) {
    const double c = std::abs(double{x[i]} - mean);
    const double weight = std::abs(double{norm.weight.row<float>(0)[i]});
    const double bias = norm.bias ? std::abs(double{norm.bias.row<float>(0)[i]}) : 0;
    errors.push_back(weight * inv * (c_error + (c + c_error) * (relative + 5 * kEps)) +
                     2 * kEps * bias);
  }
  return errors;
}

TEST(Norm, AgainstTheReference) {
  const std::vector<Device> all = devices();
  ReferenceBackend reference;
  for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
    for (const bool with_bias : {false, true}) {
      if (kind == NormKind::kRms && with_bias) continue;
      for (const std::int64_t n : {1, 2, 15, 16, 17, 31, 120, 128, 1040, 4096}) {
        for (const float mean : {0.0f, 5.0f}) {
          SCOPED_TRACE(cat(kind == NormKind::kRms ? "rms" : "layer", " bias ", with_bias ? 1 : 0,
                           " n ", n, " mean ", mean));
          Random random(std::uint64_t(n) + 1);
          TestNorm w(kind, 1e-5f, n, with_bias, random);
          Matrix x(5, n);
          x.fill(random, 2, mean);
          Matrix want(5, n);
          reference.norm(x.view(), {}, w.norm, want.view(), Next::kAnyone);
          std::vector<std::vector<double>> errors;
          for (std::int64_t t = 0; t < 5; ++t) errors.push_back(norm_error(x.row(t), n, w.norm));
          for (const Device& d : all) {
            SCOPED_TRACE(d.isa);
            d->plan({.rows = 5, .cols = n, .hidden = n});
            Matrix got(5, n);
            Matrix in = x;
            d->step({}, [&] { d->norm(in.view(), {}, w.norm, got.view(), Next::kAnyone); });
            EXPECT_TRUE(same_bits(in, x)) << "the input changed";
            ASSERT_TRUE(within(got, want, [&](std::int64_t t, std::int64_t i) {
              return errors[std::size_t(t)][std::size_t(i)] + kEps * std::abs(want.at(t, i));
            }));
          }
        }
      }
    }
  }
}

TEST(Norm, FusedAddAndOutputInPlace) {
  for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
    for (const std::int64_t n : {1, 15, 33, 128}) {
      SCOPED_TRACE(cat(kind == NormKind::kRms ? "rms" : "layer", " n ", n));
      Random random(41);
      TestNorm w(kind, 1e-6f, n, kind == NormKind::kLayer, random);
      Matrix x(3, n);
      Matrix add(3, n);
      x.fill(random);
      add.fill(random);
      Matrix sum(3, n);
      for (std::int64_t t = 0; t < 3; ++t) {
        for (std::int64_t i = 0; i < n; ++i) sum.at(t, i) = x.at(t, i) + add.at(t, i);
      }
      for (const Device& d : devices()) {
        SCOPED_TRACE(d.isa);
        d->plan({.rows = 3, .cols = n, .hidden = n});
        Matrix want(3, n);
        Matrix kept = sum;
        Matrix fused = x;
        Matrix out(3, n);
        Matrix in_place = x;
        Matrix only_added = x;
        d->step({}, [&] {
          d->norm(kept.view(), {}, w.norm, want.view(), Next::kAnyone);
          d->norm(fused.view(), add.view(), w.norm, out.view(), Next::kAnyone);
          d->norm(in_place.view(), add.view(), w.norm, in_place.view(), Next::kAnyone);
          d->norm(only_added.view(), add.view(), {}, {}, Next::kAnyone);
        });
        EXPECT_TRUE(same_bits(fused, sum));
        EXPECT_TRUE(same_bits(out, want));
        EXPECT_TRUE(same_bits(in_place, want));
        EXPECT_TRUE(same_bits(only_added, sum));
      }
    }
  }
}

TEST(Norm, ZeroRowsGiveZerosAndNanStaysInItsRow) {
  Random random(43);
  TestNorm w(NormKind::kRms, 1e-6f, 40, false, random);
  Matrix x(3, 40);
  x.fill(random);
  for (std::int64_t i = 0; i < 40; ++i) x.at(0, i) = 0;
  x.at(1, 39) = std::nanf("");
  for (const Device& d : devices()) {
    d->plan({.rows = 3, .cols = 40, .hidden = 40});
    Matrix got(3, 40);
    d->step({}, [&] { d->norm(x.view(), {}, w.norm, got.view(), Next::kAnyone); });
    for (std::int64_t i = 0; i < 40; ++i) {
      EXPECT_EQ(got.at(0, i), 0);
      EXPECT_TRUE(std::isnan(got.at(1, i)));
      EXPECT_TRUE(std::isfinite(got.at(2, i)));
    }
  }
}

/// Cosines and sines of ordinary rotary angles.
struct TestRope {
  TestRope(std::int32_t dims, bool adjacent_pairs, std::int64_t positions)
      : cos(positions, dims / 2), sin(positions, dims / 2) {
    for (std::int64_t p = 0; p < positions; ++p) {
      for (std::int64_t i = 0; i < dims / 2; ++i) {
        const double angle = double(p) * std::pow(10000.0, -2.0 * double(i) / dims);
        cos.at(p, i) = static_cast<float>(1.25 * std::cos(angle));
        sin.at(p, i) = static_cast<float>(1.25 * std::sin(angle));
      }
    }
    table = {.adjacent_pairs = adjacent_pairs, .dims = dims, .cos = cos.view(), .sin = sin.view()};
  }
  Matrix cos, sin;
  RopeTable table;
};

struct RopeCase {
  std::int32_t head_dim;
  std::int32_t dims;  ///< 0: no rotation
  bool adjacent_pairs;
  bool with_norms;
  NormKind kind = NormKind::kRms;
};

void check_rope(const RopeCase& c, const std::vector<Device>& all) {
  constexpr std::int32_t kHeads = 6;
  constexpr std::int32_t kKvHeads = 2;
  constexpr std::int64_t kPositions = 3000;
  Random random(std::uint64_t(c.head_dim * 1000 + c.dims));
  TestRope rope(c.dims == 0 ? 2 : c.dims, c.adjacent_pairs, kPositions);
  const Attention a{.heads = kHeads,
                    .kv_heads = kKvHeads,
                    .head_dim = c.head_dim,
                    .rope = c.dims == 0 ? nullptr : &rope.table};
  const bool layer = c.kind == NormKind::kLayer;
  TestNorm q_norm(c.kind, 1e-6f, c.head_dim, layer, random);
  TestNorm k_norm(c.kind, 1e-6f, c.head_dim, layer, random);
  const Norm q = c.with_norms ? q_norm.norm : Norm{};
  const Norm k = c.with_norms ? k_norm.norm : Norm{};
  TestBatch batch = plain_batch(5, random);
  batch.positions() = {0, 1, 77, 1500, kPositions - 1};
  Matrix x(5, a.qkv_cols());
  x.fill(random);
  ReferenceBackend reference;
  Matrix want = x;
  reference.rope(want.view(), batch.get(), q, k, a);

  // Each normalised element carries its own error into two fmas of a pair.
  const auto bound = [&](std::int64_t t, std::int64_t col) -> double {
    const std::int64_t head = col / c.head_dim;
    if (head >= kHeads + kKvHeads) return 0;
    const float* values = x.row(t) + head * c.head_dim;
    double error = 0;
    double size = 0;
    for (std::int64_t i = 0; i < c.head_dim; ++i) size += double{values[i]} * values[i];
    size = std::sqrt(size);
    if (c.with_norms) {
      const Norm& n = head < kHeads ? q : k;
      const std::vector<double> errors = norm_error(values, c.head_dim, n);
      error = *std::max_element(errors.begin(), errors.end());
      size = 3 * std::sqrt(double(c.head_dim));  // weights are below 2.1, biases below 4
    }
    return 1.25 * 2 * error + 1.25 * 4 * kEps * size;
  };
  for (const Device& d : all) {
    SCOPED_TRACE(d.isa);
    d->plan({.rows = 5, .cols = a.qkv_cols(), .hidden = a.q_cols()});
    Matrix got = x;
    d->step(batch.get(), [&] { d->rope(got.view(), batch.get(), q, k, a); });
    ASSERT_TRUE(within(got, want, bound));
    for (std::int64_t t = 0; t < 5; ++t) {
      for (std::int64_t col = a.q_cols() + a.kv_cols(); col < a.qkv_cols(); ++col) {
        ASSERT_EQ(bits(got.at(t, col)), bits(x.at(t, col))) << "v changed";
      }
      for (std::int64_t col = 0; !c.with_norms && col < a.q_cols(); ++col) {
        if (col % c.head_dim >= c.dims) {
          ASSERT_EQ(bits(got.at(t, col)), bits(x.at(t, col))) << "passes through";
        }
      }
    }
  }
}

TEST(Rope, AgainstTheReference) {
  const std::vector<Device> all = devices();
  const std::vector<std::pair<std::int32_t, std::int32_t>> sizes{
      {2, 2}, {16, 16}, {24, 24}, {24, 10}, {64, 64}, {64, 16}, {80, 20}, {128, 128}, {64, 0}};
  for (const auto& [head_dim, dims] : sizes) {
    for (const bool adjacent : {false, true}) {
      for (const bool norms : {false, true}) {
        SCOPED_TRACE(cat("D ", head_dim, " dims ", dims, " adjacent ", adjacent ? 1 : 0, " norms ",
                         norms ? 1 : 0));
        check_rope({head_dim, dims, adjacent, norms}, all);
      }
    }
  }
  check_rope({24, 24, false, true, NormKind::kLayer}, all);
}

TEST(Rope, QuarterTurnByHand) {
  // cos 0, sin 1: (a, b) becomes (-b, a).
  Matrix cos(1, 2);
  Matrix sin(1, 2);
  cos.at(0, 0) = cos.at(0, 1) = 0;
  sin.at(0, 0) = sin.at(0, 1) = 1;
  Random random(1);
  TestBatch batch = plain_batch(1, random);
  std::vector<Device> all = devices();
  for (const bool pairs : {true, false}) {
    const RopeTable table{.adjacent_pairs = pairs, .dims = 4, .cos = cos.view(), .sin = sin.view()};
    const Attention a{.heads = 1, .kv_heads = 1, .head_dim = 5, .rope = &table};
    Matrix x(1, 15);
    Matrix want(1, 15);
    const std::vector<float> turned =
        pairs ? std::vector<float>{-2, 1, -4, 3, 5} : std::vector<float>{-3, -4, 1, 2, 5};
    for (std::int64_t i = 0; i < 15; ++i) {
      x.at(0, i) = static_cast<float>(i % 5 + 1);
      want.at(0, i) = i < 10 ? turned[std::size_t(i % 5)] : x.at(0, i);
    }
    const auto turn = [&](Backend& backend) {
      Matrix got = x;
      backend.plan({.rows = 1, .cols = 15, .hidden = 5});
      backend.step(batch.get(), [&] { backend.rope(got.view(), batch.get(), {}, {}, a); });
      EXPECT_TRUE(same_bits(got, want)) << backend.name();
    };
    ReferenceBackend reference;
    turn(reference);
    for (const Device& d : all) turn(*d);
  }
}

/// exp, tanh and erf of base/ are within 3 units in the last place (6 kEps of the result), their
/// arguments are rounded up to four times, and a product or sum costs one more. Where 1 + tanh or
/// 1 + erf cancels, the error is relative to 1 and not to the result: |x| * 16 kEps covers it.
/// Below exp's range results are flushed to 0.
double act_error(float x, double u) {
  if (!std::isfinite(x)) return 0;
  return (16 * kEps * std::abs(double{x}) + 0x1p-118) * std::abs(u);
}

TEST(Activate, AgainstTheReference) {
  ReferenceBackend reference;
  for (const Act act : {Act::kSilu, Act::kGeluTanh, Act::kGeluErf}) {
    for (const bool gated : {false, true}) {
      for (const std::int64_t n : {1, 15, 16, 17, 120, 1000}) {
        SCOPED_TRACE(cat("act ", static_cast<int>(act), " gated ", gated ? 1 : 0, " n ", n));
        Random random(47);
        Matrix x(4, gated ? 2 * n : n);
        x.fill(random, 3);
        const float special[] = {0,   -0.0f, 1e-30f, -1e-42f, 20,     -20,  88.5f,
                                 -88, -100,  100,    1e20f,   -1e20f, 0.5f, -9};
        for (std::int64_t i = 0; i < n; ++i) {
          x.at(1, i) = special[i % 14];
          x.at(2, i) = 16 * random.uniform();
        }
        Matrix want(4, n);
        reference.activate(x.view(), act, gated, want.view(), Next::kAnyone);
        for (const Device& d : devices()) {
          SCOPED_TRACE(d.isa);
          d->plan({.rows = 4, .cols = 2 * n, .hidden = n});
          Matrix got(4, n);
          d->step({}, [&] { d->activate(x.view(), act, gated, got.view(), Next::kAnyone); });
          ASSERT_TRUE(within(got, want, [&](std::int64_t t, std::int64_t i) {
            return act_error(x.at(t, i), gated ? x.at(t, n + i) : 1) +
                   2 * kEps * std::abs(want.at(t, i));
          }));
        }
      }
    }
  }
}

TEST(Activate, LimitsAndNan) {
  for (const Act act : {Act::kSilu, Act::kGeluTanh, Act::kGeluErf}) {
    Matrix x(1, 17);
    for (std::int64_t i = 0; i < 17; ++i) x.at(0, i) = 50;
    x.at(0, 3) = std::nanf("");
    x.at(0, 16) = kInfinity;
    for (const Device& d : devices()) {
      d->plan({.rows = 1, .cols = 17, .hidden = 17});
      Matrix got(1, 17);
      d->step({}, [&] { d->activate(x.view(), act, false, got.view(), Next::kAnyone); });
      EXPECT_EQ(got.at(0, 0), 50);
      EXPECT_TRUE(std::isnan(got.at(0, 3)));
      EXPECT_EQ(got.at(0, 16), kInfinity);
    }
  }
}

TEST(Gather, RowsInAnyOrderAndTwice) {
  Random random(53);
  Matrix x(9, 37);
  x.fill(random);
  const std::vector<std::int32_t> rows{8, 0, 0, 3, 8};
  Matrix want(5, 37);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(x.row(rows[i]), 37, want.row(std::int64_t(i)));
  }
  for (const Device& d : devices()) {
    d->plan({.rows = 9, .out_rows = 5, .cols = 37, .hidden = 37});
    Matrix got(5, 37);
    d->step({}, [&] {
      d->gather(x.view(), rows, got.view());
      d->gather(x.view(), {}, {});
    });
    EXPECT_TRUE(same_bits(got, want)) << d.isa;
  }
}

TEST(Argmax, TiesInfinitiesAndNan) {
  for (const std::int64_t n : {1, 2, 15, 16, 17, 33, 1000}) {
    SCOPED_TRACE(cat("V ", n));
    Random random(59 + std::uint64_t(n));
    const auto last = static_cast<std::int32_t>(n - 1);
    const std::int32_t middle = last / 2;
    Matrix x(10, n);
    x.fill(random);
    std::vector<std::int32_t> want(10);
    for (std::int64_t r = 0; r < 2; ++r) {
      want[std::size_t(r)] =
          static_cast<std::int32_t>(std::max_element(x.row(r), x.row(r) + n) - x.row(r));
    }
    x.at(2, last) = x.at(2, middle) = 9;  // a tie
    want[2] = middle;
    std::fill_n(x.row(3), n, -kInfinity);
    x.at(4, last) = kInfinity;
    want[4] = last;
    std::fill_n(x.row(5), n, kInfinity);
    x.at(6, last) = std::nanf("");
    x.at(7, 0) = -std::nanf("");
    x.at(8, middle) = std::nanf("");
    want[6] = want[7] = want[8] = -1;
    std::fill_n(x.row(9), n, -0.0f);
    x.at(9, last) = 0.0f;  // equal to -0
    for (const Device& d : devices()) {
      d->plan({.rows = 10, .out_rows = 10, .cols = n, .hidden = n, .vocab = n});
      std::vector<std::int32_t> got(10, -7);
      d->step({}, [&] { d->argmax(x.view(), got); });
      EXPECT_EQ(got, want) << d.isa;
    }
    std::vector<std::int32_t> judged(10, -7);
    ReferenceBackend().argmax(x.view(), judged);
    EXPECT_EQ(judged, want);
  }
}

}  // namespace
}  // namespace ingot::testing
