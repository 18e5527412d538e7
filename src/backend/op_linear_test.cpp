// linear, embed and logits: every kernel table x format x awkward shape against the reference.
#include "backend/op_test_bounds.h"
#include "backend/op_test_canonical.h"
#include "backend/reference/reference_backend.h"

namespace ingot::testing {
namespace {

/// The formats whose weights are codes in blocks.
std::vector<Format> block_formats() {
  std::vector<Format> formats = all_formats();
  std::erase_if(formats, [](Format format) { return format_info(format).dense; });
  return formats;
}

/// A matrix in parts, perhaps a bias, and input rows.
struct Problem {
  struct Part {
    Format format;
    std::int64_t rows;
  };

  Problem(const std::vector<Part>& shape, std::int64_t cols, std::int64_t inputs, bool with_bias,
          Random& random)
      : x(inputs, cols) {
    for (const Part& part : shape) {
      rows.push_back(random_rows(part.format, part.rows, cols, random));
      parts.push_back(rows.back().view);
      outputs += part.rows;
    }
    for (std::int64_t r = 0; with_bias && r < outputs; ++r) bias.push_back(random.normal());
    x.fill(random);
  }

  StepLimits limits() const {
    return {.rows = std::int32_t(x.rows()), .cols = x.cols(), .hidden = x.cols()};
  }

  std::vector<Rows> rows;
  std::vector<View> parts;
  std::vector<float> bias;
  Matrix x;
  std::int64_t outputs = 0;
};

Matrix multiply(Backend& backend, const Weight& w, const Matrix& x) {
  const OnDevice in(backend, x), out(backend, x.rows(), w.rows);
  run_rows(backend, x.rows(), [&] { backend.linear(in.view(), w, out.view()); });
  return out.matrix();
}

Matrix multiply(Backend& backend, const Problem& p) {
  backend.plan(p.limits());
  return multiply(backend, backend.prepare(p.parts, p.bias, Use::kPlain), p.x);
}

/// Sums of squared errors in units of what quantisation should give.
struct Spread {
  double sum = 0;
  std::int64_t count = 0;
  double rms() const { return count == 0 ? 1 : std::sqrt(sum / double(count)); }
};

void add_errors(const Matrix& got, const Matrix& want, const LinearError& model,
                const std::vector<LinearError::Input>& inputs, Spread& spread) {
  for (std::int64_t t = 0; t < got.rows(); ++t) {
    for (std::int64_t r = 0; r < got.cols(); ++r) {
      const double variance = model.variance(r, inputs[std::size_t(t)]);
      if (variance == 0) continue;
      const double error = double{got.at(t, r)} - double{want.at(t, r)};
      spread.sum += error * error / variance;
      ++spread.count;
    }
  }
}

/// Scalar against the reference, the other tables against scalar.
void check(const std::vector<Device>& all, Problem& p, Spread& spread) {
  ReferenceBackend reference;
  const Matrix want = multiply(reference, p);
  const LinearError model(p.parts);
  std::vector<LinearError::Input> inputs;
  for (std::int64_t t = 0; t < p.x.rows(); ++t) inputs.push_back(model.input(p.x.row(t)));
  const Matrix scalar = multiply(*all[0], p);
  ASSERT_TRUE(within(scalar, want, [&](std::int64_t t, std::int64_t r) {
    const double bias = p.bias.empty() ? 0 : std::abs(double{p.bias[std::size_t(r)]});
    return model.worst(r, inputs[std::size_t(t)]) + 2 * kEps * (bias + std::abs(want.at(t, r)));
  }));
  add_errors(scalar, want, model, inputs, spread);
  for (std::size_t i = 1; i < all.size(); ++i) {
    ASSERT_TRUE(same_bits(multiply(*all[i], p), scalar)) << all[i].isa;
  }
}

class EveryFormat : public ::testing::TestWithParam<Format> {};

INSTANTIATE_TEST_SUITE_P(Linear, EveryFormat, ::testing::ValuesIn(all_formats()),
                         [](const auto& info) { return std::string(format_name(info.param)); });

TEST_P(EveryFormat, LinearOfAwkwardShapes) {
  const FormatInfo& format = format_info(GetParam());
  std::vector<std::int64_t> widths{1, 3, 15, 16, 17, 31, 120, 1023, 1024, 1025, 2049};
  if (format.block == 32) widths = {32, 64, 256, 1024, 1056, 1280, 2080};
  if (format.block == 256) widths = {256, 1024, 1280, 2304};
  std::vector<std::pair<std::int64_t, std::int64_t>> sizes;  // outputs, inputs
  for (std::int64_t m : {1, 15, 16, 17, 31, 33, 64}) sizes.push_back({m, 3});
  for (std::int64_t t : {1, 2, 5, 16, 33}) sizes.push_back({17, t});
  sizes.insert(sizes.end(), {{1, 1}, {33, 2}, {64, 33}});

#ifdef INGOT_SANITIZED
  // The widest ones take most of the time, and go the same ways through the kernels.
  std::erase_if(widths, [](std::int64_t cols) { return cols > 1100; });
#endif

  const std::vector<Device> all = devices();
  Spread spread;
  for (std::uint64_t seed = 0; seed < seeds(); ++seed) {
    for (std::int64_t cols : widths) {
      for (const auto& [outputs, inputs] : sizes) {
        SCOPED_TRACE(cat("seed ", seed, " M ", outputs, " K ", cols, " T ", inputs));
        Random random(seed * 1000003 + std::uint64_t(cols * 10007 + outputs * 101 + inputs));
        Problem p({{GetParam(), outputs}}, cols, inputs, outputs % 2 == 1, random);
        ASSERT_NO_FATAL_FAILURE(check(all, p, spread));
      }
    }
  }
  // A kernel that is wrong within the worst case (a lost scale, a sum that misses a group) is far
  // out of this.
  EXPECT_GT(spread.rms(), format.dense ? 0.99 : 0.7);
  EXPECT_LT(spread.rms(), format.dense ? 1.01 : 1.4);
}

/// Weights and rows of BF16's awkward numbers: below 2^-48, at it, zeros of both signs, and numbers
/// that round to even, to a power of two, or to infinity.
TEST(Linear, RoundedRowsOfAwkwardNumbers) {
  const float awkward[] = {0.0f,        -0.0f,           0x1p-48f,    -0x1.fffffep-49f,
                           0x1.0p-60f,  0x1.01p0f,       0x1.03p0f,   -0x1.01p0f,
                           0x1.ffp3f,   0x1.fe8p3f,      0x1.fep127f, 0x1p-126f,
                           -0x1.8p-47f, 0x1.008002p-40f, 1e-41f,      -3.5f};
  Random random(211);
  for (const std::int64_t cols : {100, 1056}) {
    const bool overflows = cols == 1056;
    Problem p({{BF16::kFormat, 33}}, cols, 37, false, random);
    for (std::int64_t t = 0; t < p.x.rows(); ++t) {
      for (std::int64_t k = 0; k < p.x.cols(); ++k) {
        if (random.below(2) == 0) p.x.row(t)[k] = awkward[random.below(std::size(awkward))];
      }
    }
    if (overflows) p.x.row(5)[70] = 0x1.ffp127f;
    auto* weights = reinterpret_cast<std::uint16_t*>(p.rows[0].bytes.data());
    for (std::size_t i = 0; i < p.rows[0].bytes.size() / 2; i += 3) {
      weights[i] = float_to_bfloat16(awkward[random.below(std::size(awkward))]);
    }
    for (const KernelTable* table : linear_tables()) {
      const Device d = device(*table, 2);
      const Matrix got = multiply(*d, p);
      for (std::int64_t t = 0; t < p.x.rows(); ++t) {
        const canonical::Floats want = canonical::linear(p.parts, {}, canonical::row_of(p.x, t));
        for (std::int64_t r = 0; r < got.cols(); ++r) {
          const float y = want[std::size_t(r)];
          if (overflows && t == 5) {
            ASSERT_TRUE(std::isnan(got.at(t, r))) << d.isa;
          } else {
            ASSERT_TRUE(std::isnan(y) ? std::isnan(got.at(t, r)) : bits(got.at(t, r)) == bits(y))
                << d.isa << " row " << t << " output " << r;
          }
        }
      }
    }
  }
}

TEST(Linear, RowsAreRoundedAlikeByEveryTable) {
  Random random(227);
  std::vector<float> x(4096);
  for (float& v : x) v = std::ldexp(random.normal(), random.below(180) - 90);
  const float special[] = {0x1p-48f,    -0x1.fffffep-49f, 0x1.01p0f, 0x1.03p0f,
                           0x1.fep127f, 0x1.ffp127f,      -0.0f,     std::nanf(""),
                           -INFINITY,   0x1.00fffep3f};
  std::copy(std::begin(special), std::end(special), x.begin() + 7);
  for (const KernelTable* table : tested_tables()) {
    std::vector<std::uint16_t> got(x.size());
    table->round(x.data(), std::ssize(x), got.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(got[i], rounded_bfloat16(x[i])) << table->name << " " << x[i];
    }
  }
}

/// A router of BF16 reads its rows as they are.
TEST(Linear, RoutersDoNotRoundTheirRows) {
  Random random(223);
  Problem p({{BF16::kFormat, 20}}, 70, 3, false, random);
  for (const Device& d : devices()) {
    d->plan(p.limits());
    const Weight router = d->prepare(p.parts, {}, Use::kExact);
    EXPECT_EQ(router.storage.bytes(), d->prepared_bytes(p.parts, false, Use::kExact));
    EXPECT_EQ(d->prepare(p.parts, {}, Use::kPlain).storage.bytes(),
              d->prepared_bytes(p.parts, false, Use::kPlain));
    const Matrix got = multiply(*d, router, p.x);
    for (std::int64_t t = 0; t < 3; ++t) {
      const canonical::Floats want =
          canonical::linear(p.parts, {}, canonical::row_of(p.x, t), Use::kExact);
      for (std::int64_t r = 0; r < 20; ++r) ASSERT_EQ(got.at(t, r), want[std::size_t(r)]) << d.isa;
    }
  }
}

/// Each number of rows is cut into passes in its own way, of which none may leave one out or write
/// beyond them.
TEST_P(EveryFormat, LinearOfEveryNumberOfRows) {
  constexpr std::int64_t kMost = 70;
  Random random(13);
  const std::int64_t cols = format_info(GetParam()).block == 256 ? 1280 : 1056;
  Problem p({{GetParam(), 33}}, cols, kMost, true, random);
  const std::vector<Device> all = devices();
  const Matrix scalar = multiply(*all[0], p);
  for (const Device& d : all) {
    d->plan(p.limits());
    const Weight w = d->prepare(p.parts, p.bias, Use::kPlain);
    const OnDevice in(*d, p.x);
    for (std::int64_t rows = 1; rows <= kMost; ++rows) {
      const Matrix poison(rows + 1, p.outputs);
      const std::vector<float> behind(poison.row(rows), poison.row(rows) + p.outputs);
      const OnDevice out(*d, poison);
      run_rows(*d, rows,
               [&] { d->linear(in.view().slice(0, rows), w, out.view().slice(0, rows)); });
      const Matrix got = out.matrix();
      EXPECT_TRUE(got.gaps_intact());
      EXPECT_EQ(std::memcmp(got.row(rows), behind.data(), behind.size() * sizeof(float)), 0);
      for (std::int64_t t = 0; t < rows; ++t) {
        ASSERT_TRUE(std::equal(got.row(t), got.row(t) + p.outputs, scalar.row(t)))
            << d.isa << ", row " << t << " of " << rows;
      }
    }
  }
}

class EveryBlockFormat : public ::testing::TestWithParam<Format> {};

INSTANTIATE_TEST_SUITE_P(Linear, EveryBlockFormat, ::testing::ValuesIn(block_formats()),
                         [](const auto& info) { return std::string(format_name(info.param)); });

/// Sums of few bits hold the largest products of all of a group, which random numbers do not reach.
TEST_P(EveryBlockFormat, LinearOfTheLargestCodes) {
  const std::vector<Device> all = devices();
  // All bits, those of 8 bits with a sign, and the largest codes of tables, in either plane of
  // four.
  for (const int byte : {0x00, 0x33, 0x77, 0x7F, 0x80, 0xFF}) {
    for (const std::int64_t inputs : {1, 3, 12, 33}) {
      SCOPED_TRACE(cat("byte ", byte, " T ", inputs));
      Random random(static_cast<std::uint64_t>(byte));
      Problem p({{GetParam(), 17}}, 256, inputs, false, random);
      fill_blocks(p.rows[0], static_cast<std::uint8_t>(byte));
      for (std::int64_t t = 0; t < inputs; ++t) {
        std::fill_n(p.x.row(t), p.x.cols(), t % 2 == 0 ? 1.0f : -1.0f);
      }
      const Matrix scalar = multiply(*all[0], p);
      for (const Device& d : all) ASSERT_TRUE(same_bits(multiply(*d, p), scalar)) << d.isa;
    }
  }
}

TEST_P(EveryFormat, LinearRowsThatAreNotFinite) {
  const std::int64_t cols = format_info(GetParam()).block == 256 ? 512 : 96;
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<Device> all = devices();
  for (const float bad : {std::nanf(""), -std::nanf(""), inf, -inf}) {
    for (const std::int64_t at : {std::int64_t{0}, std::int64_t{37}, cols - 1}) {
      SCOPED_TRACE(cat("at ", at));
      Random random(7);
      Problem p({{GetParam(), 21}}, cols, 3, true, random);
      for (const Device& d : all) {
        const Matrix good = multiply(*d, p);
        const float kept = p.x.at(1, at);
        p.x.at(1, at) = bad;
        Matrix got = multiply(*d, p);
        p.x.at(1, at) = kept;
        for (std::int64_t r = 0; r < 21; ++r) {
          // Dense formats: an infinity may reach the output as one.
          const bool dense = format_info(GetParam()).dense;
          EXPECT_FALSE(std::isfinite(got.at(1, r))) << d.isa << " output " << r;
          EXPECT_TRUE(std::isnan(got.at(1, r)) || (dense && std::isinf(bad)));
          got.at(1, r) = good.at(1, r);
        }
        EXPECT_TRUE(same_bits(got, good)) << d.isa;
      }
    }
  }
}

TEST_P(EveryFormat, LinearOfTinyAndHugeInputs) {
  const std::int64_t cols = format_info(GetParam()).block == 256 ? 512 : 96;
  const std::vector<Device> all = devices();
  for (const float size : {0.0f, 1e-45f, 1e-38f, 0x1p-101f, 0x1p-99f, 1e30f}) {
    SCOPED_TRACE(cat("size ", size));
    Random random(11);
    Problem p({{GetParam(), 18}}, cols, 2, false, random);
    // One group stays of ordinary size in the second row.
    for (std::int64_t k = 0; k < cols; ++k) {
      p.x.at(0, k) *= size;
      if (k >= 32) p.x.at(1, k) *= size;
    }
    Spread spread;
    ASSERT_NO_FATAL_FAILURE(check(all, p, spread));
  }
}

TEST_P(EveryFormat, EmbedEqualsDecode) {
  const std::int64_t cols = format_info(GetParam()).block == 256 ? 768 : 96;
  Random random(3);
  for (const Device& d : devices()) {
    // Two neighbours of one format that meet inside a panel, and another format behind.
    Problem p({{GetParam(), 19}, {GetParam(), 30}, {Format{0}, 9}}, cols, 1, false, random);
    const Weight table = d->prepare(p.parts, {}, Use::kPlain);
    Matrix want(58, cols);
    std::int64_t row = 0;
    for (const View& part : p.parts) {
      for (std::int64_t r = 0; r < part.rows; ++r, ++row) {
        decode_row(part.format, part.row_data(r), cols, want.row(row));
      }
    }
    TestBatch batch = plain_batch(58, random);
    std::iota(batch.tokens().rbegin(), batch.tokens().rend(), 0);
    const OnDevice out(*d, 58, cols);
    d->plan({.rows = 58, .cols = cols, .hidden = cols, .vocab = 58});
    run_step(*d, batch.get(), [&] { d->embed(batch.get(), {.tokens = &table}, out.view()); });
    const Matrix got = out.matrix();
    Matrix turned(58, cols);
    for (std::int64_t r = 0; r < 58; ++r) {
      std::copy_n(got.row(57 - r), cols, turned.row(r));
    }
    EXPECT_TRUE(got.gaps_intact());
    EXPECT_TRUE(same_bits(turned, want)) << d.isa;
  }
}

TEST(Embed, GivenRowsAreCopied) {
  Random random(5);
  Matrix rows(7, 33);
  rows.fill(random);
  rows.at(2, 3) = -0.0f;
  TestBatch batch({{.q = 3, .kv_len = 5}, {.q = 4, .kv_len = 4}}, 0, random);
  const std::vector<View> given{rows.view().slice(0, 3), rows.view().slice(3, 4)};
  Batch b = batch.get();
  b.tokens = {};
  b.embeddings = given;
  for (const Device& d : devices()) {
    d->plan({.rows = 7, .cols = 33, .hidden = 33});
    const OnDevice got(*d, 7, 33);
    run_step(*d, b, [&] { d->embed(b, {}, got.view()); });
    EXPECT_TRUE(same_bits(got.matrix(), rows)) << d.isa;
  }
}

TEST(Embed, SequencesOfTokensAndOfGivenRowsShareAStep) {
  Random random(5);
  Problem p({{F32::kFormat, 9}}, 48, 1, false, random);
  Matrix given(2, 48);
  given.fill(random);
  TestBatch batch({{.q = 2, .kv_len = 2}, {.q = 2, .kv_len = 7}, {.q = 1, .kv_len = 1}}, 0, random);
  batch.tokens() = {8, 3, -1, -1, 4};
  const std::vector<View> views{{}, given.view(), {}};
  Batch b = batch.get();
  b.embeddings = views;
  const View table = p.parts[0];
  const std::vector<const float*> want{table.row<float>(8), table.row<float>(3), given.row(0),
                                       given.row(1), table.row<float>(4)};
  for (const Device& d : devices()) {
    d->plan({.rows = 5, .cols = 48, .hidden = 48, .vocab = 9});
    const Weight packed = d->prepare(p.parts, {}, Use::kPlain);
    const OnDevice out(*d, 5, 48);
    run_step(*d, b, [&] { d->embed(b, {.tokens = &packed}, out.view()); });
    const Matrix got = out.matrix();
    for (std::size_t t = 0; t < want.size(); ++t) {
      EXPECT_TRUE(std::equal(want[t], want[t] + 48, got.row(std::int64_t(t)))) << d.isa << t;
    }
  }
}

TEST(Linear, SegmentsOfMixedFormats) {
  const Format q4_k = Q4_K::kFormat;
  const Format q6_k = Q6_K::kFormat;
  const Format q8_0 = Q8_0::kFormat;
  const std::vector<std::vector<Problem::Part>> shapes{
      {{q4_k, 40}, {q6_k, 24}, {q8_0, 17}},
      {{q4_k, 15}, {q4_k, 18}, {q6_k, 1}, {BF16::kFormat, 5}},
      {{F16::kFormat, 1}, {F16::kFormat, 1}, {F16::kFormat, 31}, {F32::kFormat, 2}, {q8_0, 3}}};
  const std::size_t segments[] = {3, 3, 3};
  const std::vector<Device> all = devices();
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    for (const bool with_bias : {false, true}) {
      SCOPED_TRACE(cat("shape ", s, " bias ", with_bias ? 1 : 0));
      Random random(17 + s);
      Problem p(shapes[s], 1280, 5, with_bias, random);
      Spread spread;
      ASSERT_NO_FATAL_FAILURE(check(all, p, spread));
      EXPECT_LT(spread.rms(), 2);
      for (const Device& d : all) {
        const Weight joined = d->prepare(p.parts, p.bias, Use::kPlain);
        EXPECT_EQ(joined.segments.size(), segments[s]);
        EXPECT_EQ(joined.rows, p.outputs);
        const Matrix got = multiply(*d, joined, p.x);
        // Each part alone gives the same columns.
        std::int64_t first = 0;
        for (const View& part : p.parts) {
          std::span<const float> bias(p.bias);
          if (with_bias) bias = bias.subspan(std::size_t(first), std::size_t(part.rows));
          const Matrix alone = multiply(*d, d->prepare({&part, 1}, bias, Use::kPlain), p.x);
          for (std::int64_t t = 0; t < got.rows(); ++t) {
            for (std::int64_t r = 0; r < part.rows; ++r) {
              ASSERT_EQ(bits(got.at(t, first + r)), bits(alone.at(t, r))) << d.isa;
            }
          }
          first += part.rows;
        }
      }
    }
  }
}

TEST(Linear, PreparedBytesAreWhatPrepareTakes) {
  Random random(23);
  for (const Device& d : devices()) {
    for (const Format format : all_formats()) {
      for (const bool with_bias : {false, true}) {
        Problem p({{format, 33}, {format, 1}, {F32::kFormat, 17}}, 512, 1, with_bias, random);
        const Weight w = d->prepare(p.parts, p.bias, Use::kPlain);
        for (View& part : p.parts) part.data = nullptr;
        EXPECT_EQ(d->prepared_bytes(p.parts, with_bias, Use::kPlain),
                  w.storage.bytes() + w.bias.buffer.bytes())
            << format_name(format);
      }
    }
  }
}

/// Host memory with the bytes that `adopt` takes of a weight.
Buffer packed_bytes(const Backend& backend, const Weight& w, std::int64_t bytes) {
  Buffer packed = allocate_host(bytes);
  backend.packed(w, {packed.data(), static_cast<std::size_t>(bytes)});
  return packed;
}

TEST(Linear, PackedBytesMakeEqualWeights) {
  Random random(25);
  Problem p({{Q4_K::kFormat, 17}, {Q4_K::kFormat, 3}, {Q6_K::kFormat, 12}, {F16::kFormat, 8}}, 512,
            3, true, random);
  std::vector<View> shapes = p.parts;
  for (View& part : shapes) part.data = nullptr;
  for (const Device& d : devices()) {
    if (d->packed_layout() == 0) continue;
    for (const Use use : {Use::kPlain, Use::kGated}) {
      for (const bool with_bias : {false, true}) {
        const std::span<const float> bias = with_bias ? p.bias : std::span<const float>{};
        d->plan(p.limits());
        const Weight w = d->prepare(p.parts, bias, use);
        const Buffer bytes = packed_bytes(*d, w, d->prepared_bytes(shapes, false, Use::kPlain));
        const Weight adopted =
            d->adopt(shapes, bias, {bytes.data(), static_cast<std::size_t>(bytes.bytes())}, use);
        EXPECT_EQ(adopted.rows, 40);
        EXPECT_EQ(adopted.cols, 512);
        EXPECT_TRUE(same_bits(multiply(*d, adopted, p.x), multiply(*d, w, p.x)))
            << d.isa << " bias " << with_bias;
      }
    }
  }
}

TEST(Linear, RowsFartherApartThanTheyAreLong) {
  // Input and output may be columns of wider buffers: neighbours stay as they are.
  Random random(29);
  Problem p({{Q8_0::kFormat, 20}}, 64, 3, false, random);
  for (const Device& d : devices()) {
    const Matrix want = multiply(*d, p);
    Matrix wide(3, 64 + 50);
    for (std::int64_t t = 0; t < 3; ++t) std::copy_n(p.x.row(t), 64, wide.row(t) + 25);
    const OnDevice in(*d, wide), out(*d, 3, 20 + 30);
    const Weight w = d->prepare(p.parts, {}, Use::kPlain);
    run_rows(*d, 3, [&] { d->linear(columns(in.view(), 25, 64), w, columns(out.view(), 15, 20)); });
    const Matrix got = out.matrix();
    EXPECT_TRUE(got.gaps_intact());
    for (std::int64_t t = 0; t < 3; ++t) {
      for (std::int64_t c = 0; c < 50; ++c) {
        const bool inside = c >= 15 && c < 35;
        if (inside) {
          EXPECT_EQ(bits(got.at(t, c)), bits(want.at(t, c - 15)));
        } else {
          EXPECT_TRUE(std::isnan(got.at(t, c)));
        }
      }
    }
  }
}

/// The output of `linear_activate`, or if not `fused`, of `linear` and `activate`.
Matrix activated_product(Backend& backend, const Problem& p, Use use, Act act, bool fused) {
  const bool gated = use == Use::kGated;
  const std::int64_t cols = gated ? p.outputs / 2 : p.outputs;
  backend.plan(p.limits());
  const Weight w = backend.prepare(p.parts, p.bias, use);
  const OnDevice in(backend, p.x), between(backend, p.x.rows(), p.outputs),
      out(backend, p.x.rows(), cols);
  run_rows(backend, p.x.rows(), [&] {
    if (fused) {
      backend.linear_activate(in.view(), w, act, gated, between.view(), out.view(), Next::kAnyone);
    } else {
      backend.linear(in.view(), w, between.view());
      backend.activate(between.view(), act, gated, out.view(), Next::kAnyone);
    }
  });
  EXPECT_TRUE(between.matrix().gaps_intact());
  return out.matrix();
}

TEST_P(EveryFormat, LinearActivateIsLinearThenActivate) {
  const std::int64_t cols = format_info(GetParam()).block == 256 ? 512 : 96;
  // Gate and up may have different formats.
  const Format up[] = {GetParam(), F32::kFormat};
  const std::vector<Device> all = devices();
  int choice = 0;
  for (const Format second : up) {
    for (const Use use : {Use::kPlain, Use::kGated}) {
      for (const std::int64_t inputs : {1, 5}) {
        const Act act = static_cast<Act>(choice++ % 3);
        SCOPED_TRACE(cat("gated ", use == Use::kGated ? 1 : 0, " T ", inputs, " act ",
                         static_cast<int>(act)));
        Random random(27);
        Problem p({{GetParam(), 37}, {second, 37}}, cols, inputs, inputs == 5, random);
        for (const Device& d : all) {
          SCOPED_TRACE(d.isa);
          EXPECT_TRUE(same_bits(activated_product(*d, p, use, act, true),
                                activated_product(*d, p, use, act, false)));
        }
      }
    }
  }
}

TEST(Linear, UseDoesNotChangeResults) {
  Random random(28);
  Problem p({{Q4_K::kFormat, 37}, {Q6_K::kFormat, 37}}, 512, 3, true, random);
  for (const Device& d : devices()) {
    d->plan(p.limits());
    const Matrix want = multiply(*d, d->prepare(p.parts, p.bias, Use::kPlain), p.x);
    EXPECT_TRUE(same_bits(multiply(*d, d->prepare(p.parts, p.bias, Use::kGated), p.x), want))
        << d.isa;
  }
}

/// Result spans that `logits` fills.
struct Reduced {
  Reduced(std::int64_t rows, std::int32_t ids_wanted, std::int32_t top_wanted)
      : argmax(std::size_t(rows), -7),
        id_logprobs(std::size_t(rows * ids_wanted)),
        top(std::size_t(rows * top_wanted)) {}
  std::vector<std::int32_t> argmax;
  std::vector<float> id_logprobs;
  std::vector<TokenScore> top;
};

/// log softmax in double of a row of floats, and how far a float evaluation may be from it: the
/// difference to the maximum and the last subtraction are rounded, the sum has V / 16 + 4 roundings
/// and exponentials of 1.5 units in the last place with rounded arguments.
std::pair<double, double> logprob(const Matrix& full, std::int64_t r, std::int32_t id) {
  const float* x = full.row(r);
  const double max = *std::max_element(x, x + full.cols());
  double sum = 0;
  double widest = 0;
  for (std::int64_t c = 0; c < full.cols(); ++c) {
    sum += std::exp(double{x[c]} - max);
    widest = std::max(widest, (max - double{x[c]}) * std::exp(double{x[c]} - max));
  }
  const double value = double{x[id]} - max - std::log(sum);
  const double sum_error = gamma(full.cols() / 16 + 8) + 2 * kEps * widest;
  const double bound = sum_error + 4 * kEps * std::log(sum) +
                       kEps * (std::abs(double{x[id]} - max) + std::abs(value));
  return {value, bound};
}

class Logits : public ::testing::TestWithParam<Format> {};

INSTANTIATE_TEST_SUITE_P(Reducers, Logits,
                         ::testing::Values(F32::kFormat, BF16::kFormat, Q8_0::kFormat,
                                           Q6_K::kFormat, Q4_K::kFormat),
                         [](const auto& info) { return std::string(format_name(info.param)); });

TEST_P(Logits, EveryReducer) {
  constexpr std::int32_t kIds = 3;
  constexpr std::int32_t kTop = 5;
  const std::int64_t cols = 256;
  for (const std::int64_t vocab : {5, 16, 17, 533}) {
    for (const std::int64_t rows : {1, 4}) {
      SCOPED_TRACE(cat("V ", vocab, " R ", rows));
      Random random(31 + std::uint64_t(vocab));
      Problem p({{GetParam(), vocab}}, cols, rows, false, random);
      // Equal head rows give ties: the best one of row 1 stands at two places.
      if (rows > 1) {
        ReferenceBackend reference;
        const Matrix logits = multiply(reference, p);
        const float* x = logits.row(1);
        const std::int64_t best = std::max_element(x, x + vocab) - x;
        const auto row_bytes = std::size_t(p.parts[0].row_bytes);
        std::memcpy(p.parts[0].row_data((best + vocab / 2) % vocab), p.parts[0].row_data(best),
                    row_bytes);
        p.x.at(2, 7) = std::nanf("");
      }
      std::vector<std::int32_t> ids;
      for (std::int64_t i = 0; i < rows * kIds; ++i) ids.push_back(random.below(vocab));

      for (const Device& d : devices()) {
        SCOPED_TRACE(d.isa);
        StepLimits limits = p.limits();
        limits.out_rows = std::int32_t(rows);
        limits.vocab = vocab;
        d->plan(limits);
        const Weight head = d->prepare(p.parts, {}, Use::kPlain);
        const Matrix want = multiply(*d, head, p.x);

        const OnDevice in(*d, p.x), full(*d, rows, vocab);
        Reduced all(rows, kIds, kTop);
        LogitsReduce reduce{.full = full.view(),
                            .argmax = all.argmax,
                            .ids_per_row = kIds,
                            .ids = ids,
                            .id_logprobs = all.id_logprobs,
                            .top_k = kTop,
                            .top = all.top};
        run_logits(*d, in, head, reduce);
        EXPECT_TRUE(same_bits(full.matrix(), want));

        // Equal reductions where no logits are kept whole.
        Reduced some(rows, kIds, kTop);
        reduce.full = {};
        reduce.argmax = some.argmax;
        reduce.id_logprobs = some.id_logprobs;
        reduce.top = some.top;
        run_logits(*d, in, head, reduce);
        EXPECT_EQ(some.argmax, all.argmax);

        for (std::int64_t r = 0; r < rows; ++r) {
          if (r == 2) {
            EXPECT_EQ(all.argmax[2], -1);
            continue;
          }
          const float* x = want.row(r);
          std::vector<std::int32_t> order(std::size_t(vocab), 0);
          std::iota(order.begin(), order.end(), 0);
          std::stable_sort(order.begin(), order.end(),
                           [&](std::int32_t a, std::int32_t b) { return x[a] > x[b]; });
          EXPECT_EQ(all.argmax[std::size_t(r)], order[0]);
          if (r == 1) {
            EXPECT_EQ(bits(x[order[0]]), bits(x[order[1]])) << "the tie is none";
          }
          for (std::size_t i = 0; i < kIds; ++i) {
            const std::size_t at = std::size_t(r) * kIds + i;
            const auto [value, bound] = logprob(want, r, ids[at]);
            EXPECT_NEAR(all.id_logprobs[at], value, bound);
            EXPECT_EQ(bits(some.id_logprobs[at]), bits(all.id_logprobs[at]));
          }
          for (std::size_t i = 0; i < kTop; ++i) {
            const std::size_t at = std::size_t(r) * kTop + i;
            EXPECT_EQ(all.top[at].id, order[i]);
            EXPECT_EQ(some.top[at].id, order[i]);
            const auto [value, bound] = logprob(want, r, order[i]);
            EXPECT_NEAR(all.top[at].logprob, value, bound);
            EXPECT_EQ(bits(some.top[at].logprob), bits(all.top[at].logprob));
          }
        }
      }
    }
  }
}

TEST(Logits, TheFirstRowsAreKeptWholeAndAllAreReduced) {
  constexpr std::int64_t kRows = 21;
  Random random(38);
  Problem p({{Q8_0::kFormat, 70}}, 64, kRows, false, random);
  for (const Device& d : devices()) {
    SCOPED_TRACE(d.isa);
    StepLimits limits = p.limits();
    limits.out_rows = kRows;
    limits.vocab = 70;
    d->plan(limits);
    const Weight head = d->prepare(p.parts, {}, Use::kPlain);
    const Matrix want = multiply(*d, head, p.x);
    const OnDevice in(*d, p.x);
    for (const std::int64_t whole : {std::int64_t{1}, std::int64_t{2}, std::int64_t{17}, kRows}) {
      const OnDevice out(*d, whole, 70);
      std::vector<std::int32_t> best(kRows, -7);
      run_logits(*d, in, head, {.full = out.view(), .argmax = best});
      const Matrix full = out.matrix();
      EXPECT_TRUE(full.gaps_intact());
      for (std::int64_t r = 0; r < kRows; ++r) {
        const float* x = want.row(r);
        EXPECT_EQ(best[std::size_t(r)], std::max_element(x, x + 70) - x);
        if (r < whole) {
          EXPECT_EQ(std::memcmp(full.row(r), x, 70 * sizeof(float)), 0) << r;
        }
      }
    }
  }
}

TEST(Logits, OneReducerAlone) {
  Random random(37);
  Problem p({{F32::kFormat, 100}}, 48, 2, false, random);
  ReferenceBackend reference;
  const Matrix want = multiply(reference, p);
  for (const Device& d : devices()) {
    StepLimits limits = p.limits();
    limits.out_rows = 2;
    limits.vocab = 100;
    d->plan(limits);
    const Weight head = d->prepare(p.parts, {}, Use::kPlain);
    const OnDevice in(*d, p.x);
    std::vector<TokenScore> top(2);
    run_logits(*d, in, head, {.top_k = 1, .top = top});
    std::vector<TokenScore> ranked(2);
    run_logits(*d, in, head, {.top_k = 1, .ranked = top[0].id + 1, .top = ranked});
    EXPECT_EQ(ranked[0].id, top[0].id);
    if (top[0].id > 0) {
      run_logits(*d, in, head, {.top_k = 1, .ranked = top[0].id, .top = ranked});
      EXPECT_LT(ranked[0].id, top[0].id);
      EXPECT_LT(ranked[0].logprob, top[0].logprob);
    }
    std::vector<std::int32_t> best(2);
    run_logits(*d, in, head, {.argmax = best});
    for (std::size_t r = 0; r < 2; ++r) {
      const float* x = want.row(std::int64_t(r));
      EXPECT_EQ(best[r], std::max_element(x, x + 100) - x);
      EXPECT_EQ(top[r].id, best[r]);
    }
  }
}

/// Rows of a tile one after the other.
std::vector<QuantisedGroup> quantised_one_by_one(const KernelTable& table, Matrix& x) {
  std::vector<QuantisedGroup> groups(static_cast<std::size_t>(x.view().cols / kGroup));
  for (int row = 0; row < kTileRows; ++row) {
    table.quantise(x.row(row), x.view().cols, row, groups.data(), nullptr);
  }
  return groups;
}

TEST(QuantisedTile, IsWhatItsRowsAreOneByOne) {
  const float corners[] = {0.0f,
                           0x1p-101f,
                           0x1p-100f,
                           3e38f,
                           std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN()};
  for (const KernelTable* table : kernel_tables()) {
    if (table->quantise_tile == nullptr) continue;
    Random random(233);
    for (const std::int64_t groups : {1, 4, 7, 16}) {
      for (const float corner : corners) {
        SCOPED_TRACE(cat(table->name, " ", groups, " groups, one of ", corner));
        Matrix x(kTileRows, groups * kGroup);
        x.fill(random);
        const std::int64_t row = random.below(kTileRows),
                           group = random.below(static_cast<int>(groups));
        std::fill_n(x.row(row) + group * kGroup, kGroup, corner);
        std::vector<QuantisedGroup> together(static_cast<std::size_t>(groups));
        table->quantise_tile(x.row(0), x.row(1) - x.row(0), x.view().cols, together.data());
        const std::vector<QuantisedGroup> alone = quantised_one_by_one(*table, x);
        EXPECT_EQ(
            std::memcmp(together.data(), alone.data(), together.size() * sizeof(QuantisedGroup)),
            0);
      }
    }
  }
}

}  // namespace
}  // namespace ingot::testing
