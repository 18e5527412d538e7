// The promises of exactness.md as properties of random models, splits, batches, thread counts and
// cuts: every comparison is of bits.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>

#include "base/text.h"
#include "quant/formats.h"
#include "support/model_runner.h"
#include "support/random_model.h"

namespace ingot::testing_support {
namespace {

using Prompts = std::vector<std::vector<std::int32_t>>;
using Schedule = std::vector<std::vector<Chunk>>;

constexpr KvType kKvTypes[] = {KvType::kF16, KvType::kF32, KvType::kBF16};

/// One model of the product of formats and families, with its own random numbers.
struct Case {
  RandomModel model;
  std::uint64_t seed = 0;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const bool full = std::getenv("INGOT_FULL") != nullptr;
  for (std::uint64_t round = 0; round < (full ? 20u : 1u); ++round) {
    for_each_type(Formats{}, [&]<class F>() {
      for (const RandomModel& model : random_models(F::kFormat)) {
        cases.push_back({model, 1000 * round + cases.size()});
      }
    });
  }
  return cases;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name = cat(info.param.model.name, "_", info.param.seed);
  for (char& c : name) {
    if (c == ' ') c = '_';
  }
  return name;
}

class Invariance : public testing::TestWithParam<Case> {
 protected:
  Invariance()
      : rng_(GetParam().seed),
        kv_type_(kKvTypes[GetParam().seed % 3]),
        checkpoint_(make_checkpoint(GetParam().model, GetParam().seed)) {}

  RunnerOptions options(int threads = 1) const { return {.threads = threads, .kv_type = kv_type_}; }
  std::int32_t below(std::int64_t n) {
    return static_cast<std::int32_t>(rng_() % static_cast<std::uint64_t>(n));
  }
  std::vector<std::int32_t> prompt(std::int64_t length) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(length));
    for (std::int32_t& id : ids) id = below(checkpoint_->config().vocab);
    return ids;
  }
  std::vector<std::int32_t> random_split(std::int64_t length) {
    std::vector<std::int32_t> sizes;
    while (length > 0) {
      sizes.push_back(std::min(1 + below(length), 1 + below(17)));
      length -= sizes.back();
    }
    return sizes;
  }
  /// Steps that each take some rows of some sequences, in any order, until all are done.
  Schedule random_schedule(const Prompts& prompts) {
    std::vector<std::int64_t> left;
    for (const auto& p : prompts) left.push_back(std::ssize(p));
    Schedule schedule;
    while (std::accumulate(left.begin(), left.end(), std::int64_t{0}) > 0) {
      std::vector<std::size_t> order(prompts.size());
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), rng_);
      std::vector<Chunk> step;
      for (const std::size_t s : order) {
        if (left[s] == 0 || below(3) == 0) continue;
        const auto rows = std::min<std::int32_t>(1 + below(left[s]), 1 + below(9));
        step.push_back({s, rows});
        left[s] -= rows;
      }
      if (!step.empty()) schedule.push_back(step);
    }
    return schedule;
  }

  std::mt19937_64 rng_;
  KvType kv_type_;
  std::unique_ptr<Checkpoint> checkpoint_;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         __builtin_memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

TEST_P(Invariance, split_invariance) {
  ModelRunner runner(*checkpoint_, options());
  const Prompts prompts{prompt(21)};
  const auto expected = runner.run(prompts, whole(prompts));
  ASSERT_TRUE(all_finite(expected[0]));
  Schedule one_by_one(prompts[0].size(), {{0, 1}});
  EXPECT_TRUE(same_bits(runner.run(prompts, one_by_one)[0], expected[0])) << "token by token";
  Schedule random;
  for (const std::int32_t size : random_split(21)) random.push_back({{0, size}});
  EXPECT_TRUE(same_bits(runner.run(prompts, random)[0], expected[0])) << "random split";
}

TEST_P(Invariance, batch_invariance) {
  ModelRunner runner(*checkpoint_, options());
  const Prompts prompts{prompt(1), prompt(5), prompt(18), prompt(9)};
  const Schedule alone = whole(prompts);
  const auto expected = runner.run(prompts, alone);
  const auto together = runner.run(prompts, random_schedule(prompts));
  for (std::size_t s = 0; s < prompts.size(); ++s) {
    EXPECT_TRUE(same_bits(together[s], expected[s])) << "sequence " << s;
  }
}

TEST_P(Invariance, thread_invariance) {
  const Prompts prompts{prompt(7)};
  ModelRunner one(*checkpoint_, options(1));
  const auto expected = one.run(prompts, whole(prompts));
  for (const int threads : {2, 3}) {
    ModelRunner several(*checkpoint_, options(threads));
    EXPECT_TRUE(same_bits(several.run(prompts, whole(prompts))[0], expected[0])) << threads;
  }
}

TEST_P(Invariance, stage_invariance) {
  const Prompts prompts{prompt(6)};
  ModelRunner complete(*checkpoint_, options());
  const auto expected = complete.run(prompts, whole(prompts));
  const std::int64_t layers = checkpoint_->config().layers;
  const std::int64_t cut = 1 + below(layers - 1);

  RunnerOptions first = options();
  first.model = {.last_layer = cut, .head = false, .final_norm = false};
  ModelRunner head_stage(*checkpoint_, first);
  auto hidden = head_stage.run(prompts, whole(prompts), Output::kHidden);

  RunnerOptions last = options();
  last.model = {.first_layer = cut, .embedding = false};
  ModelRunner tail_stage(*checkpoint_, last);
  const auto logits = tail_stage.run_embeddings(hidden[0], random_split(6), Output::kLogits);
  EXPECT_TRUE(same_bits(logits, expected[0])) << "cut at layer " << cut;
}

INSTANTIATE_TEST_SUITE_P(RandomModels, Invariance, testing::ValuesIn(all_cases()), case_name);

/// Longer than chunks of 64 and windows, where paging and forgetting matter.
TEST(LongSequences, SplitAndBatchInvarianceAcrossChunks) {
  for (const RandomModel& model : random_models(Q8_0::kFormat)) {
    SCOPED_TRACE(model.name);
    const auto checkpoint = make_checkpoint(model, 99);
    ModelRunner runner(*checkpoint, {.kv_type = KvType::kF16, .sequences = 2});
    std::mt19937 rng(5);
    Prompts prompts(2);
    for (std::size_t i = 0; i < 150; ++i)
      prompts[i % 2].push_back(static_cast<std::int32_t>(rng() % 37));
    const auto expected = runner.run(prompts, whole(prompts));
    Schedule cut;
    for (std::int32_t at = 0; at < 75; at += 15) cut.push_back({{1, 15}, {0, 15}});
    const auto together = runner.run(prompts, cut);
    EXPECT_TRUE(same_bits(together[0], expected[0]));
    EXPECT_TRUE(same_bits(together[1], expected[1]));
  }
}

}  // namespace
}  // namespace ingot::testing_support
