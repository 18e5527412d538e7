// The ops on rows that some families need, on every device: equal to a second transcription of
// their trees, bit for bit, and close to the reference.
#include <deque>

#include "backend/op_test_canonical.h"
#include "backend/reference/reference_backend.h"

namespace ingot::testing {
namespace {

using canonical::Floats;
using canonical::row_of;

void set_row(Matrix& x, std::int64_t t, const Floats& values) {
  std::copy(values.begin(), values.end(), x.row(t));
}

double largest(const Matrix& x) {
  double most = 0;
  for (std::int64_t t = 0; t < x.rows(); ++t) {
    for (std::int64_t i = 0; i < x.cols(); ++i) most = std::max(most, std::abs(double{x.at(t, i)}));
  }
  return most;
}

/// Checks op(backend) on all devices against `want`, and on the reference within `error` of an
/// element's size plus `absolute`.
template <class Op>
void check_op(const Matrix& want, double error, double absolute, Op&& op) {
  for (const Device& d : devices()) ASSERT_TRUE(same_bits(op(*d), want)) << d.isa;
  ReferenceBackend reference;
  ASSERT_TRUE(within(op(reference), want, [&](std::int64_t t, std::int64_t i) {
    return error * std::abs(double{want.at(t, i)}) + absolute;
  }));
}

/// Runs an op in place on copies of `x`. `cols`: the largest number of columns.
template <class Op>
Matrix in_place(Backend& backend, const Matrix& x, Op&& op) {
  backend.plan({.rows = std::int32_t(x.rows()), .cols = x.cols(), .hidden = x.cols()});
  const OnDevice rows(backend, x);
  run_rows(backend, x.rows(), [&] { op(rows.view()); });
  return rows.matrix();
}

constexpr std::int64_t kWidths[] = {1, 15, 16, 17, 40, 257};

TEST(Rows, EmbeddingsAddUpInOrder) {
  for (const std::int64_t cols : {std::int64_t{1}, std::int64_t{33}, std::int64_t{96}}) {
    for (int parts = 0; parts < 8; ++parts) {
      SCOPED_TRACE(cat("H ", cols, " parts ", parts));
      Random random(7);
      const Rows tokens = random_rows(F32::kFormat, 9, cols, random);
      Matrix given(2, cols), positions(12, cols), types(3, cols);
      for (Matrix* m : {&given, &positions, &types}) m->fill(random);
      TestBatch batch({{.q = 2, .kv_len = 2}, {.q = 2, .kv_len = 7}, {.q = 1, .kv_len = 10}}, 0,
                      random);
      batch.tokens() = {8, 3, -1, -1, 4};
      const std::vector<std::int32_t> row_types{2, 0, 1, 1, 2};
      const std::vector<View> views{{}, given.view(), {}};
      Batch b = batch.get();
      b.embeddings = views;
      if ((parts & 4) != 0) b.types = row_types;
      Embedding e{.scale = (parts & 1) != 0 ? 5.7f : 1.0f, .position_offset = 2};
      if ((parts & 2) != 0) e.positions = positions.view();
      if (parts != 0) e.types = types.view();
      Matrix want(5, cols);
      for (std::int64_t t = 0; t < 5; ++t) {
        for (std::int64_t i = 0; i < cols; ++i) {
          const bool is_given = t == 2 || t == 3;
          float x = is_given ? given.at(t - 2, i)
                             : tokens.view.row<float>(batch.tokens()[std::size_t(t)])[i] * e.scale;
          if (e.types) x = x + types.at(b.types.empty() ? 0 : row_types[std::size_t(t)], i);
          if (e.positions) x = x + positions.at(b.positions[std::size_t(t)] + 2, i);
          want.at(t, i) = x;
        }
      }
      // Three roundings, of sums of at most three terms.
      check_op(want, 0, 3 * kEps * 4 * 20, [&](Backend& backend) {
        backend.plan({.rows = 5, .cols = cols, .hidden = cols, .vocab = 9});
        const Weight packed = backend.prepare({&tokens.view, 1}, {}, Use::kPlain);
        const Tensor at = copy_to_device(backend, e.positions);
        const Tensor of = copy_to_device(backend, e.types);
        Embedding on_device = e;
        on_device.tokens = &packed;
        on_device.positions = at.view;
        on_device.types = of.view;
        const OnDevice out(backend, 5, cols);
        run_step(backend, b, [&] { backend.embed(b, on_device, out.view()); });
        return out.matrix();
      });
    }
  }
}

TEST(Rows, ResidualsAreAddedWithTheirFactor) {
  for (const std::int64_t cols : kWidths) {
    Random random(11);
    Matrix x(4, cols), add(4, cols), weight(1, cols);
    for (Matrix* m : {&x, &add, &weight}) m->fill(random);
    const float factor = 0.22f;
    const Norm norm{.eps = 1e-5f, .weight = weight.view()};
    Matrix sum(4, cols), want(4, cols);
    for (std::int64_t t = 0; t < 4; ++t) {
      for (std::int64_t i = 0; i < cols; ++i) {
        sum.at(t, i) = std::fma(factor, add.at(t, i), x.at(t, i));
      }
      set_row(want, t, canonical::normalised(row_of(sum, t), norm));
    }
    const auto run = [&](Backend& backend, bool keep_sum) {
      backend.plan({.rows = 4, .cols = cols, .hidden = cols});
      const NormOnDevice n(backend, norm);
      const OnDevice rows(backend, x), terms(backend, add), out(backend, 4, cols);
      run_rows(backend, 4, [&] {
        backend.norm(rows.view(), {terms.view(), factor}, n.norm, out.view(), Next::kAnyone);
      });
      return (keep_sum ? rows : out).matrix();
    };
    check_op(sum, 2 * kEps, 2 * kEps, [&](Backend& b) { return run(b, true); });
    check_op(want, gamma(cols / 16 + 24), 16 * kEps, [&](Backend& b) { return run(b, false); });
  }
}

TEST(Rows, ScaleAndNormalise) {
  for (const std::int64_t cols : kWidths) {
    Random random(13);
    Matrix x(4, cols);
    x.fill(random, 3);
    for (std::int64_t i = 0; i < cols; ++i) x.at(2, i) = i % 2 == 0 ? 0.0f : -0.0f;
    Matrix scaled(4, cols), unit(4, cols);
    for (std::int64_t t = 0; t < 4; ++t) {
      const float sum = canonical::sum_of_squares(row_of(x, t));
      const float inv = 1.0f / std::sqrt(sum);
      for (std::int64_t i = 0; i < cols; ++i) {
        scaled.at(t, i) = x.at(t, i) * 1.7f;
        unit.at(t, i) = sum == 0 ? x.at(t, i) : x.at(t, i) * inv;
      }
    }
    check_op(scaled, kEps, 0,
             [&](Backend& b) { return in_place(b, x, [&](View rows) { b.scale(rows, 1.7f); }); });
    check_op(unit, gamma(cols / 16 + 10), 0,
             [&](Backend& b) { return in_place(b, x, [&](View rows) { b.normalise(rows); }); });
  }
}

TEST(Rows, GatesOfOtherViews) {
  for (const Act act : kActs) {
    for (const std::int64_t cols : {1, 17, 96}) {
      SCOPED_TRACE(cat("act ", static_cast<int>(act), " F ", cols));
      Random random(17);
      // The gate lies in the middle of longer rows.
      Matrix gates(3, cols + 9), up(3, cols), want(3, cols);
      gates.fill(random, 5);
      up.fill(random, 6);
      for (std::int64_t t = 0; t < 3; ++t) {
        for (std::int64_t i = 0; i < cols; ++i) {
          want.at(t, i) = canonical::gated_activation(act, gates.at(t, i + 4), up.at(t, i));
        }
      }
      // The largest act_error of op_test.cpp for these sizes.
      check_op(want, 2 * kEps, 110 * kEps * largest(gates) * std::max(8.0, largest(up)),
               [&](Backend& backend) {
                 backend.plan({.rows = 3, .cols = cols + 9, .hidden = cols});
                 const OnDevice g(backend, gates), u(backend, up), out(backend, 3, cols);
                 run_rows(backend, 3, [&] {
                   backend.glu(columns(g.view(), 4, cols), u.view(), act, out.view(),
                               Next::kAnyone);
                 });
                 return out.matrix();
               });
    }
  }
}

TEST(Rows, GptOssLimitsGateAndUpAndKeepsNan) {
  const float gates[] = {8, 1e30f, 7, -9, 0.5f, std::nanf(""), 2, 1};
  const float ups[] = {1, 9, -8, -1e30f, 7.5f, 1, std::nanf(""), -1};
  Matrix g(1, 8), u(1, 8);
  std::copy_n(gates, 8, g.row(0));
  std::copy_n(ups, 8, u.row(0));
  const double swish_of_7 = 7 / (1 + std::exp(-1.702 * 7));
  for (const Device& d : devices()) {
    d->plan({.rows = 1, .cols = 8, .hidden = 8});
    const OnDevice gate(*d, g), up(*d, u), out(*d, 1, 8);
    run_rows(*d, 1,
             [&] { d->glu(gate.view(), up.view(), Act::kGptOss, out.view(), Next::kAnyone); });
    const Matrix y = out.matrix();
    EXPECT_NEAR(y.at(0, 0), swish_of_7 * 2, 1e-5);
    EXPECT_NEAR(y.at(0, 1), swish_of_7 * 8, 1e-4);
    EXPECT_NEAR(y.at(0, 2), swish_of_7 * -6, 1e-4);
    EXPECT_NEAR(y.at(0, 4), 0.5 / (1 + std::exp(-0.851)) * 8, 1e-5);
    EXPECT_TRUE(std::isnan(y.at(0, 5)) && std::isnan(y.at(0, 6)));
    EXPECT_EQ(y.at(0, 7), 0);
  }
}

TEST(Rows, GatedSums) {
  for (const std::int64_t cols : kWidths) {
    Random random(19);
    Matrix x(5, cols), y(5, cols), gate(5, 1), want(5, cols);
    for (Matrix* m : {&x, &y, &gate}) m->fill(random, 2);
    for (std::int64_t t = 0; t < 5; ++t) {
      const float factor = math::sigmoid(gate.at(t, 0));
      for (std::int64_t i = 0; i < cols; ++i) {
        want.at(t, i) = std::fma(factor, y.at(t, i), x.at(t, i));
      }
    }
    check_op(want, 2 * kEps, 10 * kEps * largest(y), [&](Backend& backend) {
      const auto run = [&](View rows, View terms, View gates) {
        backend.add_gated(rows, terms, gates);
      };
      backend.plan({.rows = 5, .cols = cols, .hidden = cols});
      const OnDevice rows(backend, x), terms(backend, y), gates(backend, gate);
      run_rows(backend, 5, [&] { run(rows.view(), terms.view(), gates.view()); });
      return rows.matrix();
    });
  }
}

TEST(Rows, PoolingOfSomeSequences) {
  Random random(23);
  const TestBatch batch({{.q = 3, .kv_len = 3}, {.q = 1, .kv_len = 1}, {.q = 40, .kv_len = 40}}, 0,
                        random);
  const std::vector<std::int32_t> sequences{2, 0, 2};
  Batch b = batch.get();
  b.pool_seqs = sequences;
  for (const std::int64_t cols : kWidths) {
    Matrix x(44, cols);
    x.fill(random);
    for (const Pooling pooling : {Pooling::kMean, Pooling::kCls, Pooling::kLast}) {
      Matrix want(3, cols);
      for (std::int64_t i = 0; i < 3; ++i) {
        const std::int64_t first = b.q_start[std::size_t(sequences[std::size_t(i)])];
        const std::int64_t end = b.q_start[std::size_t(sequences[std::size_t(i)]) + 1];
        for (std::int64_t c = 0; c < cols; ++c) {
          float sum = 0;
          for (std::int64_t t = first; t < end; ++t) sum = sum + x.at(t, c);
          want.at(i, c) = pooling == Pooling::kMean  ? sum * (1.0f / float(end - first))
                          : pooling == Pooling::kCls ? x.at(first, c)
                                                     : x.at(end - 1, c);
        }
      }
      check_op(want, 3 * kEps, pooling == Pooling::kMean ? gamma(40) * largest(x) : 0,
               [&](Backend& backend) {
                 backend.plan({.rows = 44, .cols = cols, .hidden = cols});
                 const OnDevice rows(backend, x), out(backend, 3, cols);
                 run_step(backend, b, [&] { backend.pool(rows.view(), b, pooling, out.view()); });
                 return out.matrix();
               });
    }
  }
}

TEST(Rows, LogitsAreScaledThenCapped) {
  Random random(29);
  const Rows rows = random_rows(F32::kFormat, 9001, 32, random);
  Matrix x(20, 32);
  x.fill(random);
  for (const float scale : {1.0f, 0.25f}) {
    for (const float cap : {0.0f, 3.0f}) {
      Matrix want(20, 9001);
      for (std::int64_t t = 0; t < 20; ++t) {
        Floats y = canonical::linear({&rows.view, 1}, {}, row_of(x, t));
        for (float& v : y) v = v * scale;
        for (float& v : y) v = cap == 0 ? v : cap * math::tanh(v / cap);
        set_row(want, t, y);
      }
      std::vector<std::int32_t> best;
      for (std::int64_t t = 0; t < 20; ++t) {
        const float* row = want.row(t);
        best.push_back(std::int32_t(std::max_element(row, row + 9001) - row));
      }
      for (const std::int64_t full : {0, 3, 20}) {
        check_op(
            want.slice(0, std::max<std::int64_t>(full, 1)), 12 * kEps, gamma(40) * 100,
            [&](Backend& backend) {
              backend.plan({.rows = 20, .out_rows = 20, .cols = 32, .hidden = 32, .vocab = 9001});
              const Weight head = backend.prepare({&rows.view, 1}, {}, Use::kPlain);
              const OnDevice in(backend, x), all(backend, std::max<std::int64_t>(full, 1), 9001);
              std::vector<std::int32_t> argmax(20);
              run_rows(
                  backend, 20,
                  [&] {
                    backend.logits(in.view(), {.weight = &head, .scale = scale, .cap = cap},
                                   {.full = full == 0 ? View{} : all.view(), .argmax = argmax});
                  },
                  20);
              const bool is_reference = backend.name() == std::string_view("reference");
              EXPECT_TRUE(is_reference || argmax == best);
              return full == 0 ? want.slice(0, 1) : all.matrix();
            });
      }
    }
  }
}

TEST(Rows, LinearOfEachHead) {
  for (const Format format : {F32::kFormat, BF16::kFormat, Q8_0::kFormat, Q4_0::kFormat}) {
    for (const std::int64_t extra : {0, 1, 24}) {
      for (const std::int64_t rows : {1, 5, 70}) {
        SCOPED_TRACE(cat(format_name(format), " extra ", extra, " T ", rows));
        Random random(31);
        constexpr std::int64_t kHeads = 3, kCols = 64, kOutputs = 19;
        std::vector<Rows> weights;
        for (std::int64_t h = 0; h < kHeads; ++h) {
          weights.push_back(random_rows(format, kOutputs, kCols, random));
        }
        Matrix x(rows, kHeads * (kCols + extra)), want(rows, kHeads * (kOutputs + extra));
        x.fill(random);
        for (std::int64_t t = 0; t < rows; ++t) {
          for (std::int64_t h = 0; h < kHeads; ++h) {
            const float* in = x.row(t) + h * (kCols + extra);
            float* out = want.row(t) + h * (kOutputs + extra);
            const View w = weights[std::size_t(h)].view;
            const Floats y = canonical::linear({&w, 1}, {}, Floats(in, in + kCols));
            std::copy(y.begin(), y.end(), out);
            std::copy_n(in + kCols, extra, out + kOutputs);
          }
        }
        const auto run = [&](Backend& backend) {
          backend.plan({.rows = std::int32_t(rows), .cols = kHeads * kCols, .hidden = x.cols()});
          std::vector<Weight> packed;
          for (const Rows& w : weights)
            packed.push_back(backend.prepare({&w.view, 1}, {}, Use::kPlain));
          const OnDevice in(backend, x), out(backend, rows, want.cols());
          run_rows(backend, rows, [&] {
            backend.linear_heads(in.view(), packed, std::int32_t(extra), out.view());
          });
          return out.matrix();
        };
        // Quantised activations err by half a step of 1 / 127 of the largest, and rounded ones by
        // 2^-8, 64 times.
        const bool exact = format_info(format).dense && format != BF16::kFormat;
        check_op(want, 0, gamma(64) * 400 + (exact ? 0 : 64 * 6.0 * 4 / 254), run);
      }
    }
  }
}

/// Head norms, a rotation and an attention, in host memory.
struct RopeProblem {
  enum class Weights { kShared, kPerHead, kFullWidth };

  RopeProblem(int choice, Random& random)
      : weights(static_cast<Weights>(choice % 3)),
        cos(50, 6),
        sin(50, 6),
        table{.adjacent_pairs = choice % 2 == 1, .dims = 12, .cos = cos.view(), .sin = sin.view()},
        a{.heads = 6,
          .kv_heads = 2,
          .head_dim = 24,
          .value_dim = choice % 4 == 0 ? 40 : 24,
          .rope = &table,
          .rope_first = choice % 5 == 0 ? 0 : 12,
          .values_in_keys = choice % 7 == 3,
          .writes_kv = choice % 11 != 4} {
    cos.fill(random);
    sin.fill(random);
    const bool layer = choice % 4 >= 2;
    norms = {.q = make(a.heads, a.head_dim, layer, random),
             .k = make(a.kv_heads, a.head_dim, layer, random),
             .v = make(a.kv_heads, a.v_dim(), layer, random),
             .after_rope = choice % 3 == 1};
    if (choice % 6 == 5) norms.v = {};
  }
  RopeProblem(const RopeProblem&) = delete;
  RopeProblem& operator=(const RopeProblem&) = delete;

  /// A norm of `count` heads with `dim` elements each.
  Norm make(std::int64_t count, std::int64_t dim, bool layer, Random& random) {
    const std::int64_t rows = weights == Weights::kPerHead ? count : 1;
    const std::int64_t cols = weights == Weights::kFullWidth ? count * dim : dim;
    const auto fill = [&] { return memory.emplace_back(rows, cols).fill(random).view(); };
    return {.kind = layer ? NormKind::kLayer : NormKind::kRms,
            .eps = 1e-5f,
            .weight = fill(),
            .bias = layer ? fill() : View{}};
  }

  /// Normalises heads of a row as the op's comment states.
  void normalise(float* x, std::int64_t count, std::int64_t dim, const Norm& n) const {
    if (!n) return;
    const std::int64_t parts = weights == Weights::kFullWidth ? 1 : count;
    const std::int64_t width = count * dim / parts;
    for (std::int64_t i = 0; i < parts; ++i, x += width) {
      const std::int64_t row = weights == Weights::kPerHead ? i : 0;
      const Floats y = canonical::normalised(Floats(x, x + width), n, row);
      std::copy(y.begin(), y.end(), x);
    }
  }
  void turn(float* x, std::int64_t count, const Norm& n, std::int32_t position) const {
    if (!norms.after_rope) normalise(x, count, a.head_dim, n);
    for (std::int64_t h = 0; h < count; ++h) {
      canonical::rotate(x + h * a.head_dim + a.rope_first, table, position);
    }
    if (norms.after_rope) normalise(x, count, a.head_dim, n);
  }
  Matrix expected(const Matrix& x, const std::vector<std::int32_t>& positions) const {
    Matrix want = x;
    for (std::int64_t t = 0; t < x.rows(); ++t) {
      float* row = want.row(t);
      turn(row, a.heads, norms.q, positions[std::size_t(t)]);
      if (!a.writes_kv) continue;
      turn(row + a.q_cols(), a.kv_heads, norms.k, positions[std::size_t(t)]);
      if (a.values_in_keys) continue;
      normalise(row + a.q_cols() + a.k_cols(), a.kv_heads, a.v_dim(), norms.v);
    }
    return want;
  }

  Weights weights;
  std::deque<Matrix> memory;
  Matrix cos, sin;
  RopeTable table;
  Attention a;
  HeadNorms norms;
};

TEST(Rows, HeadNormsOfEveryKindAndPlace) {
  for (int choice = 0; choice < 24; ++choice) {
    SCOPED_TRACE(cat("choice ", choice));
    Random random(std::uint64_t(37 + choice));
    RopeProblem p(choice, random);
    TestBatch batch = plain_batch(4, random);
    batch.positions() = {0, 49, 13, 7};
    Matrix x(4, p.a.qkv_cols());
    x.fill(random);
    const Matrix want = p.expected(x, batch.positions());
    const Batch b = batch.get();
    // A norm's weights are below 4, its sums short; the rotation has factors below 4.
    check_op(want, 64 * kEps, 2000 * kEps, [&](Backend& backend) {
      backend.plan({.rows = 4, .cols = x.cols(), .hidden = p.a.q_cols()});
      const HeadNormsOnDevice norms(backend, p.norms);
      const AttentionOnDevice a(backend, p.a);
      const OnDevice rows(backend, x);
      run_step(backend, b, [&] { backend.rope(rows.view(), b, norms.norms, a.attention); });
      return rows.matrix();
    });
  }
}

TEST(Rows, CpuRefusesHeadsThatItsKernelsCannotHold) {
  const Device d = device(*kernel_tables()[0], 1);
  const auto missing = [&](const Attention& a, KvType type) {
    return d->unsupported({.attention = {&a, 1}, .kv_type = type});
  };
  EXPECT_EQ(missing({.head_dim = kHeadDimLimit, .values_in_keys = true}, KvType::kInt8), "");
  EXPECT_EQ(missing({.head_dim = kHeadDimLimit + 1}, KvType::kF16), "a head dimension of 577");
  EXPECT_EQ(missing({.head_dim = 8, .value_dim = 600}, KvType::kF16), "a head dimension of 600");
  const Attention latent{.head_dim = 64, .value_dim = 40, .values_in_keys = true};
  EXPECT_EQ(missing(latent, KvType::kF16), "");
  EXPECT_EQ(missing(latent, KvType::kInt8), "8-bit keys whose first 40 elements are values");
}

}  // namespace
}  // namespace ingot::testing
