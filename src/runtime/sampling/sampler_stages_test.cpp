// DRY, masks, top_n_sigma, Mirostat and XTC: expected sets and probabilities are made by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/philox.h"
#include "base/text.h"
#include "runtime/sampling/row_sampler.h"
#include "runtime/sampling/sampler_test_util.h"
#include "runtime/sampling/spread.h"

namespace ingot::testing {
namespace {

/// The ids that can be drawn, the likeliest first.
std::string ids_of(TestRow& row) {
  std::string text;
  for (const auto& [id, p] : distribution(row)) text += cat(id, " ");
  return text;
}

/// A row that gives tokens these probabilities at temperature 1.
TestRow row_of(const std::vector<double>& probabilities) {
  TestRow row{.logits = {}, .params = {.temperature = 1}};
  for (const double p : probabilities) row.logits.push_back(static_cast<float>(std::log(p)));
  return row;
}

TEST(TopNSigma, KeepsLogitsNearTheLargest) {
  // Mean 1, variance (9 + 1 + 1 + 9) / 4 = 5.
  EXPECT_NEAR(logit_deviation(std::vector<float>{4, 2, 0, -2}), std::sqrt(5.0), 1e-15);
  TestRow row{.logits = {4, 2, 0, -2}, .params = {.temperature = 1}};
  const auto kept = [&](float sigmas) {
    row.params.top_n_sigma = sigmas;
    return ids_of(row);
  };
  for (const float temperature : {0.5f, 1.0f, 3.0f}) {
    row.params.temperature = temperature;
    EXPECT_EQ(kept(0), "0 1 2 3 ");
    EXPECT_EQ(kept(-1), "0 1 2 3 ");
    EXPECT_EQ(kept(1e-30f), "0 ");
    EXPECT_EQ(kept(0.89f), "0 ");  // the bound is 2.01
    EXPECT_EQ(kept(0.9f), "0 1 ");
    EXPECT_EQ(kept(2), "0 1 2 ");
    EXPECT_EQ(kept(3), "0 1 2 3 ");
    EXPECT_EQ(kept(1000), "0 1 2 3 ");
  }
  // A deviation of exactly 1: a logit at the bound stays.
  row.logits = {2, 0};
  EXPECT_EQ(kept(2), "0 1 ");
  EXPECT_EQ(kept(1.9375f), "0 ");
}

TEST(TopNSigma, ExcludedTokensDoNotCount) {
  TestRow row{.logits = {4, 2, 0, -2, -kInf, 50}, .params = {.temperature = 1, .top_n_sigma = 2}};
  row.params.allowed_token_ids = {0, 1, 2, 3, 4};
  EXPECT_EQ(ids_of(row), "0 1 2 ");
  row = {.logits = {-kInf, 5, -kInf}, .params = {.temperature = 1, .top_n_sigma = 1}};
  EXPECT_EQ(ids_of(row), "1 ");
  row.logits = {1, 1, 1};
  EXPECT_EQ(ids_of(row), "0 1 2 ");
  row.logits = {3e38f, -3e38f, 3e38f};
  EXPECT_EQ(ids_of(row), "0 2 ");
}

TEST(TopNSigma, PenaltiesDoNotChangeTheDeviation) {
  // The deviation is 2.24, so the range is 4.47.
  TestRow row{.logits = {4, 2, 0, -2},
              .params = {.dry_multiplier = 100, .temperature = 1, .top_n_sigma = 2}};
  for (const std::int32_t id : {0, 1, 2, 0, 1}) row.repeats.add(id);
  EXPECT_EQ(ids_of(row), "0 1 ") << "2 repeats";
  row.repeats = RepeatHistory({}, nullptr);
  for (const std::int32_t id : {1, 2, 0, 1, 2}) row.repeats.add(id);
  EXPECT_EQ(ids_of(row), "1 2 3 ") << "0 repeats, and 1 is the largest of the others";
  row.params.dry_multiplier = 0;
  row.params.presence_penalty = 100;
  row.counts.add_generated(2);
  EXPECT_EQ(ids_of(row), "0 1 ");
}

TEST(TopNSigma, ActsBeforeTheOtherFilters) {
  TestRow row{.logits = {4, 2, 0, -2}, .params = {.temperature = 1, .top_n_sigma = 2, .top_k = 2}};
  EXPECT_EQ(ids_of(row), "0 1 ");
  // Token 0 has 0.867 of tokens 0 to 2; tokens 0 and 1 have 0.984.
  row.params.top_k = 0;
  row.params.top_p = 0.95f;
  EXPECT_EQ(ids_of(row), "0 1 ");
}

TEST(Xtc, DropsTheLikelyTokensButTheLeastLikelyOfThem) {
  TestRow row = row_of({0.3, 0.5, 0.05, 0.15});
  row.params.xtc_probability = 1;
  const auto kept = [&](float threshold) {
    row.params.xtc_threshold = threshold;
    return ids_of(row);
  };
  EXPECT_EQ(kept(0.1f), "3 2 ");
  EXPECT_NEAR(distribution(row)[0].probability, 0.75, 1e-6);
  EXPECT_EQ(kept(0.2f), "0 3 2 ");
  EXPECT_EQ(kept(0.4f), "1 0 3 2 ") << "only one is likely";
  EXPECT_EQ(kept(0.51f), "1 0 3 2 ") << "off";
  EXPECT_EQ(kept(0), "2 ") << "all are likely";
  row.params.temperature = 0;
  EXPECT_EQ(kept(0.1f), "1 ") << "greedy";
  row = row_of({0.4, 0.4, 0.2});
  row.params.xtc_probability = 1;
  EXPECT_EQ(kept(0.3f), "1 2 ") << "a tie";
  row.logits = {-kInf, 0, -kInf};
  EXPECT_EQ(kept(0), "1 ");
}

TEST(Xtc, TakesTheProbabilitiesThatTheOtherFiltersLeave) {
  TestRow row = row_of({0.3, 0.5, 0.05, 0.15});
  row.params.top_k = 3;
  row.params.xtc_probability = 1;
  row.params.xtc_threshold = 0.154f;  // 0.15 / 0.95 = 0.158
  EXPECT_EQ(ids_of(row), "3 ");
}

TEST(Xtc, DrawsANumberOfItsOwn) {
  TestRow row = row_of({0.3, 0.5, 0.05, 0.15});
  row.params.xtc_probability = 0.25f;
  row.params.seed = 0x123456789a;
  row.params.choice = 3;
  int acts = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const auto words = philox4x32({i, 0, 3, 1}, {0x3456789a, 0x12});
    const bool want = words[0] < 0x40000000;  // a quarter of all first words
    EXPECT_EQ(xtc_acts(row.params, i), want) << i;
    row.index = i;
    EXPECT_EQ(distribution(row).size(), want ? 2u : 4u) << i;
    acts += want ? 1 : 0;
  }
  EXPECT_GT(acts, 150);
  EXPECT_LT(acts, 350);
  row.params.xtc_probability = 0;
  EXPECT_FALSE(xtc_acts(row.params, 0));
}

TEST(Mirostat, DropsTokensOfMoreSurpriseThanTheLimit) {
  TestRow row = row_of({0.125, 0.5, 0.25, 0.125});  // 3, 1, 2 and 3 bits
  row.params.mirostat = 2;
  const auto kept = [&](double bits) {
    row.surprise_max = bits;
    return ids_of(row);
  };
  EXPECT_EQ(kept(10), "1 2 0 3 ");
  EXPECT_EQ(kept(2.5), "1 2 ");
  EXPECT_EQ(kept(1.5), "1 ");
  EXPECT_EQ(kept(0), "1 ") << "the best one stays";
  EXPECT_EQ(kept(-1e6), "1 ");
  EXPECT_EQ(kept(1e6), "1 2 0 3 ");
}

TEST(Mirostat, TellsTheSurpriseOfTheDrawnToken) {
  TestRow row = row_of({0.125, 0.5, 0.25, 0.125});
  row.params.mirostat = 2;
  row.surprise_max = 2.5;  // leaves 2 / 3 and 1 / 3
  for (row.index = 0; row.index < 20; ++row.index) {
    const Drawn drawn = draw(row);
    EXPECT_NEAR(drawn.surprise, -std::log2(drawn.id == 1 ? 2.0 / 3 : 1.0 / 3), 1e-5);
  }
  row.params.temperature = 0;
  EXPECT_EQ(draw(row).surprise, 0);
}

/// What DRY subtracts from each logit.
std::vector<float> penalties(TestRow& row) {
  row.params.temperature = 1;
  std::vector<float> all(row.logits.size(), kInf);
  const auto tokens = distribution(row);
  for (const auto& [id, p] : tokens) {
    all[static_cast<std::size_t>(id)] = static_cast<float>(std::log(tokens[0].probability / p));
  }
  return all;
}

TEST(Dry, SubtractsMoreForEachFurtherToken) {
  TestRow row{.logits = std::vector<float>(10), .params = {.dry_multiplier = 3, .dry_base = 2}};
  // The last tokens 1 2 5 stood before 9; the last two also before 8.
  for (const std::int32_t id : {1, 2, 5, 9, 3, 2, 5, 8, 1, 2, 5}) row.repeats.add(id);
  const auto check = [&](float of_8, float of_9) {
    const auto found = penalties(row);
    for (std::size_t id = 0; id < found.size(); ++id) {
      EXPECT_NEAR(found[id], id == 8 ? of_8 : id == 9 ? of_9 : 0, 1e-4f) << id;
    }
  };
  check(3, 6);
  row.params.dry_allowed_length = 3;
  check(0, 3);
  row.params.dry_allowed_length = 4;
  check(0, 0);
  row.params.dry_allowed_length = 0;
  check(12, 24);
  row.params.dry_allowed_length = 2;
  row.params.dry_penalty_last_n = 7;
  check(3, 0);
  row.params.dry_penalty_last_n = 0;
  check(0, 0);
  row.params.dry_penalty_last_n = -1;
  row.params.dry_base = 1;
  check(3, 3);
  row.params.dry_multiplier = 0;
  check(0, 0);
}

TEST(Dry, TakesTheLongestRepetitionOfAToken) {
  TestRow row{.logits = std::vector<float>(10), .params = {.dry_multiplier = 1, .dry_base = 2}};
  for (const std::int32_t id : {1, 2, 5, 9, 3, 2, 5, 9, 1, 2, 5}) row.repeats.add(id);
  EXPECT_NEAR(penalties(row)[9], 2, 1e-4);
}

TEST(Dry, StaysFinite) {
  TestRow row{.logits = {0, 1, 0}, .params = {.dry_multiplier = 100, .dry_base = 10}};
  for (int i = 0; i < 300; ++i) row.repeats.add(1);
  EXPECT_EQ(draw(row).id, 0);
  row.params.temperature = 1;
  EXPECT_EQ(ids_of(row), "0 2 ");
  row.logits = {-kInf, 1, -kInf};
  EXPECT_EQ(ids_of(row), "1 ") << "no other token is possible";
}

TEST(Dry, ChangesNoLogprobAndIgnoresIdsThatAreNotDrawn) {
  TestRow row{.logits = {0, 1, 0}, .params = {.dry_multiplier = 1, .logprobs = 1}};
  const Drawn before = draw(row);
  for (const std::int32_t id : {7, 8, 9, 7, 8, 1, 7, 8}) row.repeats.add(id);
  const Drawn after = draw(row);
  EXPECT_EQ(before.id, 1);
  EXPECT_EQ(after.id, 0) << "1 - 1 is a tie";
  EXPECT_EQ(after.top[0].id, 1);
  EXPECT_EQ(after.top[0].logprob, before.logprob);
}

TEST(BadWords, TheLastTokenIsBannedBehindTheOthers) {
  TestRow row{.logits = {0, 5, 4, 3}};
  row.bad_words = {{1}};
  EXPECT_EQ(draw(row).id, 2);
  row.bad_words = {{3, 0, 1}, {2}};
  EXPECT_EQ(draw(row).id, 1) << "nothing was drawn";
  row.drawn = {0};
  EXPECT_EQ(draw(row).id, 1);
  row.drawn = {3, 0};
  EXPECT_EQ(draw(row).id, 3);
  row.drawn = {0, 3, 0};
  EXPECT_EQ(draw(row).id, 3);
  row.drawn = {3, 0, 0};
  EXPECT_EQ(draw(row).id, 1);
  row.bad_words = {{0}, {1}, {2}, {3}};
  const Drawn none = draw(row);
  EXPECT_EQ(none.id, -1);
  EXPECT_TRUE(none.excludes_all);
  row.logits = {-kInf, -kInf, -kInf, -kInf};
  EXPECT_FALSE(draw(row).excludes_all) << "the model allows no token";
}

TEST(AllowedTokenIds, OtherTokensAreNotDrawn) {
  TestRow row{.logits = {9, 5, 8, 6, 9}, .params = {.temperature = 1}};
  const auto allowed = [&](std::vector<std::int32_t> ids) {
    row.params.allowed_token_ids = std::move(ids);
    return ids_of(row);
  };
  EXPECT_EQ(allowed({}), "0 4 2 3 1 ");
  EXPECT_EQ(allowed({1, 3}), "3 1 ");
  EXPECT_EQ(allowed({0}), "0 ");
  EXPECT_EQ(allowed({4}), "4 ");
  EXPECT_EQ(allowed({0, 1, 2, 3, 4}), "0 4 2 3 1 ");
  row.params.logprobs = 1;
  row.params.allowed_token_ids = {1};
  const Drawn drawn = draw(row);
  EXPECT_EQ(drawn.id, 1);
  EXPECT_EQ(drawn.top[0].id, 0) << "log-probabilities are of the unchanged row";
  EXPECT_LT(drawn.logprob, -4);
}

/// Bits of ids.
std::vector<std::uint32_t> bits_of(const std::vector<std::int32_t>& ids, std::size_t words) {
  std::vector<std::uint32_t> mask(words);
  for (const std::int32_t id : ids) mask[static_cast<std::size_t>(id / 32)] |= 1u << (id % 32);
  return mask;
}

TEST(Constraint, AMaskIsTheListOfItsIds) {
  ThreadPool pool(1);
  for (const std::int64_t vocab : {5, 32, 33, 100, 700}) {
    TestRow row{.logits = normal_logits(vocab, 3, 5), .params = {.temperature = 1, .logprobs = 2}};
    row.params.top_p = 0.9f;
    row.params.top_n_sigma = 2;
    row.params.repetition_penalty = 1.3f;
    row.counts.add_generated(4);
    std::vector<std::int32_t> ids;
    for (std::int32_t id = 0; id < vocab; id += 1 + id % 3) ids.push_back(id);
    for (const std::size_t words : {to_size(vocab + 31) / 32, to_size(vocab + 31) / 32 + 1}) {
      const auto mask = bits_of(ids, words);
      for (row.index = 0; row.index < 20; ++row.index) {
        Sampler sampler(pool, *host_kernels().back(), vocab, vocab, 1);
        SampleRow masked = row.row();
        masked.mask = mask;
        Drawn got, want;
        sampler.sample({&masked, 1}, {&got, 1});
        SampleRow listed = row.row();
        listed.allowed = ids;
        sampler.sample({&listed, 1}, {&want, 1});
        EXPECT_EQ(got.id, want.id);
        EXPECT_EQ(got.logprob, want.logprob);
        EXPECT_EQ(got.top[1].id, want.top[1].id) << "of the unchanged row";
        EXPECT_FALSE(got.is_forced);
      }
    }
  }
}

Drawn draw_masked(TestRow& row, const std::vector<std::uint32_t>& mask, std::int32_t forced = -1,
                  std::optional<std::int32_t> given = {}) {
  ThreadPool pool(1);
  Sampler sampler(pool, *host_kernels().back(), row.vocab(), row.vocab(), 1);
  SampleRow masked = row.row();
  masked.mask = mask;
  masked.forced = forced;
  masked.given = given;
  Drawn drawn;
  sampler.sample({&masked, 1}, {&drawn, 1});
  return drawn;
}

/// The mask has the end token, if it may be drawn.
TEST(Constraint, AMaskReplacesTheOtherBans) {
  TestRow row{.logits = {9, 1, 2, 3}, .params = {.min_tokens = 5, .end_ids = {2}}};
  EXPECT_EQ(draw_masked(row, {0b0110}).id, 2);
  EXPECT_EQ(draw_masked(row, {0b0010}).id, 1);
}

TEST(Constraint, ARowThatExcludesAllOfTheMaskGivesItsLowestId) {
  TestRow row{.logits = {5, -kInf, -kInf, 4}, .params = {.temperature = 1, .logprobs = 0}};
  const Drawn drawn = draw_masked(row, {0b0110});
  EXPECT_EQ(drawn.id, 1);
  EXPECT_TRUE(drawn.is_forced);
  EXPECT_FALSE(drawn.excludes_all);
  EXPECT_EQ(drawn.logprob, -kInf);
  row.params.logit_bias = {{.id = 0, .bias = kBan}, {.id = 3, .bias = kBan}};
  const Drawn banned = draw_masked(row, {0b1001});
  EXPECT_EQ(banned.id, 0);
  EXPECT_NEAR(banned.logprob, std::log(1 / (1 + std::exp(-1.0))), 1e-6) << "of the unchanged row";
  EXPECT_EQ(draw_masked(row, {0b0110}, -1, kAllExcluded).id, 1) << "a device that draws";
  EXPECT_EQ(draw_masked(row, {0}).id, -1);
}

TEST(Constraint, AForcedTokenNeedsNoDrawButAValidRow) {
  TestRow row{.logits = {5, 1, -kInf, 5},
              .params = {.temperature = 1, .mirostat = 2, .logprobs = 1}};
  const Drawn drawn = draw_masked(row, {}, 1);
  EXPECT_EQ(drawn.id, 1);
  EXPECT_TRUE(drawn.is_forced);
  EXPECT_EQ(drawn.surprise, 0);
  EXPECT_NEAR(drawn.logprob, -4 - std::log(2 + std::exp(-4.0)), 1e-6);
  ASSERT_EQ(drawn.top.size(), 1u);
  EXPECT_EQ(drawn.top[0].id, 0);
  EXPECT_EQ(draw_masked(row, {0b0100}, 2).id, 2);
  EXPECT_EQ(draw_masked(row, {0b0100}, 2, 2).id, 2) << "a device that draws";
  EXPECT_EQ(draw_masked(row, {0b0100}, 2, kAllExcluded).id, 2);
  EXPECT_EQ(draw_masked(row, {0b0100}, 2, kNoToken).id, -1);
  row.logits[0] = std::nanf("");
  EXPECT_EQ(draw_masked(row, {}, 1).id, -1);
  row.logits[0] = kInf;
  EXPECT_EQ(draw_masked(row, {}, 1).id, -1);
}

}  // namespace
}  // namespace ingot::testing
