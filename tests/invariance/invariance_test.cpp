// The promises of exactness.md as properties of random models, splits, batches, thread counts and
// cuts: every comparison is of bits.
#include <gtest/gtest.h>

#include <cctype>
#include <iostream>
#include <numeric>
#include <random>

#include "base/full_run_test_util.h"
#include "base/text.h"
#include "quant/formats.h"
#include "support/model_runner.h"
#include "support/random_model.h"

namespace ingot::testing_support {
namespace {

using Prompts = std::vector<std::vector<std::int32_t>>;
using Schedule = std::vector<std::vector<Chunk>>;

#ifdef INGOT_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr KvType kKvTypes[] = {KvType::kF16, KvType::kF32, KvType::kBF16, KvType::kInt8};

/// One model of the product of formats and families, with its own random numbers.
struct Case {
  RandomModel model;
  std::uint64_t seed = 0;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const int rounds = random_runs(1, 20);
  for (std::uint64_t round = 0; round < std::uint64_t(rounds); ++round) {
    for_each_type(Formats{}, [&]<class F>() {
      for (const RandomModel& model : random_models(F::kFormat)) {
        cases.push_back({model, 1000 * round + cases.size()});
      }
    });
  }
  return cases;
}

/// A third of the cases, which has all families and all formats; in a full run, all cases.
std::vector<Case> adapter_cases() {
  const std::vector<Case> all = all_cases();
  if (is_full_run()) return all;
  const std::size_t families = random_models(F32::kFormat).size();
  std::vector<Case> cases;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((i / families + i % families) % 3 == 0) cases.push_back(all[i]);
  }
  return cases;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name = cat(info.param.model.name, "_", info.param.seed);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

class Invariance : public testing::TestWithParam<Case> {
 protected:
  Invariance()
      : rng_(GetParam().seed),
        kv_type_(kKvTypes[GetParam().seed % 4]),
        checkpoint_(make_checkpoint(GetParam().model, GetParam().seed)) {}

  /// Under sanitizers a third of the models stands for all: their kernels take most of the time.
  void SetUp() override {
    if (kSanitized && GetParam().seed % 3 != 0) GTEST_SKIP();
  }

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

class AdapterInvariance : public Invariance {};

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
  const Prompts prompts{prompt(1), prompt(5), prompt(14), prompt(9)};
  ModelRunner solo(*checkpoint_, options());
  const auto expected = solo.run(prompts, whole(prompts));
  ModelRunner runner(*checkpoint_, options(1 + below(3)));
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

/// Four adapters, a list of two and rows without any, in one batch: each sequence has the bits that
/// it has alone, whatever the split, the threads and the kernels.
TEST_P(AdapterInvariance, batch_invariance) {
  const Prompts prompts{prompt(3), prompt(12), prompt(7), prompt(9), prompt(5), prompt(11)};
  const std::vector<std::size_t> lists{1, 0, 2, 5, 4, 3};
  RunnerOptions with = options();
  with.adapters = 4;
  with.adapter_seed = GetParam().seed;
  ModelRunner solo(*checkpoint_, with);
  const auto expected = solo.run(prompts, whole(prompts), Output::kLogits, lists);
  const auto base = ModelRunner(*checkpoint_, options()).run(prompts, whole(prompts));
  with.threads = 1 + below(3);
  with.table = kernel_tables()[to_size(below(std::ssize(kernel_tables())))];
  ModelRunner runner(*checkpoint_, with);
  const auto together = runner.run(prompts, random_schedule(prompts), Output::kLogits, lists);
  for (std::size_t s = 0; s < prompts.size(); ++s) {
    ASSERT_TRUE(all_finite(expected[s])) << "sequence " << s;
    EXPECT_TRUE(same_bits(together[s], expected[s])) << "sequence " << s;
    EXPECT_EQ(same_bits(expected[s], base[s]), lists[s] == 0) << "sequence " << s;
  }
}

/// Rows enough for every number that shares a pass over a panel, and one.
TEST_P(Invariance, isa_invariance) {
  // Sanitized scalar kernels are a hundred times slower.
  if (kSanitized && GetParam().seed % 9 != 0) GTEST_SKIP();
  const Prompts prompts{prompt(19)};
  const Schedule schedule{{{0, 18}}, {{0, 1}}};
  RunnerOptions scalar = options();
  scalar.table = &scalar_kernels();
  const auto expected = ModelRunner(*checkpoint_, scalar).run(prompts, schedule);
  for (const KernelTable* table : kernel_tables()) {
    RunnerOptions other = options(1 + below(3));
    other.table = table;
    const auto rows = ModelRunner(*checkpoint_, other).run(prompts, schedule);
    EXPECT_TRUE(same_bits(rows[0], expected[0])) << table->name;
  }
}

TEST_P(Invariance, stage_invariance) {
  if (checkpoint_->config().layer_input > 0) GTEST_SKIP() << "its layers need token ids";
  const Prompts prompts{prompt(6)};
  ModelRunner complete(*checkpoint_, options());
  const auto expected = complete.run(prompts, whole(prompts));

  const std::int64_t layers = checkpoint_->config().layers;
  std::vector<std::int64_t> cuts{0, 1 + below(layers - 1), layers};
  if (below(2) == 0) cuts.insert(cuts.begin() + 1, below(cuts[1]));  // may be an empty stage
  std::vector<float> rows;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    if (cuts[i] == cuts[i + 1]) continue;
    const bool first = cuts[i] == 0;
    const bool last = cuts[i + 1] == layers;
    RunnerOptions stage = options(1 + below(3));
    stage.model.first_layer = cuts[i];
    stage.model.last_layer = cuts[i + 1];
    stage.model.embedding = first;
    stage.model.head = stage.model.final_norm = last;
    ModelRunner runner(*checkpoint_, stage);
    const Output output = last ? Output::kLogits : Output::kHidden;
    rows = first ? runner.run(prompts, whole(prompts), output)[0]
                 : runner.run_embeddings(rows, random_split(6), output);
  }
  EXPECT_TRUE(same_bits(rows, expected[0])) << "cut at " << cuts[1];
}

INSTANTIATE_TEST_SUITE_P(RandomModels, Invariance, testing::ValuesIn(all_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(RandomModels, AdapterInvariance, testing::ValuesIn(adapter_cases()),
                         case_name);

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

/// Rows wider than one segment of 1,024 columns and a prompt of more than 1,024 keys, which the
/// small models never reach.
TEST(LongSequences, AWideModelAndAThousandKeys) {
  if (kSanitized) GTEST_SKIP() << "takes minutes under sanitizers";
  RandomModel model = random_models(Q4_K::kFormat)[2];
  model.config.layers = 2;
  model.config.hidden = 1280;
  model.config.ffn = 512;
  model.config.context = 2048;
  const auto checkpoint = make_checkpoint(model, 12);
  std::mt19937 rng(3);
  Prompts prompts(1);
  for (int i = 0; i < 1120; ++i) prompts[0].push_back(static_cast<std::int32_t>(rng() % 37));
  RunnerOptions options{.table = &scalar_kernels(), .context = 1120, .rows = 1120, .sequences = 1};
  const auto expected = ModelRunner(*checkpoint, options).run(prompts, whole(prompts));
  ASSERT_TRUE(all_finite(expected[0]));
  for (const KernelTable* table : kernel_tables()) {
    options.table = table;
    options.threads = 2;
    const bool is_scalar = table == &scalar_kernels();
    if (is_scalar && !is_full_run()) continue;  // it made `expected`
    const Schedule cut = is_scalar ? Schedule{{{0, 1023}}, {{0, 97}}}
                                   : Schedule{{{0, 700}}, {{0, 1}}, {{0, 323}}, {{0, 96}}};
    EXPECT_TRUE(same_bits(ModelRunner(*checkpoint, options).run(prompts, cut)[0], expected[0]))
        << table->name;
  }
}

/// A pool that just fits: sequences end and begin, and later ones find other sequences' keys and
/// values in their blocks; one is thrown out half-way and computed again.
TEST(RecycledBlocks, AndRecomputationLeaveTheBitsAlone) {
  for (const RandomModel& model : random_models(Q4_0::kFormat)) {
    SCOPED_TRACE(model.name);
    const auto checkpoint = make_checkpoint(model, 7);
    std::mt19937 rng(11);
    Prompts prompts(6);
    for (std::size_t s = 0; s < prompts.size(); ++s) {
      for (std::size_t i = 0; i < 20 + 7 * s; ++i) {
        prompts[s].push_back(static_cast<std::int32_t>(rng() % 37));
      }
    }
    ModelRunner roomy(*checkpoint, {.context = 64, .sequences = 6});
    const auto expected = roomy.run(prompts, whole(prompts));
    ModelRunner tight(*checkpoint, {.context = 64, .rows = 64, .sequences = 1});
    for (int round = 0; round < 2; ++round) {
      for (std::size_t s = 0; s < prompts.size(); ++s) {
        const auto half = static_cast<std::int32_t>(prompts[s].size() / 2);
        const auto rest = static_cast<std::int32_t>(prompts[s].size()) - half;
        tight.run({prompts[s]}, {{{0, half}}});  // gives all its blocks back
        EXPECT_TRUE(same_bits(tight.run({prompts[s]}, {{{0, half}}, {{0, rest}}})[0], expected[s]))
            << "sequence " << s;
      }
    }
  }
}

TEST(RecycledBlocks, AStepThatDoesNotFitComputesNothing) {
  const auto checkpoint = make_checkpoint(random_models(Q4_0::kFormat)[0], 7);
  ModelRunner runner(*checkpoint, {.context = 32, .rows = 32, .sequences = 1});
  Executor& executor = runner.executor();
  Sequence first(executor.cache());
  first.tokens.assign(32, 1);
  StepPart all{.sequence = &first, .rows = 32, .outputs = 1};
  ASSERT_TRUE(run_next(executor, {&all, 1}));
  Sequence second(executor.cache());
  second.tokens.assign(1, 1);
  StepPart one{.sequence = &second, .rows = 1, .outputs = 1};
  EXPECT_FALSE(run_next(executor, {&one, 1}));
  EXPECT_EQ(second.computed, 0);
  first.blocks.truncate(0);
  EXPECT_TRUE(run_next(executor, {&one, 1}));
}

}  // namespace
}  // namespace ingot::testing_support
