// norm, rope, activate, gather and fetch: every kernel table against the reference. Fused ops:
// equal to the ops that they fuse.
#include "backend/kv_rows.h"
#include "backend/op_test_attention.h"
#include "backend/op_test_util.h"
#include "backend/reference/reference_backend.h"

namespace ingot::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Weights of a norm with the host memory behind them.
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
          const auto normed = [&](Backend& backend) {
            backend.plan({.rows = 5, .cols = n, .hidden = n});
            const NormOnDevice norm(backend, w.norm);
            const OnDevice in(backend, x);
            const OnDevice out(backend, 5, n);
            run_rows(backend, 5,
                     [&] { backend.norm(in.view(), {}, norm.norm, out.view(), Next::kAnyone); });
            EXPECT_TRUE(same_bits(in.matrix(), x)) << "the input changed";
            return out.matrix();
          };
          const Matrix want = normed(reference);
          std::vector<std::vector<double>> errors;
          for (std::int64_t t = 0; t < 5; ++t) errors.push_back(norm_error(x.row(t), n, w.norm));
          for (const Device& d : all) {
            SCOPED_TRACE(d.isa);
            ASSERT_TRUE(within(normed(*d), want, [&](std::int64_t t, std::int64_t i) {
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
        const NormOnDevice norm(*d, w.norm);
        const OnDevice terms(*d, add), kept(*d, sum), want(*d, 3, n), fused(*d, x), out(*d, 3, n),
            in_place(*d, x), only_added(*d, x);
        run_rows(*d, 3, [&] {
          d->norm(kept.view(), {}, norm.norm, want.view(), Next::kAnyone);
          d->norm(fused.view(), terms.view(), norm.norm, out.view(), Next::kAnyone);
          d->norm(in_place.view(), terms.view(), norm.norm, in_place.view(), Next::kAnyone);
          d->norm(only_added.view(), terms.view(), {}, {}, Next::kAnyone);
        });
        EXPECT_TRUE(same_bits(fused.matrix(), sum));
        EXPECT_TRUE(same_bits(out.matrix(), want.matrix()));
        EXPECT_TRUE(same_bits(in_place.matrix(), want.matrix()));
        EXPECT_TRUE(same_bits(only_added.matrix(), sum));
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
    const NormOnDevice norm(*d, w.norm);
    const OnDevice in(*d, x), out(*d, 3, 40);
    run_rows(*d, 3, [&] { d->norm(in.view(), {}, norm.norm, out.view(), Next::kAnyone); });
    const Matrix got = out.matrix();
    for (std::int64_t i = 0; i < 40; ++i) {
      EXPECT_EQ(got.at(0, i), 0);
      EXPECT_TRUE(std::isnan(got.at(1, i)));
      EXPECT_TRUE(std::isfinite(got.at(2, i)));
    }
  }
}

/// Cosines and sines of ordinary rotary angles, in host memory.
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

/// The rows `x` after `rope`, which reads copies of the table and the norms on the device.
Matrix roped(Backend& backend, const Matrix& x, const Batch& batch, const Norm& q_norm,
             const Norm& k_norm, const Attention& host) {
  backend.plan({.rows = batch.rows(), .cols = host.qkv_cols(), .hidden = host.q_cols()});
  const RopeOnDevice rope(backend, host.rope != nullptr ? *host.rope : RopeTable{});
  const NormOnDevice q(backend, q_norm), k(backend, k_norm);
  Attention a = host;
  if (a.rope != nullptr) a.rope = &rope.table;
  const OnDevice rows(backend, x);
  run_step(backend, batch,
           [&] { backend.rope(rows.view(), batch, {.q = q.norm, .k = k.norm}, a); });
  return rows.matrix();
}

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
  const Matrix want = roped(reference, x, batch.get(), q, k, a);

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
    const Matrix got = roped(*d, x, batch.get(), q, k, a);
    ASSERT_TRUE(within(got, want, bound));
    for (std::int64_t t = 0; t < 5; ++t) {
      for (std::int64_t col = a.q_cols() + a.k_cols(); col < a.qkv_cols(); ++col) {
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
      EXPECT_TRUE(same_bits(roped(backend, x, batch.get(), {}, {}, a), want)) << backend.name();
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
///
/// kGptOss limits x to 7. A negative x times 1.702 has an error that the exponential multiplies by
/// its argument: below exp's range the product vanishes, so 90 kEps times |x| covers it.
double act_error(Act act, float x, double u) {
  if (!std::isfinite(x)) return 0;
  if (act == Act::kGptOss) {
    return (110 * kEps * std::min(std::abs(double{x}), 100.0) + 0x1p-100) * 8;
  }
  return (16 * kEps * std::abs(double{x}) + 0x1p-118) * std::abs(u);
}

Matrix activated(Backend& backend, const Matrix& x, Act act, bool gated) {
  const std::int64_t n = gated ? x.cols() / 2 : x.cols();
  backend.plan({.rows = std::int32_t(x.rows()), .cols = x.cols(), .hidden = n});
  const OnDevice in(backend, x), out(backend, x.rows(), n);
  run_rows(backend, x.rows(),
           [&] { backend.activate(in.view(), act, gated, out.view(), Next::kAnyone); });
  return out.matrix();
}

TEST(Activate, AgainstTheReference) {
  ReferenceBackend reference;
  for (const Act act : kActs) {
    for (const bool gated : {false, true}) {
      if (act == Act::kGptOss && !gated) continue;
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
        const Matrix want = activated(reference, x, act, gated);
        for (const Device& d : devices()) {
          SCOPED_TRACE(d.isa);
          ASSERT_TRUE(
              within(activated(*d, x, act, gated), want, [&](std::int64_t t, std::int64_t i) {
                return act_error(act, x.at(t, i), gated ? x.at(t, n + i) : 1) +
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
      const Matrix got = activated(*d, x, act, false);
      EXPECT_EQ(got.at(0, 0), 50);
      EXPECT_TRUE(std::isnan(got.at(0, 3)));
      EXPECT_EQ(got.at(0, 16), kInfinity);
    }
  }
}

TEST(Gather, OutputRowsInAnyOrderAndTwice) {
  Random random(53);
  Matrix x(9, 37);
  x.fill(random);
  const std::vector<std::int32_t> rows{8, 0, 0, 3, 8};
  Matrix want(5, 37);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(x.row(rows[i]), 37, want.row(std::int64_t(i)));
  }
  TestBatch batch = plain_batch(9, random);
  Batch some = batch.get();
  some.out_rows = rows;
  const Batch none = batch.get();
  const auto check_gather = [&](Backend& backend) {
    backend.plan({.rows = 9, .out_rows = 5, .cols = 37, .hidden = 37});
    const OnDevice in(backend, x), got(backend, 5, 37);
    run_step(backend, some, [&] { backend.gather(in.view(), some, got.view()); });
    run_step(backend, none, [&] { backend.gather(in.view(), none, got.view().slice(0, 0)); });
    EXPECT_TRUE(same_bits(got.matrix(), want)) << backend.name();
    EXPECT_TRUE(same_bits(in.matrix(), x)) << backend.name();
  };
  ReferenceBackend reference;
  check_gather(reference);
  for (const Device& d : devices()) {
    SCOPED_TRACE(d.isa);
    check_gather(*d);
  }
}

TEST(Fetch, RowsAsTheOpsBeforeLeaveThem) {
  Random random(59);
  std::vector<float> x(4 * 37), add(4 * 37), sum;
  for (float& v : x) v = random.normal();
  for (float& v : add) v = random.normal();
  for (std::size_t i = 0; i < x.size(); ++i) sum.push_back(x[i] + add[i]);
  const auto check_fetch = [&](Backend& backend) {
    backend.plan({.rows = 4, .cols = 37, .hidden = 37});
    const Tensor values = backend.upload(x), terms = backend.upload(add);
    const View rows = f32_view(values.view.row<float>(0), 4, 37);
    const View added = f32_view(terms.view.row<float>(0), 4, 37);
    std::vector<float> before(4 * 37), middle(2 * 37), last(37);
    run_rows(backend, 4, [&] {
      backend.fetch(rows, before);
      backend.norm(rows, added, {}, {}, Next::kAnyone);
      backend.fetch(rows.slice(1, 2), middle);
      backend.fetch(rows.slice(3, 1), last);
    });
    EXPECT_EQ(before, x) << backend.name();
    EXPECT_TRUE(std::equal(middle.begin(), middle.end(), sum.begin() + 37)) << backend.name();
    EXPECT_TRUE(std::equal(last.begin(), last.end(), sum.begin() + 3 * 37)) << backend.name();
  };
  ReferenceBackend reference;
  check_fetch(reference);
  for (const Device& d : devices()) {
    SCOPED_TRACE(d.isa);
    check_fetch(*d);
  }
}

/// The rows and the pages after a rotation, a norm and a write of keys and values.
struct Written {
  Matrix rows;
  std::vector<std::byte> tokens;  ///< keys and values of the rows that have a slot, as KvRows
};

/// Runs `rope_write`, or if not `fused`, `rope` and `kv_write`.
Written written(Backend& backend, const AttentionProblem& p, const Batch& batch, const Norm& q_norm,
                const Norm& k_norm, bool fused) {
  backend.plan({.rows = batch.rows(), .cols = p.a.qkv_cols(), .hidden = p.a.q_cols()});
  const RopeOnDevice rope(backend, *p.a.rope);
  const NormOnDevice q(backend, q_norm), k(backend, k_norm);
  Attention a = p.a;
  a.rope = &rope.table;
  const Pages pages = poisoned_pages(backend, a, p.type, p.batch.pool_blocks());
  const OnDevice rows(backend, p.rows);
  run_step(backend, batch, [&] {
    if (fused) {
      backend.rope_write(rows.view(), batch, {.q = q.norm, .k = k.norm}, a, pages.layer);
    } else {
      backend.rope(rows.view(), batch, {.q = q.norm, .k = k.norm}, a);
      backend.kv_write(rows.view(), batch, a, pages.layer);
    }
  });
  Written out{.rows = rows.matrix(), .tokens = {}};
  const KvRows layout(a, p.type);
  std::vector<std::byte> block(std::size_t(layout.block_bytes));
  for (const std::int32_t slot : batch.groups[0].slots) {
    if (slot < 0) continue;
    backend.kv_read(a, {&pages.layer, 1}, slot / kBlockTokens, block);
    const auto token = block.begin() + slot % kBlockTokens * layout.token_bytes;
    out.tokens.insert(out.tokens.end(), token, token + layout.token_bytes);
  }
  return out;
}

TEST(RopeWrite, IsRopeThenKvWrite) {
  const std::vector<Device> all = devices();
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kInt8}) {
    for (const bool adjacent : {false, true}) {
      for (const bool norms : {false, true}) {
        SCOPED_TRACE(
            cat("KV ", kv_name(type), " adjacent ", adjacent ? 1 : 0, " norms ", norms ? 1 : 0));
        Random random(61);
        TestRope rope(40, adjacent, 64);
        const Attention a{.heads = 6, .kv_heads = 2, .head_dim = 48, .rope = &rope.table};
        AttentionProblem p(a, type, {{3, 20}, {1, 1}, {17, 33}}, random);
        p.batch.slots()[1] = -1;  // padding
        TestNorm q_norm(NormKind::kRms, 1e-6f, 48, false, random);
        TestNorm k_norm(NormKind::kRms, 1e-6f, 48, false, random);
        const Norm q = norms ? q_norm.norm : Norm{};
        const Norm k = norms ? k_norm.norm : Norm{};
        for (const Device& d : all) {
          SCOPED_TRACE(d.isa);
          const Written want = written(*d, p, p.batch.get(), q, k, false);
          const Written got = written(*d, p, p.batch.get(), q, k, true);
          EXPECT_EQ(want.tokens.size(), 20 * std::size_t(KvRows(a, type).token_bytes));
          EXPECT_TRUE(same_bits(got.rows, want.rows));
          EXPECT_EQ(got.tokens, want.tokens);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ingot::testing
