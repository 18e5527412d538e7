// kv_write and attention: every kernel table against the reference, over poisoned pages.
#include "backend/op_test_attention.h"
#include "backend/op_test_canonical.h"
#include "backend/reference/reference_backend.h"
#include "base/half.h"
#include "base/small_stack_test_util.h"

namespace ingot::testing {
namespace {

constexpr KvType kTypes[] = {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kInt8};

double length(const float* x, std::int32_t n) {
  double sum = 0;
  for (std::int32_t i = 0; i < n; ++i) sum += double{x[i]} * x[i];
  return std::sqrt(sum);
}

/// The largest magnitude of a head's sink and position biases.
double largest_term(const Attention& a, std::int32_t h) {
  double largest = a.sinks ? std::abs(double{a.sinks.row<float>(0)[h]}) : 0;
  for (std::int64_t i = 0; a.position_bias && i < a.position_bias.cols; ++i) {
    largest = std::max(largest, std::abs(double{a.position_bias.row<float>(h)[i]}));
  }
  return largest;
}

/// A bound on the error of each row's and head's output.
///
/// A score: D + 2 roundings relative to sum |q k| <= |q| |k|; a cap adds a division, tanh within 6
/// kEps and a product, relative to the cap. An error e of a score is a relative error e of its
/// exponential, and of the maximum it is compared with; exp itself costs 3 kEps and its rounded
/// argument kEps times the range of scores. A term of o and of l then passes min(n, 1024) sums, two
/// roundings a chunk of 64 and four a split. Numerator and denominator each, against sum p |v| <=
/// max |v|.
///
/// For 8-bit integers, the reference reads the same multiples of scales from its pages. An element
/// of q is off by at most half a scale, |q| / 254, so a score by sqrt(D) |q| |k| / 254; chains and
/// products of scales stay below the float ones. In a chunk of up to 64 keys each weight times its
/// scale is off by half of the chunk's scale: 127 max(p v_d) / 254 a key, with 127 v_d <= max |v|,
/// and p of one key at most l.
///
/// For BF16, the reference rounds q, keys and values as the op does, but not the weights. The op
/// rounds each weight to 8 bits, an error of at most 2^-8 relative, and to +0 below 2^-48. The sum
/// of values and the sum of weights each carry this error.
///
/// A position bias rounds once, and a sink joins like a split. Both widen the range of scores.
Matrix attention_error(const AttentionProblem& p) {
  const Attention& a = p.a;
  Matrix errors(p.rows.rows(), a.heads);
  std::int64_t row = 0;
  for (std::size_t s = 0; s < p.sequences.size(); ++s) {
    const std::int32_t n = p.sequences[s].kv_len;
    for (std::int64_t end = row + p.sequences[s].q; row < end; ++row) {
      for (std::int32_t h = 0; h < a.heads; ++h) {
        const std::int64_t g = h / (a.heads / a.kv_heads);
        const std::int64_t k = a.q_cols() + g * a.head_dim;
        const std::int64_t v = a.values_in_keys ? k : a.q_cols() + a.k_cols() + g * a.v_dim();
        double k_max = 0;
        double v_max = 0;
        for (std::int64_t key = p.first_key[s]; key < p.first_key[s] + n; ++key) {
          k_max = std::max(k_max, length(p.keys.row(key) + k, a.head_dim));
          for (std::int32_t d = 0; d < a.v_dim(); ++d) {
            v_max = std::max(v_max, std::abs(double{p.keys.at(key, v + d)}));
          }
        }
        const double q = length(p.rows.row(row) + h * a.head_dim, a.head_dim);
        const double size = 1.01 * q * k_max * std::abs(double{a.scale});
        const double capped = a.score_cap == 0 ? size : std::min(size, double{a.score_cap});
        const double range = capped + largest_term(a, h);
        const double coarse =
            p.type == KvType::kInt8 ? std::sqrt(double(a.head_dim)) / 254 * size : 0;
        const double score = gamma(a.head_dim + 2) * size + coarse +
                             (a.score_cap == 0 ? 0 : 10 * kEps * capped) +
                             (a.position_bias ? kEps * range : 0);
        const std::int64_t sums = std::min(n, 1024) + 8 * (n / 64 + 1) + 4 * (n / 1024 + 2);
        const double rounding = p.type == KvType::kBF16 ? 0x1p-8 + n * 0x1p-48 : 0;
        const double relative = std::expm1(2 * score) + 4 * kEps * range + gamma(sums) + rounding;
        const double weights = p.type == KvType::kInt8 ? std::min(n, 64) / 254.0 : 0;
        errors.at(row, h) = static_cast<float>(1.01 * (2 * relative + weights) * v_max);
      }
    }
  }
  return errors;
}

void check(AttentionProblem& p, const std::vector<Device>& all) {
  ReferenceBackend reference;
  const Matrix want = p.attend(reference);
  const Matrix errors = attention_error(p);
  const Matrix scalar = p.attend(*all[0]);
  ASSERT_TRUE(within(scalar, want, [&](std::int64_t t, std::int64_t col) {
    return errors.at(t, col / p.a.v_dim()) + kEps * std::abs(want.at(t, col));
  }));
  for (std::size_t i = 1; i < all.size(); ++i) {
    ASSERT_TRUE(same_bits(p.attend(*all[i]), scalar)) << all[i].isa;
  }
}

TEST(Attention, HeadsSizesAndTypes) {
  const std::vector<Device> all = devices();
  const std::pair<std::int32_t, std::int32_t> heads[] = {{1, 1}, {4, 4}, {4, 2}, {6, 1}};
  const std::vector<TestBatch::Sequence> sequences{{1, 1},  {3, 17}, {16, 16}, {15, 15}, {1, 63},
                                                   {2, 64}, {5, 65}, {0, 40},  {1, 66},  {1, 129}};
  for (const std::int32_t head_dim : {1, 5, 16, 24, 64, 128}) {
    for (const auto& [n, g] : heads) {
      for (const KvType type : kTypes) {
        for (const bool causal : {true, false}) {
          SCOPED_TRACE(cat("D ", head_dim, " N ", n, " G ", g, " KV ", kv_name(type), " causal ",
                           causal ? 1 : 0));
          Random random(std::uint64_t(head_dim * 100 + n * 10 + g));
          const Attention a{.heads = n,
                            .kv_heads = g,
                            .head_dim = head_dim,
                            .scale = 1 / std::sqrt(static_cast<float>(head_dim)),
                            .causal = causal};
          AttentionProblem p(a, type, sequences, random);
          ASSERT_NO_FATAL_FAILURE(check(p, all));
        }
      }
    }
  }
}

TEST(Attention, ValuesOfOtherWidthsSinksAndBiases) {
  const std::vector<Device> all = devices();
  struct Shape {
    std::int32_t heads, kv_heads, head_dim, value_dim;
    bool values_in_keys;
  };
  const Shape shapes[] = {{4, 2, 24, 40, false}, {4, 2, 48, 16, false}, {3, 1, 33, 5, false},
                          {5, 1, 80, 64, true},  {4, 2, 40, 32, true},  {26, 1, 32, 32, true},
                          {4, 2, 96, 80, false}};
  const std::vector<TestBatch::Sequence> sequences{{1, 1}, {3, 17}, {5, 65}, {20, 20}, {2, 1100}};
  int choice = 0;
  for (const Shape& shape : shapes) {
    for (const KvType type : kTypes) {
      Random random(std::uint64_t(71 + choice));
      Attention a{.heads = shape.heads,
                  .kv_heads = shape.kv_heads,
                  .head_dim = shape.head_dim,
                  .value_dim = shape.value_dim,
                  .scale = 0.2f,
                  .score_cap = choice % 3 == 0 ? 4.0f : 0.0f,
                  .causal = choice % 2 == 0,
                  .window = choice % 5 == 0 ? 30 : 0,
                  .values_in_keys = shape.values_in_keys};
      AttentionTerms terms(a, choice % 4 == 0 ? 3 : 40, random);
      if (choice % 3 != 1) a.sinks = terms.sinks.view();
      if (choice % 3 != 2) a.position_bias = terms.bias.view();
      SCOPED_TRACE(
          cat("D ", a.head_dim, " Dv ", a.value_dim, " KV ", kv_name(type), " choice ", choice++));
      AttentionProblem p(a, type, sequences, random);
      ASSERT_NO_FATAL_FAILURE(check(p, all));
    }
  }
}

TEST(Attention, LayersWithoutKeysOfTheirOwn) {
  // Queries alone, over the keys that a layer with keys wrote: the bits of that layer.
  const Attention writer{.heads = 4, .kv_heads = 2, .head_dim = 24, .value_dim = 16, .scale = 0.2f};
  Attention reader = writer;
  reader.writes_kv = false;
  ASSERT_EQ(reader.qkv_cols(), reader.q_cols());
  for (const KvType type : kTypes) {
    Random random(73);
    AttentionProblem p(writer, type, {{3, 70}, {1, 20}}, random);
    Matrix queries(p.rows.rows(), reader.qkv_cols());
    for (std::int64_t t = 0; t < queries.rows(); ++t) {
      std::copy_n(p.rows.row(t), queries.cols(), queries.row(t));
    }
    for (const Device& d : devices()) {
      const Pages pages = p.fill_pages(*d);
      const Batch b = p.batch.get();
      const OnDevice in(*d, queries), out(*d, queries.rows(), reader.out_cols());
      run_step(*d, b, [&] {
        d->rope_write(in.view(), b, {}, reader, pages.layer);
        d->attention(in.view(), b, reader, pages.layer, out.view(), Next::kAnyone);
      });
      EXPECT_TRUE(same_bits(out.matrix(), p.attend(*d, pages))) << d.isa << " " << kv_name(type);
      EXPECT_TRUE(same_bits(in.matrix(), queries)) << d.isa;
    }
  }
}

TEST(Attention, LargestHead) {
  Random random(61);
  // As many queries a call as there may be.
  const Attention a{.heads = 6, .kv_heads = 1, .head_dim = kHeadDimLimit, .scale = 0.04f};
  for (const KvType type : kTypes) {
    AttentionProblem p(a, type, {{12, 90}, {9, 70}}, random);
    check(p, attention_devices(type));
  }
  // DeepSeek's latents, over more query heads than a call takes.
  const Attention latents{.heads = 32,
                          .kv_heads = 1,
                          .head_dim = 576,
                          .value_dim = 512,
                          .scale = 0.04f,
                          .values_in_keys = true};
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kInt8}) {
    AttentionProblem p(latents, type, {{2, 70}, {1, 1040}}, random);
    check(p, attention_devices(type));
  }
}

TEST(Attention, WindowsCapsAndSplits) {
  const std::vector<Device> all = devices();
  const std::vector<TestBatch::Sequence> sequences{{1, 1023}, {1, 1024}, {2, 1025}, {7, 1100},
                                                   {1, 1031}, {70, 90},  {1, 2100}};
  for (const std::int32_t window : {0, 1, 8, 16, 100, 1060}) {
    for (const float cap : {0.0f, 3.0f}) {
      for (const bool causal : {true, false}) {
        const KvType type = kTypes[(window + (causal ? 0 : 1) + (cap > 0 ? 2 : 0)) % 4];
        SCOPED_TRACE(cat("window ", window, " cap ", cap, " causal ", causal ? 1 : 0, " KV ",
                         kv_name(type)));
        Random random(std::uint64_t(window) + 67);
        const Attention a{.heads = 2,
                          .kv_heads = 1,
                          .head_dim = 16,
                          .scale = 0.5f,
                          .score_cap = cap,
                          .causal = causal,
                          .window = window};
        AttentionProblem p(a, type, sequences, random);
        ASSERT_NO_FATAL_FAILURE(check(p, all));
      }
    }
  }
}

TEST(Attention, ScoresFarApart) {
  // One key takes everything, early or late: exponentials of the others vanish. At 1000 the bound
  // is beyond the values themselves, and the results only have to be finite.
  for (const float scale : {20.0f, -20.0f, 1000.0f, 0.0f}) {
    SCOPED_TRACE(cat("scale ", scale));
    Random random(71);
    const Attention a{.heads = 1, .kv_heads = 1, .head_dim = 16, .scale = scale};
    AttentionProblem p(a, KvType::kF32, {{4, 200}, {1, 1100}}, random);
    ASSERT_NO_FATAL_FAILURE(check(p, devices()));
  }
}

TEST(Attention, MeanOfEqualKeysByHand) {
  // Equal keys: the mean of the values 0 .. n-1 in every column.
  for (const std::int32_t n : {1, 5, 16, 64, 65, 1025}) {
    Random random(73);
    const Attention a{.heads = 2, .kv_heads = 1, .head_dim = 8, .scale = 1};
    AttentionProblem p(a, KvType::kF32, {{1, n}}, random);
    for (std::int32_t key = 0; key < n; ++key) {
      for (std::int64_t d = 0; d < 8; ++d) {
        p.keys.at(key, 16 + d) = 0.25f;
        p.keys.at(key, 24 + d) = static_cast<float>(key);
      }
    }
    const auto check_mean = [&](Backend& backend) {
      const Matrix out = p.attend(backend);
      for (std::int64_t c = 0; c < 16; ++c) {
        EXPECT_NEAR(out.at(0, c), (n - 1) / 2.0, n * gamma(n + 40)) << backend.name();
      }
    };
    ReferenceBackend reference;
    check_mean(reference);
    for (const Device& d : devices()) check_mean(*d);
  }
}

TEST(Attention, NanStaysWithWhoSeesIt) {
  Random random(79);
  // Two query heads over each kv head, so that queries which see it pass with others that do not.
  const Attention a{.heads = 4, .kv_heads = 2, .head_dim = 24, .scale = 0.2f};
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kInt8}) {
    for (const Device& d : attention_devices(type)) {
      SCOPED_TRACE(cat(kv_name(type), " ", d.isa));
      AttentionProblem p(a, type, {{6, 70}, {2, 30}}, random);
      const Matrix clean = p.attend(*d);
      for (std::int64_t t = 0; t < clean.rows(); ++t) {
        for (std::int64_t c = 0; c < clean.cols(); ++c) EXPECT_FALSE(std::isnan(clean.at(t, c)));
      }
      // The key and value of row 3 of the first sequence, in the second KV head.
      p.keys.at(67, a.q_cols() + 24 + 5) = std::nanf("");
      p.keys.at(67, a.q_cols() + a.k_cols() + 24 + 7) = std::nanf("");
      Matrix got = p.attend(*d);
      for (std::int64_t t = 3; t < 6; ++t) {
        for (std::int64_t c = 48; c < 96; ++c) {
          EXPECT_TRUE(std::isnan(got.at(t, c))) << t << " " << c;
          got.at(t, c) = clean.at(t, c);
        }
      }
      EXPECT_TRUE(same_bits(got, clean));
    }
  }
}

TEST(Attention, NanLeavesTheWindow) {
  Random random(81);
  const Attention a{.heads = 4, .kv_heads = 2, .head_dim = 24, .scale = 0.2f, .window = 4};
  for (const KvType type : kTypes) {
    for (const std::int32_t nan_key : {30, 31}) {
      for (const Device& d : attention_devices(type)) {
        SCOPED_TRACE(cat(kv_name(type), " key ", nan_key, " ", d.isa));
        AttentionProblem p(a, type, {{20, 48}}, random);
        const Matrix clean = p.attend(*d);
        p.keys.at(nan_key, a.q_cols() + a.k_cols() + 7) = std::nanf("");
        const Matrix got = p.attend(*d);
        for (std::int32_t t = 0; t < 20; ++t) {
          const bool sees = 28 + t >= nan_key && 28 + t < nan_key + a.window;
          EXPECT_EQ(std::isnan(got.at(t, 7)), sees) << t;
          if (sees) continue;
          for (int c = 0; c < 96; ++c) ASSERT_EQ(bits(got.at(t, c)), bits(clean.at(t, c))) << t;
        }
      }
    }
  }
}

TEST(Attention, ScoreThatOverflowsIsNan) {
  Random random(80);
  const Attention a{.heads = 4, .kv_heads = 2, .head_dim = 24, .scale = 0.2f};
  for (const KvType type : kTypes) {
    for (const Device& d : attention_devices(type)) {
      SCOPED_TRACE(cat(kv_name(type), " ", d.isa));
      AttentionProblem p(a, type, {{6, 70}}, random);
      const Matrix clean = p.attend(*d);
      // Query head 3 of row 2 times a key of all rows. Its weight is exp(Inf - Inf), on some
      // processors a NaN with a sign.
      for (int i = 0; i < a.head_dim; ++i) {
        p.rows.at(2, 3 * 24 + i) = 1e38f;
        p.keys.at(9, a.q_cols() + 24 + i) = 100;
      }
      const Matrix got = p.attend(*d);
      for (int c = 0; c < 24; ++c) {
        EXPECT_TRUE(std::isnan(got.at(2, 72 + c))) << c;
        EXPECT_FALSE(std::isnan(got.at(2, 48 + c))) << c;
        EXPECT_EQ(bits(got.at(2, c)), bits(clean.at(2, c))) << c;
      }
    }
  }
}

/// Compares every table with the tree of backend.h, bit for bit.
void check_canonical(AttentionProblem& p, const std::vector<Device>& all) {
  const Matrix want = canonical::attention(p);
  for (const Device& d : all) ASSERT_TRUE(same_bits(p.attend(*d), want)) << d.isa;
}

TEST(AttentionBf16, TreeOfBlocks) {
  const std::vector<Device> all = attention_devices(KvType::kBF16);
  struct Shape {
    std::int32_t heads, kv_heads, head_dim, value_dim;
    bool values_in_keys;
  };
  const Shape shapes[] = {{1, 1, 1, 1, false},     {4, 2, 5, 40, false},  {2, 1, 31, 33, false},
                          {6, 1, 32, 16, false},   {3, 3, 33, 5, false},  {12, 1, 40, 48, false},
                          {8, 2, 48, 40, false},   {4, 2, 80, 96, false}, {5, 1, 96, 64, true},
                          {16, 8, 128, 128, false}};
  const std::vector<TestBatch::Sequence> sequences{{1, 1},   {1, 34},   {3, 17},  {12, 65},
                                                   {25, 25}, {40, 100}, {2, 1091}};
  int choice = 0;
  for (const Shape& shape : shapes) {
    for (const std::int32_t window : {0, 1, 7, 33}) {
      Random random(std::uint64_t(91 + choice));
      Attention a{.heads = shape.heads,
                  .kv_heads = shape.kv_heads,
                  .head_dim = shape.head_dim,
                  .value_dim = shape.value_dim,
                  .scale = 0.4f,
                  .score_cap = choice % 3 == 1 ? 4.0f : 0.0f,
                  .causal = choice % 4 != 2,
                  .window = window,
                  .values_in_keys = shape.values_in_keys};
      AttentionTerms terms(a, 40, random);
      if (choice % 5 == 2) a.sinks = terms.sinks.view();
      if (choice % 5 == 3) a.position_bias = terms.bias.view();
      SCOPED_TRACE(
          cat("D ", a.head_dim, " Dv ", a.value_dim, " window ", window, " choice ", choice++));
      AttentionProblem p(a, KvType::kBF16, sequences, random);
      ASSERT_NO_FATAL_FAILURE(check_canonical(p, all));
    }
  }
}

#ifndef INGOT_SANITIZED
/// A thread may have a stack of 256 KiB.
TEST(Attention, LargestHeadFitsOnASmallStack) {
  Random random(229);
  const Attention a{.heads = 6, .kv_heads = 1, .head_dim = kHeadDimLimit, .scale = 0.04f};
  for (const KvType type : kTypes) {
    AttentionProblem p(a, type, {{12, 1100}}, random);
    for (const KernelTable* table : linear_tables()) {
      const Device d = device(*table, 1);
      run_on_stack_of(std::size_t{248} << 10, [&] { p.attend(*d); });
    }
  }
}
#endif

TEST(AttentionBf16, TilesOfEveryHeight) {
  // Queries of a kv head in tiles of 16 and of fewer, and 1 to 4 queries after a full tile.
  const std::vector<Device> all = attention_devices(KvType::kBF16);
  struct Shape {
    std::int32_t heads, kv_heads, head_dim, value_dim;
    std::int32_t rows[4];
    bool values_in_keys = false;
  };
  const Shape shapes[] = {{1, 1, 80, 16, {4, 5, 16, 17}}, {1, 1, 64, 80, {20, 21, 31, 32}},
                          {2, 1, 16, 64, {8, 9, 11, 33}}, {6, 2, 72, 24, {3, 5, 33, 64}},
                          {7, 1, 32, 96, {2, 3, 4, 37}},  {40, 2, 48, 32, {1, 2, 7, 16}, true}};
  int choice = 0;
  for (const Shape& shape : shapes) {
    for (const std::int32_t window : {0, 3, 40, 70}) {
      Random random(std::uint64_t(211 + choice));
      Attention a{.heads = shape.heads,
                  .kv_heads = shape.kv_heads,
                  .head_dim = shape.head_dim,
                  .value_dim = shape.value_dim,
                  .scale = 0.3f,
                  .score_cap = choice % 3 == 1 ? 5.0f : 0.0f,
                  .causal = choice % 4 != 3,
                  .window = window,
                  .values_in_keys = shape.values_in_keys};
      AttentionTerms terms(a, 20, random);
      if (choice % 3 == 0) a.sinks = terms.sinks.view();
      if (choice % 2 == 0) a.position_bias = terms.bias.view();
      SCOPED_TRACE(cat("N ", a.heads, " D ", a.head_dim, " window ", window, " choice ", choice));
      std::vector<TestBatch::Sequence> sequences;
      for (const std::int32_t rows : shape.rows) {
        const auto past = static_cast<std::int32_t>(random.below(130));
        sequences.push_back({rows, rows + past});
      }
      if (choice++ % 4 == 1) sequences.push_back({20, 1040});
      AttentionProblem p(a, KvType::kBF16, sequences, random);
      ASSERT_NO_FATAL_FAILURE(check_canonical(p, all));
    }
  }
}

TEST(AttentionBf16, TilesComputeFiveQueriesAndMore) {
  const Device d = device(scalar_tiles_kernels(), 1);
  for (const std::int32_t queries : {1, 4, 5, 16, 17, 20, 32}) {
    Random random(227);
    const Attention a{.heads = 1, .kv_heads = 1, .head_dim = 32, .scale = 0.2f};
    AttentionProblem p(a, KvType::kBF16, {{queries, queries + 64}}, random);
    const std::int64_t before = products_of_tiles();
    p.attend(*d);
    EXPECT_EQ(products_of_tiles() > before, queries >= 5) << queries << " queries";
  }
}

/// Checks that a value which is no number reaches those rows that see it, and no others. One kv
/// head has 32 queries. The last chunk begins in the middle of the rows, and its later positions
/// are not written.
void check_who_sees(float value, std::int32_t at_key, std::int32_t window) {
  SCOPED_TRACE(cat("value ", value, " window ", window, " key ", at_key));
  Random random(223);
  const Attention a{
      .heads = 2, .kv_heads = 1, .head_dim = 40, .value_dim = 56, .scale = 0.2f, .window = window};
  const std::vector<Device> all = attention_devices(KvType::kBF16);
  AttentionProblem p(a, KvType::kBF16, {{16, 72}}, random);
  p.keys.at(at_key, a.q_cols() + a.k_cols() + 50) = value;
  ASSERT_NO_FATAL_FAILURE(check_canonical(p, all));
  for (const Device& d : all) {
    const Matrix got = p.attend(*d);
    for (std::int32_t t = 0; t < 16; ++t) {
      const std::int32_t key = 56 + t;
      const bool sees = key >= at_key && (window == 0 || key < at_key + window);
      EXPECT_EQ(!std::isfinite(got.at(t, 50)), sees) << d.isa << " row " << t;
      EXPECT_TRUE(std::isfinite(got.at(t, 49))) << d.isa << " row " << t;
    }
  }
}

TEST(AttentionBf16, NanAndInfReachRowsThatSeeThem) {
  for (const float value : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    for (const std::int32_t window : {0, 9}) {
      for (const std::int32_t key : {40, 57, 63, 64, 66, 71}) check_who_sees(value, key, window);
    }
  }
}

TEST(AttentionBf16, OperandsNearTheLeastMagnitude) {
  const std::vector<Device> all = attention_devices(KvType::kBF16);
  const Attention a{.heads = 4, .kv_heads = 2, .head_dim = 40, .scale = 1};
  for (const float size : {0x1p-48f, 0x1p-24f, 0x1p20f}) {
    SCOPED_TRACE(cat("size ", size));
    Random random(101);
    AttentionProblem p(a, KvType::kBF16, {{20, 90}}, random);
    for (std::int64_t t = 0; t < p.keys.rows(); ++t) {
      for (std::int64_t c = a.q_cols(); c < a.qkv_cols(); ++c) p.keys.at(t, c) *= size;
      // A column of values that are all rounded to +0.
      p.keys.at(t, a.q_cols() + a.k_cols() + 3) = -0x1p-49f;
    }
    ASSERT_NO_FATAL_FAILURE(check_canonical(p, all));
    for (const Device& d : all) {
      const Matrix got = p.attend(*d);
      for (std::int64_t t = 0; t < got.rows(); ++t) EXPECT_EQ(bits(got.at(t, 3)), 0u) << d.isa;
    }
  }
}

TEST(AttentionBf16, SumsBelowTheLeastAreZero) {
  // The second chunk has a score of 70 and no value: exp(-70) of the first chunk's sum, which is
  // above 2^-100 for column 0 and below it for column 1.
  const Attention a{.heads = 2, .kv_heads = 1, .head_dim = 16, .scale = 1};
  const float sum = math::exp(-70.0f);
  Random random(103);
  AttentionProblem p(a, KvType::kBF16, {{1, 66}}, random);
  for (std::int64_t key = 0; key < 66; ++key) {
    float* k = p.keys.row(key) + a.q_cols();
    float* v = k + a.k_cols();
    std::fill_n(k, 16, 0.0f);
    std::fill_n(v, 16, 0.0f);
    if (key >= 64) k[0] = 70;
    if (key == 0) v[0] = 2;
    if (key == 0) v[1] = -0.5f;
  }
  std::fill_n(p.rows.row(0), 32, 0.0f);
  p.rows.at(0, 0) = p.rows.at(0, 16) = 1;
  ASSERT_GT(2 * sum, 0x1p-100f);
  ASSERT_LT(0.5f * sum, 0x1p-100f);
  const std::vector<Device> all = attention_devices(KvType::kBF16);
  ASSERT_NO_FATAL_FAILURE(check_canonical(p, all));
  for (const Device& d : all) {
    const Matrix got = p.attend(*d);
    EXPECT_EQ(got.at(0, 0), sum) << d.isa;
    EXPECT_EQ(bits(got.at(0, 1)), 0u) << d.isa;
  }
}

/// The values in the pages: a row that sees only its own key returns that key's value.
Matrix read_values(Backend& backend, const AttentionProblem& p, const Pages& pages) {
  Attention own = p.a;
  own.causal = true;
  own.window = 1;
  const OnDevice rows(backend, p.rows), out(backend, p.rows.rows(), own.q_cols());
  const Batch b = p.batch.get();
  run_step(backend, b,
           [&] { backend.attention(rows.view(), b, own, pages.layer, out.view(), Next::kAnyone); });
  return out.matrix();
}

/// Element `d` of a head, rounded to the KV type.
float rounded(const float* head, std::int64_t head_dim, std::int64_t d, KvType type) {
  const float x = head[d];
  if (type == KvType::kF32) return x;
  if (type == KvType::kF16) return half_to_float(float_to_half(x));
  if (type == KvType::kBF16) return bfloat16_to_float(rounded_bfloat16(x));
  float amax = 0;
  const std::int64_t first = d / 32 * 32;
  for (std::int64_t i = first; i < std::min(first + 32, head_dim); ++i) {
    amax = std::max(amax, std::abs(head[i]));
  }
  return amax < 0x1p-100f ? 0 : std::nearbyint(x * (127 / amax)) * (amax / 127);
}

/// Floats come back unchanged. For integers, a weight of 1 is 127 times its 127th part.
bool comes_back(float got, float want, KvType type) {
  // A sum from +0 makes +0 of a stored -0.
  if (type != KvType::kInt8) return bits(got) == bits(want + 0.0f);
  return std::abs(double{got} - double{want}) <= 4 * kEps * std::abs(double{want});
}

TEST(KvWrite, RoundsToTheType) {
  const float special[] = {0,           -0.0f,      1e-8f,    -6e-8f,    65504,        65519,
                           65520,       -1e6f,      1e38f,    1e-42f,    2.0009765f,   1.00390625f,
                           1.01171875f, 3.3895e38f, 0x1p-48f, -0x1p-48f, 0x1.fffp-49f, -0x1.8p-49f};
  for (const KvType type : kTypes) {
    SCOPED_TRACE(kv_name(type));
    Random random(83);
    const Attention a{.heads = 2, .kv_heads = 2, .head_dim = 20, .scale = 1};
    AttentionProblem p(a, type, {{40, 40}, {3, 3}}, random);
    const std::int64_t v = a.q_cols() + a.k_cols();
    for (std::int64_t d = 0; d < std::ssize(special); ++d) {
      // The scale of the largest element would round the others to 0.
      p.keys.at(35, v + d) = type == KvType::kInt8 ? special[d] * 1e-30f : special[d];
    }
    ReferenceBackend reference;
    std::vector<Backend*> backends{&reference};
    const std::vector<Device> all = devices();
    for (const Device& d : all) backends.push_back(&*d);
    for (Backend* backend : backends) {
      const Pages pages = p.fill_pages(*backend);
      const Matrix got = read_values(*backend, p, pages);
      for (std::int64_t t = 0; t < 43; ++t) {
        for (std::int64_t c = 0; c < 40; ++c) {
          const float want = rounded(p.keys.row(t) + v + c / 20 * 20, 20, c % 20, type);
          ASSERT_TRUE(comes_back(got.at(t, c), want, type))
              << backend->name() << " row " << t << " column " << c << ": " << got.at(t, c)
              << ", not " << want;
        }
      }
    }
  }
}

bool same_pages(const Backend& backend, const Pages& a, const Pages& b) {
  return bytes_of(backend, a.buffer) == bytes_of(backend, b.buffer);
}

TEST(KvWrite, SkipsPaddingAndTouchesNothingElse) {
  for (const KvType type : kTypes) {
    SCOPED_TRACE(kv_name(type));
    Random random(89);
    const Attention a{.heads = 2, .kv_heads = 1, .head_dim = 24, .scale = 1};
    AttentionProblem p(a, type, {{18, 18}, {33, 33}}, random);
    for (const Device& d : devices()) {
      const Pages pages = p.fill_pages(*d);
      // Blocks that no sequence owns are unchanged.
      std::vector<bool> owned(std::size_t(p.batch.pool_blocks()));
      for (const std::int32_t slot : p.slots) owned[std::size_t(slot / kBlockTokens)] = true;
      const std::vector<std::byte> bytes = bytes_of(*d, pages.buffer);
      for (std::size_t b = 0; b < owned.size(); ++b) {
        const std::byte* block = bytes.data() + std::int64_t(b) * pages.layer.block_bytes;
        const bool untouched = std::all_of(block, block + pages.layer.block_bytes,
                                           [](std::byte byte) { return byte == std::byte{0xFF}; });
        EXPECT_EQ(untouched, !owned[b]) << "block " << b;
      }
      // Other values for all rows, but only every third is written: the same pages as when the
      // others are not there at all.
      const Pages want = p.fill_pages(*d);
      Matrix others(p.keys.rows(), p.keys.cols());
      others.fill(random);
      std::vector<std::int32_t> some = p.slots;
      for (std::size_t i = 0; i < some.size(); ++i) {
        if (i % 3 != 0) {
          some[i] = -1;
          continue;
        }
        write_keys(*d, a, want.layer, others.slice(std::int64_t(i), 1), {&p.slots[i], 1});
      }
      write_keys(*d, a, pages.layer, others, some);
      EXPECT_TRUE(same_pages(*d, pages, want)) << d.isa;
      const Matrix got = read_values(*d, p, pages);
      for (std::int64_t t = 0; t < got.rows(); ++t) {
        const Matrix& from = t % 3 == 0 ? others : p.keys;
        for (std::int64_t c = 0; c < a.q_cols(); ++c) {
          const float* head = from.row(t) + a.q_cols() + a.k_cols();
          ASSERT_TRUE(comes_back(got.at(t, c), rounded(head, 24, c % 24, type), type))
              << d.isa << " row " << t;
        }
      }
    }
  }
}

TEST(KvWrite, OneCallOrMany) {
  for (const KvType type : kTypes) {
    Random random(97);
    const Attention a{.heads = 1, .kv_heads = 3, .head_dim = 40, .scale = 1};
    AttentionProblem p(a, type, {{50, 50}}, random);
    for (const Device& d : devices()) {
      const Pages whole = p.fill_pages(*d);
      const Pages single = poisoned_pages(*d, a, type, p.batch.pool_blocks());
      for (std::int64_t t = 49; t >= 0; --t) {
        write_keys(*d, a, single.layer, p.keys.slice(t, 1), {&p.slots[std::size_t(t)], 1});
      }
      EXPECT_TRUE(same_pages(*d, whole, single)) << d.isa << " " << kv_name(type);
    }
  }
}

}  // namespace
}  // namespace ingot::testing
