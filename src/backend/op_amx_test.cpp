// The kernels for AMX give the bits of the scalar kernels. On machines without AMX, an emulator
// computes their AMX instructions. With AMX, the other tests of ops run these kernels.
#include "backend/op_test_attention.h"

#if defined(INGOT_X86_TABLES) && !defined(INGOT_SANITIZED)
#include <csignal>
#include <string_view>

#include "backend/cpu/isa/amx_emulator_test_util.h"
#include "backend/cpu/table_check.h"

namespace ingot::testing {
namespace {

using testing_support::AmxCounts;
using testing_support::AmxEmulator;

bool machine_has(std::string_view name) {
  const auto all = kernel_tables();
  return std::any_of(all.begin(), all.end(),
                     [&](const auto* table) { return table->name == name; });
}

/// Runs ops with the kernels for AMX, and checks that no thread keeps its tiles.
class AmxKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (machine_has("avx512-amx")) GTEST_SKIP() << "this machine has AMX";
    if (!machine_has("avx512")) GTEST_SKIP() << "these kernels need AVX-512 with VNNI";
    scalar_ = device(scalar_kernels(), 2);
    amx_ = device(avx512_amx_kernels(), 2);
  }
  void TearDown() override { check_released(); }

  /// Compares an op on both tables.
  void check(FunctionRef<Matrix(Backend&)> op) {
    const Matrix want = op(*scalar_);
    EXPECT_TRUE(same_bits(op(*amx_), want));
    check_released();
  }
  void check_released() const {
    const AmxCounts counts = emulator_.counts();
    EXPECT_EQ(counts.configurations, counts.releases);
  }
  std::int64_t products() const { return emulator_.counts().products; }

  AmxEmulator emulator_;
  Device scalar_;
  Device amx_;
};

Matrix product_of(Backend& backend, const Rows& weights, const Matrix& x) {
  backend.plan({.rows = std::int32_t(x.rows()), .cols = x.cols(), .hidden = x.cols()});
  const Weight w = backend.prepare({&weights.view, 1}, {}, Use::kPlain);
  const OnDevice in(backend, x), out(backend, x.rows(), w.rows);
  run_rows(backend, x.rows(), [&] { backend.linear(in.view(), w, out.view()); });
  return out.matrix();
}

TEST_F(AmxKernels, LinearsOfTwoSegments) {
  struct Size {
    std::int64_t rows, outputs;
  };
  // Half a tile, a tile, three tiles, and enough rows for the kernel to unpack panels only once.
  constexpr Size kSizes[] = {{5, 41}, {16, 41}, {39, 137}, {70, 137}};
  amx_ = device(avx512_amx_kernels(), 1);  // with one thread, a call has several of nine panels
  for (const Format format : all_formats()) {
    const bool has_tiles = format == BF16::kFormat || !format_info(format).dense;
    if (!has_tiles || format == Q2_K::kFormat) continue;
    // Where blocks allow it, an odd number of groups: kernels pass two groups at a time.
    const std::int64_t cols = format_info(format).block == 256 ? 1280 : 1120;
    const std::int64_t before = products();
    for (const Size& size : kSizes) {
      SCOPED_TRACE(cat(format_name(format), " T ", size.rows));
      Random random(std::uint64_t(307 + size.rows));
      const Rows weights = random_rows(format, size.outputs, cols, random);
      Matrix x(size.rows, cols);
      x.fill(random);
      check([&](Backend& backend) { return product_of(backend, weights, x); });
    }
    EXPECT_GT(products(), before) << format_name(format);
  }
}

TEST_F(AmxKernels, NumbersOfAllMagnitudes) {
  EXPECT_TRUE(multiplies_as(avx512_amx_kernels(), scalar_kernels()));
  EXPECT_GT(products(), 0);
}

TEST_F(AmxKernels, AttentionOverBfloat16) {
  struct Shape {
    std::int32_t heads, kv_heads, head_dim, value_dim;
    std::vector<TestBatch::Sequence> sequences;
  };
  // Queries of a kv head in one and in two tiles, alone and with queries for vectors after them;
  // values of even and odd numbers of vectors; more keys than a split.
  const Shape shapes[] = {{1, 1, 64, 80, {{5, 40}, {16, 16}, {21, 100}}},
                          {2, 1, 16, 64, {{9, 130}, {33, 70}}},
                          {6, 2, 72, 24, {{3, 65}, {33, 33}}},
                          {40, 2, 48, 32, {{1, 77}, {2, 9}, {7, 64}}},
                          {1, 1, 32, 16, {{17, 1100}}}};
  int choice = 0;
  for (const Shape& shape : shapes) {
    for (const std::int32_t window : {0, 3, 40}) {
      SCOPED_TRACE(cat("N ", shape.heads, " D ", shape.head_dim, " window ", window));
      Random random(std::uint64_t(311 + choice));
      Attention a{.heads = shape.heads,
                  .kv_heads = shape.kv_heads,
                  .head_dim = shape.head_dim,
                  .value_dim = shape.value_dim,
                  .scale = 0.3f,
                  .score_cap = choice % 3 == 1 ? 5.0f : 0.0f,
                  .causal = choice % 4 != 3,
                  .window = window};
      AttentionTerms terms(a, 20, random);
      if (choice % 5 == 0) a.sinks = terms.sinks.view();
      if (choice++ % 2 == 0) a.position_bias = terms.bias.view();
      const AttentionProblem p(a, KvType::kBF16, shape.sequences, random);
      const std::int64_t before = products();
      check([&](Backend& backend) { return p.attend(backend); });
      EXPECT_GT(products(), before);
    }
  }
}

TEST_F(AmxKernels, ValuesThatAreNanOrInf) {
  const Attention a{.heads = 2, .kv_heads = 1, .head_dim = 40, .value_dim = 56, .scale = 0.2f};
  for (const float value : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    const std::int64_t before = products();
    Random random(313);
    AttentionProblem p(a, KvType::kBF16, {{16, 72}}, random);
    p.keys.at(63, a.q_cols() + a.k_cols() + 50) = value;
    check([&](Backend& backend) { return p.attend(backend); });
    EXPECT_GT(products(), before);
  }
}

TEST_F(AmxKernels, PeaksAddUpOverChainsAndRounds) {
  PeakOperands o;
  std::fill_n(o.u, 64, std::uint8_t{5});
  std::fill_n(o.tile_x, 64, std::int8_t{-3});
  std::fill_n(o.tile_w, 32, float_to_bfloat16(5));
  std::fill_n(o.tile_f, 32, float_to_bfloat16(-3));
  const KernelTable& table = avx512_amx_kernels();
  const int lanes = 16 * table.peak_bf16.chains;
  EXPECT_EQ(table.peak_int8_tiles.run(3, o), 3 * lanes * 64 * -15);
  EXPECT_EQ(table.peak_bf16.run(3, o), static_cast<float>(3 * lanes * 32 * -15));
}

/// Gives all tiles 16 rows, except for tile 1, and adds the product of tiles 1 and 2 to tile 0.
[[gnu::target("amx-tile,amx-int8")]] void multiply_rows(std::uint8_t rows_of_tile_1) {
  alignas(64) std::uint8_t shapes[64] = {1};
  for (int t = 0; t < 8; ++t) {
    shapes[16 + 2 * t] = 64;
    shapes[48 + t] = t == 1 ? rows_of_tile_1 : 16;
  }
  __asm__ volatile("ldtilecfg %0\n\ttdpbssd %%tmm2, %%tmm1, %%tmm0\n\ttilerelease" : : "m"(shapes));
}

[[gnu::target("amx-tile")]] void clear_tile_0() { __asm__ volatile("tilezero %tmm0"); }

TEST(AmxEmulator, OtherInstructionsEndTheProcess) {
  if (machine_has("avx512-amx")) GTEST_SKIP() << "this machine has AMX";
  const AmxEmulator emulator;
  const auto killed = ::testing::KilledBySignal(SIGILL);
  EXPECT_EXIT(__asm__ volatile("ud2"), killed, "");
  EXPECT_EXIT(clear_tile_0(), killed, "") << "tiles are not configured";
  constexpr std::uint8_t kRefused[] = {0, 8, 17};
  for (const std::uint8_t rows : kRefused) EXPECT_EXIT(multiply_rows(rows), killed, "") << +rows;
  multiply_rows(16);
  EXPECT_EQ(emulator.counts().products, 1);
  EXPECT_EXIT(clear_tile_0(), killed, "") << "tiles are released";
}

TEST(AmxEmulator, EarlierHandlerComesBack) {
  const auto handler = [] {
    struct sigaction now {};
    sigaction(SIGILL, nullptr, &now);
    return now.sa_handler;
  };
  const auto before = handler();
  {
    const AmxEmulator emulator;
    EXPECT_NE(handler(), before);
  }
  EXPECT_EQ(handler(), before);
}

}  // namespace
}  // namespace ingot::testing
#endif
