// DrawRows: what a device gets of a choice's parameters, and what the host makes of its draws.
#include "runtime/sampling/draw_rows.h"

#include <gtest/gtest.h>

#include "runtime/sampling/sampler_test_util.h"

namespace ingot::testing {
namespace {

TEST(DrawRows, ADeviceKnowsNoHistoryAndFewFilters) {
  const SamplingParams plain{.logit_bias = {{.id = 3, .bias = 1}},
                             .min_tokens = 4,
                             .end_ids = {2},
                             .allowed_token_ids = {1, 2, 3},
                             .temperature = 0.7f,
                             .top_k = 5,
                             .top_p = 0.9f,
                             .min_p = 0.1f,
                             .logprobs = 3};
  EXPECT_TRUE(can_draw_on_device({.params = &plain}));
  const auto draws_with = [&](auto set) {
    SamplingParams p = plain;
    set(p);
    return can_draw_on_device({.params = &p});
  };
  EXPECT_FALSE(draws_with([](SamplingParams& p) { p.repetition_penalty = 1.1f; }));
  EXPECT_FALSE(draws_with([](SamplingParams& p) { p.presence_penalty = 0.5f; }));
  EXPECT_FALSE(draws_with([](SamplingParams& p) { p.frequency_penalty = -0.5f; }));
  EXPECT_FALSE(draws_with([](SamplingParams& p) { p.dry_multiplier = 0.8f; }));
  const std::vector<std::vector<std::int32_t>> bad_words{{4, 5}};
  EXPECT_FALSE(can_draw_on_device({.params = &plain, .bad_words = bad_words}));
  EXPECT_FALSE(draws_with([](SamplingParams& p) { p.mirostat = 2; }));
  EXPECT_FALSE(draws_with([](SamplingParams& p) { p.top_n_sigma = 1; }));
  EXPECT_FALSE(draws_with([](SamplingParams& p) { p.typical_p = 0.9f; }));
  EXPECT_FALSE(draws_with([](SamplingParams& p) { p.xtc_probability = 0.5f; }));
}

TEST(DrawRows, KeepsEachRowsParametersBiasesAndMask) {
  const SamplingParams first{.logit_bias = {{.id = 3, .bias = 1.5f}, {.id = 9, .bias = kBan}},
                             .temperature = 0.7f,
                             .top_k = -1,
                             .top_p = 0.9f,
                             .min_p = 0.1f,
                             .seed = 77,
                             .choice = 2};
  const SamplingParams second{
      .logit_bias = {{.id = 1, .bias = -2}}, .min_tokens = 6, .end_ids = {0, 33, 99}};
  const std::vector<std::int32_t> allowed{0, 31, 33};
  DrawRows rows(40, 5);
  rows.add({.params = &first, .index = 5});
  rows.add({});
  rows.add({.params = &second, .allowed = allowed, .index = 5});
  rows.add({.params = &second, .index = 5});
  rows.add({.params = &second, .index = 6});
  ASSERT_EQ(rows.rows().size(), 5u);
  const DrawRow& draw = rows.rows()[0];
  EXPECT_EQ(draw.temperature, 0.7f);
  EXPECT_EQ(draw.top_k, 0);
  EXPECT_EQ(draw.top_p, 0.9f);
  EXPECT_EQ(draw.min_p, 0.1f);
  EXPECT_EQ(draw.seed, 77u);
  EXPECT_EQ(draw.choice, 2u);
  EXPECT_EQ(draw.index, 5u);
  EXPECT_EQ(draw.mask, -1);
  ASSERT_EQ(draw.biases, 2);
  EXPECT_EQ(rows.biases()[1].id, 9);
  EXPECT_EQ(rows.biases()[1].bias, kBan);
  EXPECT_EQ(rows.rows()[2].bias_first, 2);
  EXPECT_EQ(rows.biases()[2].id, 1);
  // Masks of 40 ids have two words: ids 0, 31 and 33 without the end tokens, and all but these.
  EXPECT_EQ(rows.rows()[2].mask, 0);
  EXPECT_EQ(rows.rows()[3].mask, 1);
  EXPECT_EQ(rows.rows()[4].mask, -1) << "enough tokens are drawn";
  ASSERT_EQ(rows.masks().size(), 4u);
  EXPECT_EQ(rows.masks()[0], 0x80000000u);
  EXPECT_EQ(rows.masks()[1], 0u);
  EXPECT_EQ(rows.masks()[2], 0xfffffffeu);
  EXPECT_EQ(rows.masks()[3], 0xfffffffdu);
}

TEST(DrawRows, TellWhatTheHostStillNeeds) {
  const SamplingParams silent{.temperature = 1}, scored{.temperature = 1, .logprobs = 0};
  DrawRows rows(8, 3);
  EXPECT_FALSE(rows.has(0)) << "no row is drawn on the device";
  EXPECT_FALSE(rows.is_complete(0));
  rows.add({.params = &silent});
  rows.add({.params = &scored});
  rows.add({});
  EXPECT_TRUE(rows.has(0) && rows.has(1));
  EXPECT_FALSE(rows.has(2)) << "the host draws";
  EXPECT_TRUE(rows.is_complete(0));
  EXPECT_FALSE(rows.is_complete(1)) << "the host reports log-probabilities";
  EXPECT_FALSE(rows.is_complete(2));
  rows.clear();
  EXPECT_FALSE(rows.has(0));
}

/// The host reports the same of a token that it drew and of one that the device drew.
TEST(Sampler, ReportsWhatTheDeviceDrew) {
  TestRow row{.logits = normal_logits(300, 2, 11)};
  row.params = {.logit_bias = {{.id = 7, .bias = 3}}, .temperature = 1, .logprobs = 5};
  ThreadPool pool(1);
  Sampler sampler(pool, *host_kernels().back(), row.vocab(), row.vocab(), 1);
  for (row.index = 0; row.index < 20; ++row.index) {
    const Drawn want = draw(row);
    SampleRow taken = row.row();
    taken.given = want.id;
    Drawn got;
    sampler.sample({&taken, 1}, {&got, 1});
    EXPECT_EQ(got.id, want.id);
    EXPECT_EQ(got.logprob, want.logprob);
    ASSERT_EQ(got.top.size(), want.top.size());
    for (std::size_t i = 0; i < want.top.size(); ++i) {
      EXPECT_EQ(got.top[i].id, want.top[i].id);
      EXPECT_EQ(got.top[i].logprob, want.top[i].logprob);
    }
  }
}

TEST(Sampler, TakesADrawWithoutLogits) {
  ThreadPool pool(1);
  Sampler sampler(pool, *host_kernels().back(), 8, 8, 1);
  const SamplingParams params{.temperature = 1};
  const auto take = [&](std::int32_t given) {
    const SampleRow row{.params = &params, .given = given};
    Drawn drawn{.id = 5, .excludes_all = true, .logprob = 1};
    sampler.sample({&row, 1}, {&drawn, 1});
    EXPECT_EQ(drawn.logprob, 0);
    return drawn;
  };
  EXPECT_EQ(take(3).id, 3);
  EXPECT_FALSE(take(3).excludes_all);
  EXPECT_EQ(take(kNoToken).id, -1);
  EXPECT_FALSE(take(kNoToken).excludes_all);
  EXPECT_EQ(take(kAllExcluded).id, -1);
  EXPECT_TRUE(take(kAllExcluded).excludes_all);
}

TEST(DrawRows, AConstraintsMaskIsTheRowsMask) {
  const SamplingParams params{.min_tokens = 6, .end_ids = {0}};
  const std::vector<std::uint32_t> mask{0x80000001u, 0x3u};
  DrawRows rows(70, 3);
  rows.add({.params = &params, .mask = mask});
  rows.add({.params = &params, .mask = mask, .forced = 64});
  rows.add({.params = &params, .forced = 33});
  ASSERT_EQ(rows.rows().size(), 3u);
  EXPECT_EQ(rows.rows()[0].mask, 0);
  EXPECT_EQ(rows.rows()[1].mask, 1);
  EXPECT_EQ(rows.rows()[2].mask, 2);
  const std::vector<std::uint32_t> want{0x80000001u, 0x3u, 0, 0, 0, 1, 0, 2, 0};
  EXPECT_TRUE(std::equal(rows.masks().begin(), rows.masks().end(), want.begin(), want.end()));
}

}  // namespace
}  // namespace ingot::testing
