// Ops give equal bits however rows are cut into calls, beside any other rows, for any number of
// threads, and with any floating-point settings of the host process.
#include "backend/op_test_attention.h"
#include "backend/op_test_moe.h"

namespace ingot::testing {
namespace {

/// Numbers of rows of consecutive calls.
using Cut = std::vector<std::int64_t>;

#ifdef INGOT_SANITIZED
constexpr int kThreads[] = {1, 3};
#else
constexpr int kThreads[] = {1, 2, 3};
#endif

std::vector<Cut> cuts(std::int64_t rows, Random& random) {
  std::vector<Cut> all{{rows}, Cut(std::size_t(rows), 1), {rows - 1, 1}, {1, rows - 1}};
  // Half a tile of 16, one and more than two, none full.
  if (rows > 60) all.push_back({7, 13, 40, rows - 60});
  // As few rows as some tables unpack a panel again for, and one more.
  if (rows > 72) all.push_back({25, 24, 9, 8, 6, rows - 72});
  if (rows > 33) all.push_back({17, 16, rows - 33});
  if (rows > 65) all.push_back({65, rows - 65});
  if (rows > 64) all.push_back({64, rows - 64});
  for (int i = random_runs(1, 30, 1); i > 0; --i) {
    all.emplace_back();
    for (std::int64_t left = rows; left > 0; left -= all.back().back()) {
      all.back().push_back(1 + random.below(left));
    }
  }
  return all;
}

/// Whether a table computes in scalar code, which takes most of a test's time.
bool is_scalar(const KernelTable& table) {
  return std::string_view(table.name).starts_with("scalar");
}

/// A batch with rows [first, first + count) of a sequence, which give results if `limits` have
/// room for results.
struct PartBatch {
  PartBatch(std::int64_t first, std::int64_t count, const StepLimits& limits)
      : positions(std::size_t(count)),
        rows(std::size_t(std::min<std::int64_t>(count, limits.out_rows))),
        tokens(std::size_t(count)),
        q_start{0, std::int32_t(count)},
        kv_len{std::int32_t(first + count)} {
    std::iota(positions.begin(), positions.end(), std::int32_t(first));
    std::iota(rows.begin(), rows.end(), 0);
    batch.tokens = tokens;
    batch.positions = positions;
    batch.q_start = q_start;
    batch.kv_len = kv_len;
    batch.out_rows = rows;
  }
  PartBatch(const PartBatch&) = delete;
  PartBatch& operator=(const PartBatch&) = delete;

  std::vector<std::int32_t> positions, rows, tokens, q_start, kv_len;
  Batch batch;
};

/// What an op computed: its own results, or else `out`.
template <class Op>
Matrix results_of(const Op& op, const OnDevice& out) {
  if constexpr (requires { op.results(); }) {
    return op.results();
  } else {
    return out.matrix();
  }
}

/// Runs rows of `x` through an op on every kernel table: all rows at once with every number of
/// threads, and in cuts. A full run takes every cut with every number of threads. A short run takes
/// every cut on one thread, and one in two on more threads. In scalar code it takes an eighth of
/// these; calls take turns. make(backend) prepares the op's weights and returns op(in, out, batch),
/// where row i has position batch.positions[i]. If the op has `results`, these are compared in
/// place of `out`.
template <class Make>
void check(const Matrix& x, std::int64_t out_cols, const StepLimits& limits, Make&& make,
           const std::vector<const KernelTable*>& tables = tested_tables()) {
  Random random(151);
  const std::vector<Cut> all = cuts(x.rows(), random);
  Matrix want(x.rows(), out_cols);
  static std::size_t turn = 0;
  for (const KernelTable* table : tables) {
    for (const int threads : kThreads) {
      const std::size_t period = (threads == 1 ? 1 : 2) * (is_scalar(*table) ? 8 : 1);
      const Device d = device(*table, threads);
      d->plan(limits);
      auto op = make(*d);
      const OnDevice in(*d, x);
      for (std::size_t c = 0; c < all.size(); ++c) {
        const bool is_always = c == 0 && (threads == 1 || !is_scalar(*table));
        if (!is_always && (turn + c) % period != 0 && !is_full_run()) continue;
        const OnDevice out(*d, x.rows(), out_cols);
        std::int64_t first = 0;
        for (const std::int64_t rows : all[c]) {
          const PartBatch part(first, rows, limits);
          run_step(*d, part.batch, [&] {
            op(in.view().slice(first, rows), out.view().slice(first, rows), part.batch);
          });
          first += rows;
        }
        const Matrix got = results_of(op, out);
        const bool is_first = table == kernel_tables()[0] && threads == 1 && c == 0;
        if (is_first) want = got;
        ASSERT_TRUE(same_bits(got, want)) << d.isa << " threads " << threads << " cut " << c;
      }
      ++turn;
    }
  }
}

#ifdef INGOT_SANITIZED
constexpr std::int64_t kOutputsOfLinear[] = {251};
constexpr std::int64_t kDenseCols = 269, kBlockCols = 512;
constexpr bool kTilesOfAllFormats = false;  // they take a minute
constexpr KvType kLongTypes[] = {KvType::kF16};
constexpr std::int64_t kManyRows = 75;
#else
constexpr std::int64_t kOutputsOfLinear[] = {251, 131};
constexpr std::int64_t kDenseCols = 1037, kBlockCols = 1280;
constexpr bool kTilesOfAllFormats = true;
constexpr KvType kLongTypes[] = {KvType::kF16, KvType::kBF16, KvType::kInt8};
constexpr std::int64_t kManyRows = 139;
#endif

class InvarianceOfFormats : public ::testing::TestWithParam<Format> {};

INSTANTIATE_TEST_SUITE_P(Linear, InvarianceOfFormats, ::testing::ValuesIn(all_formats()),
                         [](const auto& info) { return std::string(format_name(info.param)); });

TEST_P(InvarianceOfFormats, Linear) {
  const std::int64_t cols = format_info(GetParam()).block == 1 ? kDenseCols : kBlockCols;
  // Rows and, for one thread, outputs enough for two panels a call and, where there are 251, for
  // four and tiles of 16 rows; the last panel short.
  for (const std::int64_t outputs : kOutputsOfLinear) {
    if (outputs != kOutputsOfLinear[0] && !is_full_run()) continue;
    SCOPED_TRACE(outputs);
    Random random(157);
    const Rows rows = random_rows(GetParam(), outputs, cols, random);
    Matrix bias(1, outputs);
    bias.fill(random);
    Matrix x(kManyRows, cols);
    x.fill(random);
    const auto make = [&](Backend& backend) {
      return [&backend, w = backend.prepare({&rows.view, 1}, {bias.row(0), std::size_t(outputs)},
                                            Use::kPlain)](View in, View out, const Batch&) {
        backend.linear(in, w, out);
      };
    };
    check(x, outputs, {.rows = kManyRows, .cols = cols, .hidden = cols}, make,
          kTilesOfAllFormats ? linear_tables() : tested_tables());
  }
}

TEST(Invariance, LinearOfManyPanels) {
  // As many panels a call as any table takes, one less at the end, and odd numbers of groups.
  const auto test = []<class T>(std::int64_t cols) {
    constexpr std::int64_t kOutputs = 619;
    SCOPED_TRACE(cat(T::kName, " ", cols));
    Random random(163);
    const Rows rows = random_rows(T::kFormat, kOutputs, cols, random);
    Matrix bias(1, kOutputs);
    bias.fill(random);
    Matrix x(kManyRows, cols);
    x.fill(random);
    const auto make = [&](Backend& backend) {
      return [&backend, w = backend.prepare({&rows.view, 1}, {bias.row(0), std::size_t(kOutputs)},
                                            Use::kPlain)](View in, View out, const Batch&) {
        backend.linear(in, w, out);
      };
    };
    check(x, kOutputs, {.rows = kManyRows, .cols = cols, .hidden = cols}, make, linear_tables());
  };
  for (const std::int64_t cols : {32, 1056}) {
    test.operator()<Q8_0>(cols);
    test.operator()<BF16>(cols);
    if (kTilesOfAllFormats) test.operator()<Q4_1>(cols);
  }
  test.operator()<Q6_K>(256);
  if (kTilesOfAllFormats) test.operator()<Q4_K>(1280);
}

TEST(Invariance, LinearOfManyInputs) {
  // Enough inputs that the rows pass these few panels in several row blocks. The rows are in host
  // memory of exactly their size, which kernels must not read beyond.
  const auto test = []<class T>(std::int64_t cols, std::int64_t many) {
    SCOPED_TRACE(cat(T::kName, " ", cols));
    Random random(167);
    const Rows rows = random_rows(T::kFormat, 35, cols, random);
    Matrix x(many, cols);
    x.fill(random);
    Matrix want(many, 35);
    for (const KernelTable* table : linear_tables()) {
      const Device d = device(*table, 2);
      d->plan({.rows = std::int32_t(many), .cols = cols, .hidden = cols});
      const Weight w = d->prepare({&rows.view, 1}, {}, Use::kPlain);
      Matrix got(many, 35);
      run_rows(*d, many, [&] { d->linear(x.view(), w, got.view()); });
      if (table == kernel_tables()[0]) want = got;
      ASSERT_TRUE(same_bits(got, want)) << d.isa;
    }
  };
  test.operator()<BF16>(6144, 100);
  test.operator()<Q8_0>(6144, 100);
  test.operator()<Q8_0>(11008, 75);
  test.operator()<Q4_K>(11008, 75);
}

TEST(Invariance, LinearOfMixedFormats) {
  Random random(167);
  const Rows parts[] = {random_rows(F16::kFormat, 37, 512, random),
                        random_rows(Q6_K::kFormat, 50, 512, random),
                        random_rows(Q4_K::kFormat, 60, 512, random)};
  const View views[] = {parts[0].view, parts[1].view, parts[2].view};
  Matrix x(75, 512);
  x.fill(random);
  check(x, 147, {.rows = 75, .cols = 512, .hidden = 512}, [&](Backend& backend) {
    return [&backend, w = backend.prepare(views, {}, Use::kPlain)](
               View in, View out, const Batch&) { backend.linear(in, w, out); };
  });
}

TEST(Invariance, Norm) {
  Random random(163);
  Matrix weight(1, 133);
  weight.fill(random);
  Matrix x(20, 133);
  x.fill(random);
  for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
    const Norm norm{.kind = kind, .eps = 1e-5f, .weight = weight.view()};
    check(x, 133, {.rows = 20, .cols = 133, .hidden = 133}, [&](Backend& backend) {
      return [&, w = NormOnDevice(backend, norm)](View in, View out, const Batch&) {
        backend.norm(in, {}, w.norm, out, Next::kAnyone);
      };
    });
  }
}

TEST(Invariance, Activate) {
  Random random(167);
  Matrix x(20, 2 * 77);
  x.fill(random, 3);
  for (const Act act : kActs) {
    check(x, 77, {.rows = 20, .cols = 2 * 77, .hidden = 77}, [&](Backend& backend) {
      return [&, act](View in, View out, const Batch&) {
        backend.activate(in, act, true, out, Next::kAnyone);
      };
    });
  }
}

TEST(Invariance, Moe) {
  Random random(173);
  const Moe m{.experts = 7, .used = 3, .ffn = 64};
  for (const Format format : {F32::kFormat, BF16::kFormat, Q4_0::kFormat, Q8_0::kFormat}) {
    MoeProblem p(m, {format, format, format}, 96, 75, random);
    const auto make = [&](Backend& backend) {
      return [&, w = PreparedMoe(backend, p)](View in, View out, const Batch&) {
        backend.moe(in, w.weights(), p.m, out);
      };
    };
    check(p.x, 96, p.limits(), make, linear_tables());
  }
}

TEST(Invariance, MoeOfBiasesAndGroups) {
  Random random(175);
  const Moe m{.experts = 12,
              .used = 4,
              .ffn = 64,
              .act = Act::kGptOss,
              .score = Moe::Score::kSigmoid,
              .scale = 1.5f,
              .groups = 4,
              .groups_used = 2,
              .group_score = Moe::GroupScore::kSumOfTwo};
  MoeProblem p(m, {Q4_0::kFormat, Q4_0::kFormat, Q8_0::kFormat}, 96, 75, random);
  p.add_biases(random);
  p.add_selection_bias(random);
  check(p.x, 96, p.limits(), [&](Backend& backend) {
    return [&, w = PreparedMoe(backend, p)](View in, View out, const Batch&) {
      backend.moe(in, w.weights(), p.m, out);
    };
  });
}

/// Experts so wide that the caches hold the rows of few: several waves, of which some are one
/// expert's.
TEST(Invariance, MoeInWaves) {
  Random random(181);
  const Moe m{.experts = 8, .used = 4, .ffn = 4096};
  const Format q8 = Q8_0::kFormat;
  for (const ExpertFormats& formats :
       {ExpertFormats{q8, q8, q8}, {F16::kFormat, q8, F32::kFormat}}) {
    MoeProblem p(m, formats, 32, 18, random);
    Matrix weight(1, 32);
    weight.fill(random);
    const Norm norm{.eps = 1e-5f, .weight = weight.view()};
    check(p.x, 32, p.limits(), [&](Backend& backend) {
      return [&, w = PreparedMoe(backend, p), n = NormOnDevice(backend, norm),
              rows = OnDevice(backend, 18, 32)](View in, View out, const Batch&) {
        const View h = rows.view().slice(0, in.rows);
        backend.norm(in, {}, n.norm, h, Next::kLinears);
        backend.moe(h, w.weights(), p.m, out);
      };
    });
  }
}

/// `logits` of rows by their positions: the log-probability of one id, and the best token.
struct ReduceLogits {
  ReduceLogits(Backend& device, const View& rows, const std::vector<std::int32_t>& row_ids)
      : backend(device),
        head(device.prepare({&rows, 1}, {}, Use::kPlain)),
        ids(row_ids),
        scores(ids.size()),
        top(ids.size()) {}

  void operator()(View in, View, const Batch& b) {
    const auto first = std::size_t(b.positions[0]);
    const auto count = std::size_t(in.rows);
    const auto call_scores = std::span(scores).subspan(first, count);
    const auto call_top = std::span(top).subspan(first, count);
    // An earlier cut has left equal results here.
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    std::ranges::fill(call_scores, kNan);
    std::ranges::fill(call_top, TokenScore{.id = -7, .logprob = kNan});
    backend.logits(in, {.weight = &head},
                   {.ids_per_row = 1,
                    .ids = std::span(ids).subspan(first, count),
                    .id_logprobs = call_scores,
                    .top_k = 1,
                    .top = call_top});
  }
  Matrix results() const {
    Matrix out(std::ssize(ids), 3);
    for (std::size_t r = 0; r < ids.size(); ++r) {
      float* to = out.row(std::int64_t(r));
      to[0] = scores[r];
      to[1] = static_cast<float>(top[r].id);
      to[2] = top[r].logprob;
    }
    return out;
  }

  Backend& backend;
  Weight head;
  std::vector<std::int32_t> ids;
  std::vector<float> scores;
  std::vector<TokenScore> top;
};

TEST(Invariance, Logits) {
  Random random(179);
  const Rows rows = random_rows(Q6_K::kFormat, 217, 256, random);
  Matrix x(19, 256);
  x.fill(random);
  std::vector<std::int32_t> ids;
  ids.reserve(19);
  for (int i = 0; i < 19; ++i) ids.push_back(random.below(217));
  const StepLimits limits{.rows = 19, .out_rows = 19, .cols = 256, .hidden = 256, .vocab = 217};
  check(x, 3, limits, [&](Backend& backend) { return ReduceLogits(backend, rows.view, ids); });
}

TEST(Invariance, Rope) {
  Random random(181);
  Matrix cos(40, 12);
  Matrix sin(40, 12);
  cos.fill(random);
  sin.fill(random);
  const RopeTable table{.dims = 24, .cos = cos.view(), .sin = sin.view()};
  const Attention a{.heads = 4, .kv_heads = 2, .head_dim = 24, .rope = &table};
  Matrix weight(1, 24);
  weight.fill(random);
  const Norm norm{.eps = 1e-6f, .weight = weight.view()};
  Matrix x(40, a.qkv_cols());
  x.fill(random);
  check(x, x.cols(), {.rows = 40, .out_rows = 40, .cols = x.cols(), .hidden = 96},
        [&](Backend& backend) {
          return [&, n = NormOnDevice(backend, norm), rope = RopeOnDevice(backend, table)](
                     View in, View out, const Batch& b) {
            Attention on_device = a;
            on_device.rope = &rope.table;
            backend.gather(in, b, out);  // a copy, for an op in place
            backend.rope(out, b, {.q = n.norm, .k = n.norm}, on_device);
          };
        });
}

TEST(Invariance, LinearHeads) {
  Random random(183);
  constexpr std::int64_t kHeads = 5, kExtra = 3, kOutputs = 37;
  for (const Format format : {F32::kFormat, BF16::kFormat, Q8_0::kFormat, Q4_0::kFormat}) {
    const std::int64_t cols = format == F32::kFormat ? 45 : 64;
    std::vector<Rows> rows;
    for (std::int64_t h = 0; h < kHeads; ++h) {
      rows.push_back(random_rows(format, kOutputs, cols, random));
    }
    Matrix x(kManyRows, kHeads * (cols + kExtra));
    x.fill(random);
    const auto make = [&](Backend& backend) {
      std::vector<Weight> weights;
      for (const Rows& r : rows) weights.push_back(backend.prepare({&r.view, 1}, {}, Use::kPlain));
      return [&backend, w = std::move(weights)](View in, View out, const Batch&) {
        backend.linear_heads(in, w, kExtra, out);
      };
    };
    check(x, kHeads * (kOutputs + kExtra),
          {.rows = kManyRows, .cols = kHeads * cols, .hidden = x.cols()}, make, linear_tables());
  }
}

/// Attention of `count` rows from row `first` of a sequence, alone in their batch.
void attend_alone(Backend& backend, const AttentionProblem& p, const Pages& pages, std::size_t s,
                  std::int32_t first, std::int32_t count, View in, View out) {
  const std::vector<std::int32_t> positions(std::size_t(count), 0);
  const std::int32_t q_start[] = {0, count};
  const std::int32_t past = p.sequences[s].kv_len - p.sequences[s].q;
  const std::int32_t kv_len[] = {past + first + count};
  const std::span<const std::int32_t> table = p.batch.table(s);
  const KvBlocks group{
      .slots = positions, .tables = table, .blocks_max = static_cast<std::int32_t>(table.size())};
  Batch b;
  b.positions = positions;
  b.q_start = q_start;
  b.kv_len = kv_len;
  b.groups = {&group, 1};
  run_step(backend, b, [&] { backend.attention(in, b, p.a, pages.layer, out, Next::kAnyone); });
}

TEST(Invariance, Attention) {
  const std::vector<TestBatch::Sequence> sequences{{9, 9},    {1, 64},   {5, 70},
                                                   {3, 1030}, {12, 100}, {29, 120}};
  for (const std::int32_t window : {0, 20}) {
    for (const bool causal : {true, false}) {
      for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kInt8}) {
        SCOPED_TRACE(cat("window ", window, " causal ", causal ? 1 : 0, " ", kv_name(type)));
        Random random(191);
        const Attention a{.heads = 4,
                          .kv_heads = 2,
                          .head_dim = 24,
                          .scale = 0.3f,
                          .causal = causal,
                          .window = window};
        AttentionProblem p(a, type, sequences, random);
        const Matrix want = p.attend(*device(*kernel_tables()[0], 1));
        // The same keys in other blocks of the pool.
        AttentionProblem moved(a, type, sequences, random);
        moved.keys = p.keys;
        moved.rows = p.rows;
        for (const KernelTable* table : attention_tables(type)) {
          for (const int threads : kThreads) {
            const Device d = device(*table, threads);
            ASSERT_TRUE(same_bits(p.attend(*d), want)) << d.isa << " threads " << threads;
            ASSERT_TRUE(same_bits(moved.attend(*d), want)) << d.isa << " threads " << threads;
            // Each sequence alone; where later keys are not seen, row by row.
            const Pages pages = p.fill_pages(*d);
            const OnDevice in(*d, p.rows), got(*d, want.rows(), want.cols());
            std::int64_t row = 0;
            for (std::size_t s = 0; s < sequences.size(); ++s) {
              const std::int32_t step = causal ? 1 : sequences[s].q;
              for (std::int32_t i = 0; i < sequences[s].q; i += step, row += step) {
                attend_alone(*d, p, pages, s, i, step, in.view().slice(row, step),
                             got.view().slice(row, step));
              }
            }
            ASSERT_TRUE(same_bits(got.matrix(), want)) << d.isa << " threads " << threads;
          }
        }
      }
    }
  }
}

class InvarianceOfKvTypes : public ::testing::TestWithParam<KvType> {};

TEST_P(InvarianceOfKvTypes, AttentionOfLongContexts) {
  const KvType type = GetParam();
  // Threads share the splits of 1,024 keys of the long ones; of a split one row sees some and the
  // row before it nothing. Short ones are not shared, and not what there is no room for.
  struct Shape {
    Attention a;
    std::vector<TestBatch::Sequence> sequences;
  };
  const std::vector<Shape> shapes = {
      {{.heads = 4, .kv_heads = 2, .head_dim = 40}, {{4, 2050}, {1, 3100}, {1, 7}}},
      {{.heads = 4, .kv_heads = 2, .head_dim = 40, .window = 1500}, {{4, 2050}, {1, 3100}}},
      {{.heads = 4, .kv_heads = 2, .head_dim = 40, .causal = false}, {{3, 2050}, {1, 1500}}},
      // Two tiles of heads, and values in keys.
      {{.heads = 26, .kv_heads = 1, .head_dim = 36, .value_dim = 32, .values_in_keys = true},
       {{1, 7}, {2, 2500}}},
      // Several kv heads a call, of which the last call has fewer.
      {{.heads = 14, .kv_heads = 7, .head_dim = 24, .value_dim = 40},
       {{2, 70}, {1, 2050}, {1, 3000}, {1, 1024}}},
      // No room where there are two threads, for all rows or those of the long sequence.
      {{.heads = 12, .kv_heads = 1, .head_dim = kHeadDimLimit}, {{2, 11000}, {1, 1100}}},
      {{.heads = 12, .kv_heads = 2, .head_dim = kHeadDimLimit}, {{2, 11000}, {1, 300}}}};
  int turn = 0;
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(cat(shape.a.heads, " heads of ", shape.a.head_dim, " window ", shape.a.window, " ",
                     kv_name(type)));
    Random random(192);
    Attention a = shape.a;
    a.scale = 0.3f;
    const AttentionTerms terms(a, 50, random);
    a.sinks = terms.sinks.view();
    if (a.value_dim != 0) a.position_bias = terms.bias.view();
    AttentionProblem p(a, type, shape.sequences, random);
    const Matrix want = p.attend(*device(*kernel_tables()[0], 1));
    for (const KernelTable* table : attention_tables(type)) {
      for (const int threads : {2, 5}) {
        if (is_scalar(*table) && ++turn % 3 != 1 && !is_full_run()) continue;
        const Device d = device(*table, threads);
        ASSERT_TRUE(same_bits(p.attend(*d), want)) << d.isa << " threads " << threads;
        // The first sequence alone: what is shared goes by the work of the batch.
        const Pages pages = p.fill_pages(*d);
        const std::int32_t q = shape.sequences[0].q;
        const OnDevice in(*d, p.rows.slice(0, q)), out(*d, q, want.cols());
        attend_alone(*d, p, pages, 0, 0, q, in.view(), out.view());
        const Matrix got = out.matrix();
        for (std::int64_t row = 0; row < got.rows(); ++row) {
          for (std::int64_t col = 0; col < got.cols(); ++col) {
            ASSERT_EQ(bits(got.at(row, col)), bits(want.at(row, col))) << row << " " << col;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Attention, InvarianceOfKvTypes, ::testing::ValuesIn(kLongTypes),
                         [](const auto& type) { return std::string(kv_name(type.param)); });

TEST(Invariance, NoRowsAreFine) {
  Random random(211);
  const Moe m{.experts = 3, .used = 2, .ffn = 32};
  MoeProblem p(m, {Q8_0::kFormat, Q8_0::kFormat, Q8_0::kFormat}, 32, 1, random);
  Matrix weight(1, 32);
  weight.fill(random);
  const Norm norm{.eps = 1e-5f, .weight = weight.view()};
  const Attention a{.heads = 1, .kv_heads = 1, .head_dim = 32, .scale = 1};
  const KvBlocks group;
  Batch b;
  b.groups = {&group, 1};
  for (const KernelTable* table : tested_tables()) {
    const Device d = device(*table, 2);
    d->plan(p.limits());
    const PreparedMoe w(*d, p);
    const Pages pages = poisoned_pages(*d, a, KvType::kF16, 1);
    const NormOnDevice n(*d, norm);
    const OnDevice x(*d, p.x), out(*d, 1, 64);
    const View in = x.view().slice(0, 0);
    const View none = out.view().slice(0, 0);
    run_step(*d, b, [&] {
      d->linear(in, w.gate_up[0], none);
      d->norm(in, {}, n.norm, in, Next::kAnyone);
      d->activate(none, Act::kSilu, true, in, Next::kAnyone);
      d->moe(in, w.weights(), m, in);
      d->logits(in, {.weight = &w.gate_up[0]}, {.full = none});
      d->kv_write(none, b, a, pages.layer);
      d->attention(none, b, a, pages.layer, in, Next::kAnyone);
    });
    EXPECT_TRUE(same_bits(x.matrix(), p.x));
    EXPECT_TRUE(same_bits(out.matrix(), Matrix(1, 64)));
  }
}

#if defined(__x86_64__)

/// Sets MXCSR as a host process might leave it, and puts it back.
class HostFpEnvironment {
 public:
  explicit HostFpEnvironment(unsigned set) : kept_(__builtin_ia32_stmxcsr()) {
    __builtin_ia32_ldmxcsr(kept_ | set);
  }
  ~HostFpEnvironment() { __builtin_ia32_ldmxcsr(kept_); }
  HostFpEnvironment(const HostFpEnvironment&) = delete;
  HostFpEnvironment& operator=(const HostFpEnvironment&) = delete;

 private:
  unsigned kept_;
};

bool has_denormals(const Matrix& x) {
  for (std::int64_t r = 0; r < x.rows(); ++r) {
    for (std::int64_t c = 0; c < x.cols(); ++c) {
      if (x.at(r, c) != 0 && std::abs(x.at(r, c)) < 0x1p-126f) return true;
    }
  }
  return false;
}

/// run(backend) must return the same bits, some of them denormal, in any environment.
template <class Run>
void check_environments(Run&& run) {
  constexpr unsigned kFlushToZero = 0x8000;
  constexpr unsigned kDenormalsAreZero = 0x0040;
  constexpr unsigned kRoundToZero = 0x6000;
  for (const KernelTable* table : tested_tables()) {
    const Device d = device(*table, 2);
    const Matrix want = run(*d);
    EXPECT_TRUE(has_denormals(want));
    for (const unsigned set :
         {kFlushToZero, kDenormalsAreZero, kFlushToZero | kDenormalsAreZero, kRoundToZero}) {
      const Matrix got = [&] {
        const HostFpEnvironment environment(set);
        return run(*d);
      }();
      EXPECT_TRUE(same_bits(got, want)) << d.isa << " mxcsr " << set;
    }
  }
}

TEST(Environment, LinearKeepsDenormals) {
  Random random(193);
  for (const Format format : {F32::kFormat, F16::kFormat, BF16::kFormat, MXFP4::kFormat}) {
    SCOPED_TRACE(format_name(format));
    const bool dense = format_info(format).dense;
    Rows rows = random_rows(format, 40, 64, random);
    Matrix x(4, 64);
    x.fill(random, dense ? 1e-41f : 1.0f);
    // Inputs below 2^-100 are zeros to block formats, so there the weights are denormal.
    for (std::size_t at = 0; !dense && at < rows.bytes.size(); at += sizeof(MXFP4::Block)) {
      rows.bytes[at] = std::byte{0};
    }
    check_environments([&](Backend& backend) {
      backend.plan({.rows = 4, .cols = 64, .hidden = 64});
      const Weight w = backend.prepare({&rows.view, 1}, {}, Use::kExact);  // rounds no rows
      const OnDevice in(backend, x), out(backend, 4, 40);
      run_rows(backend, 4, [&] { backend.linear(in.view(), w, out.view()); });
      return out.matrix();
    });
  }
}

TEST(Environment, NormAndActivateKeepDenormals) {
  Random random(197);
  Matrix x(5, 50);
  x.fill(random, 1e-40f);
  Matrix weight(1, 50);
  weight.fill(random, 1e-3f);
  const Norm norm{.eps = 1e-5f, .weight = weight.view()};
  check_environments([&](Backend& backend) {
    backend.plan({.rows = 5, .cols = 50, .hidden = 50});
    const NormOnDevice n(backend, norm);
    const OnDevice in(backend, x), out(backend, 5, 50);
    run_rows(backend, 5, [&] { backend.norm(in.view(), {}, n.norm, out.view(), Next::kAnyone); });
    return out.matrix();
  });
  check_environments([&](Backend& backend) {
    backend.plan({.rows = 5, .cols = 50, .hidden = 50});
    const OnDevice in(backend, x), out(backend, 5, 50);
    run_rows(backend, 5,
             [&] { backend.activate(in.view(), Act::kSilu, false, out.view(), Next::kAnyone); });
    return out.matrix();
  });
}

TEST(Environment, AttentionKeepsDenormals) {
  Random random(199);
  const Attention a{.heads = 2, .kv_heads = 1, .head_dim = 16, .scale = 0.25f};
  AttentionProblem p(a, KvType::kF32, {{3, 70}}, random);
  for (std::int64_t key = 0; key < 70; ++key) {
    for (std::int64_t d = 0; d < 16; ++d) p.keys.at(key, 48 + d) *= 1e-40f;
  }
  check_environments([&](Backend& backend) { return p.attend(backend); });
}

#endif

}  // namespace
}  // namespace ingot::testing
