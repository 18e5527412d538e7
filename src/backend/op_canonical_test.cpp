// Every kernel table against the transcribed canonical order, bit for bit.
#include "backend/op_test_canonical.h"

namespace ingot::testing {
namespace {

using canonical::Floats;
using canonical::row_of;

/// fn(row) for every row of x.
template <class Fn>
Matrix by_row(const Matrix& x, std::int64_t cols, Fn&& fn) {
  Matrix out(x.rows(), cols);
  for (std::int64_t t = 0; t < x.rows(); ++t) {
    const Floats y = fn(row_of(x, t));
    EXPECT_EQ(std::int64_t(y.size()), cols);
    std::copy(y.begin(), y.end(), out.row(t));
  }
  return out;
}

/// Rows that hit the corners of activation quantisation: ordinary, halves that round to even, a
/// group of zeros, groups below and at 2^-100, huge values.
Matrix corner_rows(std::int64_t cols, Random& random) {
  Matrix x(4, cols);
  x.fill(random);
  for (std::int64_t k = 0; k < cols; ++k) {
    // amax is 127 in each group, so x * r is x: multiples of one half.
    x.at(1, k) = k % 32 == 0 ? 127.0f : static_cast<float>(random.below(500) - 250) * 0.5f;
    const std::int64_t group = k / 32 % 4;
    x.at(2, k) *= group == 0 ? 0.0f : group < 3 ? 0x1p-104f : 1.0f;
    x.at(3, k) *= group == 0 ? 1e37f : group == 1 ? 1e-37f : 1.0f;
  }
  x.at(2, 0) = -0.0f;
  // The last amax that makes zeros, and the first that does not.
  if (cols > 64) x.at(2, 33) = std::nextafter(0x1p-100f, 0.0f);
  if (cols > 64) x.at(2, 64) = -0x1p-100f;
  return x;
}

TEST(Canonical, Linear) {
  const std::vector<Device> all = devices();
  for_each_type(Formats{}, [&]<class T>() {
    std::vector<std::int64_t> widths{1, 17, 1023, 1024, 1025, 2049, 3100};
    if (T::kBlock == 32) widths = {32, 96, 1024, 1056, 2080, 3104};
    if (T::kBlock == 256) widths = {256, 1024, 1280, 2304, 3328};
    for (std::uint64_t seed = 0; seed < seeds(); ++seed) {
      for (const std::int64_t cols : widths) {
        SCOPED_TRACE(cat(T::kName, " K ", cols, " seed ", seed));
        Random random(seed * 7919 + std::uint64_t(cols));
        const Rows rows = random_rows(T::kFormat, 37, cols, random);
        Floats bias(37);
        for (float& b : bias) b = random.normal();
        Matrix x = corner_rows(cols, random);
        for (const bool with_bias : {false, true}) {
          const std::span<const float> b =
              with_bias ? std::span<const float>(bias) : std::span<const float>{};
          const Matrix want = by_row(x, 37, [&](const Floats& row) {
            return canonical::linear({&rows.view, 1}, b, row);
          });
          for (const Device& d : all) {
            d->plan({.rows = 4, .cols = cols, .hidden = cols});
            const Weight w = d->prepare({&rows.view, 1}, b, Use::kPlain);
            const OnDevice in(*d, x), got(*d, 4, 37);
            run_rows(*d, 4, [&] { d->linear(in.view(), w, got.view()); });
            ASSERT_TRUE(same_bits(got.matrix(), want)) << d.isa;
          }
        }
      }
    }
  });
}

TEST(Canonical, Norm) {
  Random random(113);
  for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
    for (const bool with_bias : {false, true}) {
      if (kind == NormKind::kRms && with_bias) continue;
      for (const std::int64_t n : {1, 7, 15, 16, 17, 33, 120, 128, 1041}) {
        Matrix weight(1, n);
        Matrix bias(1, n);
        Matrix x(5, n);
        Matrix add(5, n);
        weight.fill(random);
        bias.fill(random);
        x.fill(random, 3, 1);
        add.fill(random, 1e-3f);
        const Norm norm{.kind = kind,
                        .eps = 1e-5f,
                        .weight = weight.view(),
                        .bias = with_bias ? bias.view() : View{}};
        for (std::int64_t i = 0; i < n; ++i) x.at(4, i) *= 1e-30f;
        Matrix summed = x;
        for (std::int64_t t = 0; t < 5; ++t) {
          for (std::int64_t i = 0; i < n; ++i) summed.at(t, i) = x.at(t, i) + add.at(t, i);
        }
        const Matrix want =
            by_row(summed, n, [&](const Floats& row) { return canonical::normalised(row, norm); });
        for (const Device& d : devices()) {
          d->plan({.rows = 5, .cols = n, .hidden = n});
          const NormOnDevice on_device(*d, norm);
          const OnDevice in(*d, x), terms(*d, add), got(*d, 5, n);
          run_rows(*d, 5, [&] {
            d->norm(in.view(), terms.view(), on_device.norm, got.view(), Next::kAnyone);
          });
          ASSERT_TRUE(same_bits(got.matrix(), want)) << d.isa << " n " << n;
          ASSERT_TRUE(same_bits(in.matrix(), summed)) << d.isa;
        }
      }
    }
  }
}

TEST(Canonical, Rope) {
  Random random(127);
  for (const std::int32_t head_dim : {2, 16, 24, 64, 128}) {
    for (const bool adjacent : {false, true}) {
      for (const int norms : {0, 1, 2}) {
        Matrix cos(50, head_dim / 2);
        Matrix sin(50, head_dim / 2);
        cos.fill(random);
        sin.fill(random);
        const std::int32_t dims = head_dim == 64 ? 24 : head_dim;
        const RopeTable table{
            .adjacent_pairs = adjacent, .dims = dims, .cos = cos.view(), .sin = sin.view()};
        const Attention a{.heads = 3, .kv_heads = 1, .head_dim = head_dim, .rope = &table};
        Matrix weight(2, head_dim);
        Matrix bias(2, head_dim);
        weight.fill(random);
        bias.fill(random);
        Norm norm[2] = {};
        for (int i = 0; i < 2 && norms > 0; ++i) {
          norm[i] = {.kind = norms == 1 ? NormKind::kRms : NormKind::kLayer,
                     .eps = 1e-6f,
                     .weight = weight.view().slice(i, 1),
                     .bias = norms == 1 ? View{} : bias.view().slice(i, 1)};
        }
        TestBatch batch = plain_batch(3, random);
        batch.positions() = {0, 49, 13};
        Matrix x(3, a.qkv_cols());
        x.fill(random);
        Matrix want = x;
        for (std::int64_t t = 0; t < 3; ++t) {
          for (std::int32_t h = 0; h < 4; ++h) {
            float* head = want.row(t) + h * head_dim;
            if (norms > 0) {
              const Floats y =
                  canonical::normalised(Floats(head, head + head_dim), norm[h < 3 ? 0 : 1]);
              std::copy(y.begin(), y.end(), head);
            }
            canonical::rotate(head, table, batch.positions()[std::size_t(t)]);
          }
        }
        for (const Device& d : devices()) {
          d->plan({.rows = 3, .cols = a.qkv_cols(), .hidden = a.q_cols()});
          const RopeOnDevice rope(*d, table);
          const NormOnDevice q(*d, norm[0]), k(*d, norm[1]);
          Attention on_device = a;
          on_device.rope = &rope.table;
          const OnDevice got(*d, x);
          run_step(*d, batch.get(), [&] {
            d->rope(got.view(), batch.get(), {.q = q.norm, .k = k.norm}, on_device);
          });
          ASSERT_TRUE(same_bits(got.matrix(), want))
              << d.isa << " D " << head_dim << " norms " << norms;
        }
      }
    }
  }
}

TEST(Canonical, Attention) {
  const std::vector<TestBatch::Sequence> sequences{{1, 1},    {3, 17},   {20, 20},  {2, 64},
                                                   {2, 65},   {1, 127},  {1, 1023}, {3, 1025},
                                                   {2, 1100}, {1, 2049}, {1, 3100}};
  for (const std::int32_t window : {0, 1, 70, 1030}) {
    for (const float cap : {0.0f, 5.0f}) {
      for (const bool causal : {true, false}) {
        const auto type = static_cast<KvType>((window + (cap > 0 ? 1 : 0) + (causal ? 0 : 2)) % 4);
        SCOPED_TRACE(cat("window ", window, " cap ", cap, " causal ", causal ? 1 : 0, " KV ",
                         kv_name(type)));
        Random random(std::uint64_t(131 + window));
        const Attention a{.heads = 4,
                          .kv_heads = 2,
                          .head_dim = window == 70 ? 40 : 16,
                          .scale = 0.7f,
                          .score_cap = cap,
                          .causal = causal,
                          .window = window};
        AttentionProblem p(a, type, sequences, random);
        const Matrix want = canonical::attention(p);
        for (const Device& d : attention_devices(type)) {
          ASSERT_TRUE(same_bits(p.attend(*d), want)) << d.isa;
        }
      }
    }
  }
}

TEST(Canonical, AttentionWithSinksBiasesAndOtherValues) {
  const std::vector<TestBatch::Sequence> sequences{{1, 1},  {3, 17},   {20, 20},
                                                   {2, 65}, {3, 1025}, {1, 2100}};
  for (int choice = 0; choice < 16; ++choice) {
    SCOPED_TRACE(cat("choice ", choice));
    Random random(std::uint64_t(133 + choice));
    const bool in_keys = choice % 2 == 0;
    Attention a{.heads = in_keys ? 26 : 4,
                .kv_heads = in_keys ? 1 : 2,
                .head_dim = in_keys ? 48 : 20,
                .value_dim = in_keys ? 32 : 40,
                .scale = 0.3f,
                .score_cap = choice % 3 == 0 ? 5.0f : 0.0f,
                .causal = choice % 4 < 2,
                .window = choice % 5 == 0 ? 70 : 0,
                .values_in_keys = in_keys};
    AttentionTerms terms(a, choice % 3 == 1 ? 7 : 90, random);
    if (choice % 4 != 3) a.sinks = terms.sinks.view();
    if (choice % 3 != 2) a.position_bias = terms.bias.view();
    const auto type = static_cast<KvType>(choice / 4);
    AttentionProblem p(a, type, sequences, random);
    const Matrix want = canonical::attention(p);
    for (const Device& d : attention_devices(type)) {
      ASSERT_TRUE(same_bits(p.attend(*d), want)) << d.isa;
    }
  }
}

TEST(Canonical, Activate) {
  for (const Act act : kActs) {
    for (const bool gated : {false, true}) {
      if (act == Act::kGptOss && !gated) continue;
      for (const std::int64_t n : {1, 15, 16, 17, 500}) {
        Random random(137);
        Matrix x(3, gated ? 2 * n : n);
        x.fill(random, 4);
        for (std::int64_t i = 0; i < x.cols(); ++i) x.at(1, i) *= 30;
        for (std::int64_t i = 0; i < x.cols(); ++i) x.at(2, i) *= 1e-38f;
        const Matrix want =
            by_row(x, n, [&](const Floats& row) { return canonical::activated(act, gated, row); });
        for (const Device& d : devices()) {
          d->plan({.rows = 3, .cols = 2 * n, .hidden = n});
          const OnDevice in(*d, x), got(*d, 3, n);
          run_rows(*d, 3, [&] { d->activate(in.view(), act, gated, got.view(), Next::kAnyone); });
          ASSERT_TRUE(same_bits(got.matrix(), want)) << d.isa << " act " << int(act) << " n " << n;
        }
      }
    }
  }
}

TEST(Canonical, Moe) {
  struct Shape {
    ExpertFormats formats;
    std::int64_t hidden;
    std::int32_t ffn, experts, used;
  };
  const Shape shapes[] = {
      {{F32::kFormat, F32::kFormat, F32::kFormat}, 33, 20, 5, 2},
      {{BF16::kFormat, Q4_0::kFormat, F16::kFormat}, 64, 47, 33, 8},
      {{Q4_K::kFormat, Q6_K::kFormat, Q8_0::kFormat}, 256, 64, 17, 4},
  };
  for (const Shape& shape : shapes) {
    for (const bool renormalise : {false, true}) {
      for (const Act act : {Act::kSilu, Act::kGeluTanh}) {
        Random random(139);
        const Moe m{.experts = shape.experts,
                    .used = shape.used,
                    .ffn = shape.ffn,
                    .renormalise = renormalise,
                    .act = act};
        MoeProblem p(m, shape.formats, shape.hidden, 9, random);
        // Equal router rows: equal shares, in the order of their numbers.
        std::copy_n(p.router.view.row<float>(1), shape.hidden, p.router.view.row<float>(3));
        const Matrix want =
            by_row(p.x, shape.hidden, [&](const Floats& row) { return canonical::moe(p, row); });
        for (const Device& d : devices()) {
          ASSERT_TRUE(same_bits(run_moe(*d, p), want)) << d.isa << " H " << shape.hidden;
        }
      }
    }
  }
}

TEST(Canonical, MoeOfEveryRouter) {
  for (int choice = 0; choice < kRouters; ++choice) {
    SCOPED_TRACE(cat("choice ", choice));
    const MoeProblem p = router_problem(choice, {F32::kFormat, Q4_0::kFormat, Q8_0::kFormat});
    const Matrix want = by_row(p.x, 64, [&](const Floats& row) { return canonical::moe(p, row); });
    for (const Device& d : devices()) ASSERT_TRUE(same_bits(run_moe(*d, p), want)) << d.isa;
  }
}

TEST(Canonical, LogProbabilities) {
  for (const std::int64_t vocab : {1, 15, 16, 17, 33, 1000}) {
    Random random(149);
    const Rows rows = random_rows(Q8_0::kFormat, vocab, 64, random);
    Matrix x(3, 64);
    x.fill(random);
    const Matrix logits = by_row(x, vocab, [&](const Floats& row) {
      return canonical::linear({&rows.view, 1}, {}, row);
    });
    std::vector<std::int32_t> ids;
    for (std::int64_t r = 0; r < 3; ++r) {
      ids.insert(ids.end(), {0, random.below(vocab), std::int32_t(vocab - 1)});
    }
    for (const Device& d : devices()) {
      d->plan({.rows = 3, .out_rows = 3, .cols = 64, .hidden = 64, .vocab = vocab});
      const Weight head = d->prepare({&rows.view, 1}, {}, Use::kPlain);
      const OnDevice in(*d, x);
      std::vector<float> got(9);
      std::vector<TokenScore> top(3);
      run_logits(*d, in, head,
                 {.ids_per_row = 3, .ids = ids, .id_logprobs = got, .top_k = 1, .top = top});
      for (std::size_t i = 0; i < 9; ++i) {
        const Floats row = row_of(logits, std::int64_t(i / 3));
        ASSERT_EQ(bits(got[i]), bits(canonical::logprob(row, ids[i]))) << d.isa << " V " << vocab;
        ASSERT_EQ(bits(top[i / 3].logprob), bits(canonical::logprob(row, top[i / 3].id)));
      }
    }
  }
}

}  // namespace
}  // namespace ingot::testing
