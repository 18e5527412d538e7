// Sampling: ties, masks, lost rows, log-probabilities, and what a draw depends on.
#include "runtime/sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "base/text.h"
#include "runtime/sampling/sampler_test_util.h"

namespace ingot::testing {
namespace {

TEST(Sampler, GreedyTakesTheLowerIdOfATie) {
  TestRow row{.logits = {1, 3, 3, 2}};
  EXPECT_EQ(draw(row).id, 1);
  // Ties in other columns and spans of the scan.
  row.logits.assign(2000, 0);
  row.logits[700] = row.logits[317] = row.logits[318] = 5;
  EXPECT_EQ(draw(row).id, 317);
}

TEST(Sampler, IdsPastTheTokenizerAreNeitherDrawnNorReported) {
  TestRow row{.logits = {1, 2, 9, 9}};
  const HostKernels& kernels = *host_kernels().back();
  EXPECT_EQ(draw(row, kernels, 2).id, 1);
  row.params = {.temperature = 2, .logprobs = 20};
  EXPECT_EQ(distribution(row, kernels, 2).size(), 2u);
  for (row.index = 0; row.index < 100; ++row.index) {
    const Drawn drawn = draw(row, kernels, 2);
    EXPECT_LT(drawn.id, 2);
    ASSERT_EQ(drawn.top.size(), 2u);
    EXPECT_EQ(drawn.top[0].id, 1);
    EXPECT_EQ(drawn.top[1].id, 0);
  }
}

TEST(Sampler, ALostRowGivesNothing) {
  const float nan = std::nanf("");
  const auto lost = [](std::vector<float> logits, SamplingParams params, std::int64_t ids) {
    TestRow row{.logits = std::move(logits), .params = std::move(params)};
    row.params.logprobs = 2;
    const HostKernels& kernels = *host_kernels().back();
    return draw(row, kernels, ids).id == -1 && distribution(row, kernels, ids).empty();
  };
  for (const float temperature : {0.0f, 1.0f}) {
    SamplingParams p{.temperature = temperature};
    EXPECT_TRUE(lost({1, nan, 2}, p, 3));
    EXPECT_TRUE(lost({1, 2, nan}, p, 2)) << "beyond the ids";
    EXPECT_TRUE(lost({-kInf, -kInf}, p, 2));
    EXPECT_TRUE(lost({1, kInf}, p, 2));
    EXPECT_TRUE(lost({1, 2, kInf}, p, 2)) << "beyond the ids";
    EXPECT_FALSE(lost({1, -kInf}, p, 2));
    p.min_tokens = 1;
    p.end_ids = {0, 1};
    EXPECT_TRUE(lost({1, 2}, p, 2)) << "all masked";
    EXPECT_TRUE(lost({1, nan, 3}, p, 3)) << "a mask does not hide NaN";
    EXPECT_FALSE(lost({1, 2, 3}, p, 3));
  }
}

TEST(Sampler, EndIdsAreMaskedBeforeMinTokens) {
  TestRow row{.logits = {5, 1, 4}, .params = {.min_tokens = 2, .end_ids = {0, 2}}};
  row.index = 1;
  EXPECT_EQ(draw(row).id, 1);
  row.index = 2;
  EXPECT_EQ(draw(row).id, 0);
}

TEST(Sampler, ALogitThatAChangeMakesInfiniteLosesTheRow) {
  TestRow row{.logits = {1, 3e38f}, .params = {.logit_bias = {{1, 3e38f}}, .temperature = 1}};
  EXPECT_EQ(draw(row).id, -1);
}

/// The definition, in double, over all rows of the head.
double logprob(const std::vector<float>& logits, std::int32_t id) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(double{x} - largest);
  return double{logits[static_cast<std::size_t>(id)]} - largest - std::log(sum);
}

TEST(Sampler, LogprobsAreOfTheUnmodifiedLogitsOverAllRowsOfTheHead) {
  TestRow row{.logits = normal_logits(1000, 2, 3)};
  row.logits[990] = 9;  // no token's
  row.params = {.logit_bias = {{5, 4.0f}, {17, -3.0f}},
                .repetition_penalty = 1.5f,
                .presence_penalty = 1,
                .min_tokens = 1000,
                .end_ids = {17, 40},
                .temperature = 3,
                .logprobs = 4};
  for (std::int32_t id = 0; id < 600; ++id) row.counts.add_generated(id);
  for (row.index = 0; row.index < 300; ++row.index) {
    const Drawn drawn = draw(row, *host_kernels().back(), 980);
    EXPECT_NEAR(drawn.logprob, logprob(row.logits, drawn.id), 2e-6) << drawn.id;
    ASSERT_EQ(drawn.top.size(), 4u);
    for (const TokenScore& score : drawn.top) {
      EXPECT_NEAR(score.logprob, logprob(row.logits, score.id), 2e-6) << score.id;
    }
  }
}

TEST(Sampler, ARowOfTheHeadWithoutAnIdCanBeFarAboveAllOthers) {
  TestRow row{.logits = {3, 200, 5, 300}, .params = {.logprobs = 2}};
  const Drawn drawn = draw(row, *host_kernels().back(), 3);
  EXPECT_EQ(drawn.id, 1);
  EXPECT_EQ(drawn.logprob, -100);
  EXPECT_EQ(drawn.top[1].logprob, -295);
}

TEST(Sampler, TopIsFallingWithTiesToTheLowerIdAndAsLongAsAsked) {
  TestRow row{.logits = std::vector<float>(3000, -1.0f), .params = {.logprobs = 5}};
  row.logits[2000] = row.logits[100] = 2;
  row.logits[30] = row.logits[2900] = row.logits[1500] = row.logits[46] = 1;
  const auto ids = [&] {
    std::string text;
    for (const TokenScore& score : draw(row).top) text += cat(score.id, " ");
    return text;
  };
  EXPECT_EQ(ids(), "100 2000 30 46 1500 ");
  row.params.logprobs = 8;
  EXPECT_EQ(ids(), "100 2000 30 46 1500 2900 0 1 ");
  row.params.logprobs = 0;
  EXPECT_EQ(ids(), "");
  EXPECT_LT(draw(row).logprob, 0);
  row.params.logprobs = -1;
  EXPECT_EQ(ids(), "");
  EXPECT_EQ(draw(row).logprob, 0);
  row.logits = {-kInf, 1, -kInf};
  row.params.logprobs = 20;
  EXPECT_EQ(ids(), "1 0 2 ");
}

TEST(Sampler, DependsOnSeedChoiceAndPositionAndNothingElse) {
  TestRow row{.logits = std::vector<float>(64), .params = {.temperature = 1}};
  const auto draws = [&](std::uint64_t seed, std::uint32_t choice) {
    std::string all;
    row.params.seed = seed;
    row.params.choice = choice;
    for (row.index = 0; row.index < 32; ++row.index) all += cat(draw(row).id, " ");
    return all;
  };
  EXPECT_EQ(draws(1, 0), draws(1, 0));
  EXPECT_NE(draws(1, 0), draws(2, 0));
  EXPECT_NE(draws(1, 0), draws(1, 1));
  EXPECT_NE(draws(1, 0), draws(1ull << 32 | 1, 0));
}

TEST(Sampler, FrequenciesFitTheSoftmaxAtATemperature) {
  constexpr double kTemperature = 0.5;
  constexpr int kDraws = 20000;
  TestRow row{.logits = {0, 1, 2}, .params = {.temperature = kTemperature, .seed = 42}};
  ThreadPool pool(1);
  Sampler sampler(pool, find_host_kernels("scalar"), 3, 3, 1);
  std::array<int, 3> count{};
  for (row.index = 0; row.index < kDraws; ++row.index) {
    const SampleRow sampled = row.row();
    Drawn drawn;
    sampler.sample({&sampled, 1}, {&drawn, 1});
    ++count[static_cast<std::size_t>(drawn.id)];
  }
  double total = 0;
  for (const float x : row.logits) total += std::exp(x / kTemperature);
  double chi_square = 0;
  for (std::size_t id = 0; id < 3; ++id) {
    const double expected = kDraws * std::exp(row.logits[id] / kTemperature) / total;
    chi_square += (count[id] - expected) * (count[id] - expected) / expected;
  }
  EXPECT_LT(chi_square, 27.6);  // 2 degrees of freedom at a probability of 1e-6
}

/// One row of each kind, of a size that is no multiple of anything.
std::vector<TestRow> mixed_rows() {
  const std::vector<SamplingParams> kinds{
      {},
      {.temperature = 0.7f},
      {.temperature = 1, .top_k = 40, .logprobs = 3},
      {.temperature = 0.8f, .top_p = 0.95f, .logprobs = 5},
      {.temperature = 3, .top_p = 0.9f},
      {.temperature = 1.2f, .min_p = 0.02f},
      {.temperature = 1, .typical_p = 0.5f},
      {.temperature = 0.9f, .top_n_sigma = 1.5f, .top_k = 200, .logprobs = 2},
      {.temperature = 1.5f, .mirostat = 2, .xtc_probability = 0.5f, .xtc_threshold = 0.01f},
      {.dry_multiplier = 0.8f, .temperature = 1, .top_p = 0.9f, .logprobs = 1},
      {.repetition_penalty = 1.3f,
       .frequency_penalty = 0.2f,
       .temperature = 1,
       .top_k = 3000,
       .typical_p = 0.9f,
       .top_p = 0.9f,
       .min_p = 0.01f,
       .logprobs = 20},
  };
  std::vector<TestRow> rows;
  for (std::uint64_t i = 0; i < 48; ++i) {
    TestRow row{.logits = normal_logits(5003, i % 3 == 0 ? 1.0f : 3.0f, i)};
    row.params = kinds[i % kinds.size()];
    row.params.seed = i;
    row.index = 3 * i;
    for (std::int32_t id = 0; id < 500; ++id) row.counts.add_generated(id * 7 % 400);
    for (std::int32_t id = 0; id < 500; ++id) row.repeats.add(id * 7 % 40);
    row.surprise_max = 9;
    rows.push_back(std::move(row));
  }
  rows[9].logits[4999] = std::nanf("");
  return rows;
}

std::string drawn_text(const Drawn& drawn) {
  std::string text = cat(drawn.id, " ", std::bit_cast<std::uint32_t>(drawn.logprob), " ",
                         std::bit_cast<std::uint64_t>(drawn.surprise));
  for (const auto& [id, p] : drawn.top) {
    text += cat(" ", id, ":", std::bit_cast<std::uint32_t>(p));
  }
  return text;
}

TEST(Sampler, EveryTableAndNumberOfThreadsDrawsTheSame) {
  auto rows = mixed_rows();
  std::vector<std::string> want;
  for (TestRow& row : rows)
    want.push_back(drawn_text(draw(row, find_host_kernels("scalar"), 5000)));
  for (const HostKernels* kernels : host_kernels()) {
    for (int threads = 1; threads <= 4; ++threads) {
      SCOPED_TRACE(cat(std::string_view(kernels->name), ", ", threads, " threads"));
      ThreadPool pool(threads);
      Sampler sampler(pool, *kernels, 5003, 5000, 48);
      std::vector<Drawn> drawn(rows.size());
      for (int round = 0; round < 2; ++round) {  // the second one with what the first one left
        std::vector<SampleRow> sampled;
        for (TestRow& row : rows) sampled.push_back(row.row());
        sampler.sample(sampled, drawn);
        for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(drawn_text(drawn[i]), want[i]) << i;
      }
    }
  }
}

}  // namespace
}  // namespace ingot::testing
