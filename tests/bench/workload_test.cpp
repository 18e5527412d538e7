// Workloads of a benchmark: what they plan for, what they cost, and that their digests are those of
// the model whatever runs beside them.
#include "bench/workload.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "quant/formats.h"
#include "runtime/sampling/digest.h"
#include "support/model_runner.h"
#include "support/random_model.h"

namespace ingot::testing_support {
namespace {

using Kind = Workload::Kind;

/// Rows of a step: few, so that chunks begin and end within sequences.
constexpr std::int32_t kRows = 7;

/// A model that is planned for workloads and no more.
class Planned {
 public:
  Planned(Checkpoint& checkpoint, std::span<const Workload> workloads, bool shared)
      : limits_(workload_limits(workloads, shared)),
        runner_(checkpoint, {.context = limits_.context,
                             .rows = std::min(limits_.rows, kRows),
                             .sequences = limits_.sequences}) {}
  Executor& executor() { return runner_.executor(); }
  bool all_given_back() {
    KvCache& cache = executor().cache();
    for (std::int32_t g = 0; g < cache.groups(); ++g) {
      if (cache.pool(g).free() != cache.pool(g).total()) return false;
    }
    return true;
  }

 private:
  WorkloadLimits limits_;
  ModelRunner runner_;
};

const std::vector<Workload> kMixed{{Kind::kPrefill, 20, 0, 1}, {Kind::kDecode, 3, 21, 1},
                                   {Kind::kDecode, 3, 21, 3},  {Kind::kDecode, 3, 0, 3},
                                   {Kind::kDecode, 3, 48, 2},  {Kind::kPrefill, 9, 21, 1},
                                   {Kind::kPrefill, 9, 21, 3}};

void nothing() {}

TEST(WorkloadLimits, CoverBatchesChunksAndPrefixes) {
  const Workload decode{Kind::kDecode, 128, 0, 8};
  WorkloadLimits limits = workload_limits({&decode, 1}, false);
  EXPECT_EQ(limits.rows, 8);
  EXPECT_EQ(limits.sequences, 8);
  EXPECT_EQ(limits.longest, 128);
  EXPECT_EQ(limits.context, 128);

  const Workload prefill{Kind::kPrefill, 100, 0, 1};
  limits = workload_limits({&prefill, 1}, false);
  EXPECT_EQ(limits.rows, 100);
  EXPECT_EQ(limits.context, 112);

  // Eight prefixes of 1,024 tokens, and beside them what a run writes: 7 blocks a sequence.
  const Workload deep{Kind::kDecode, 100, 1024, 8};
  limits = workload_limits({&deep, 1}, false);
  EXPECT_EQ(limits.rows, 512);
  EXPECT_EQ(limits.longest, 1124);
  EXPECT_EQ(limits.context, 1024 + 112);
  // One prefix is enough, and the longest sequence has to fit.
  limits = workload_limits({&deep, 1}, true);
  EXPECT_EQ(limits.context, 1136);
  const std::vector<Workload> both{deep, {Kind::kPrefill, 16000, 0, 1}};
  EXPECT_EQ(workload_limits(both, false).context, 16000);
  EXPECT_EQ(workload_limits(both, false).sequences, 8);
  // Two prefixes of 512 tokens beside eight sequences of 1,008 tokens in whole blocks.
  const std::vector<Workload> wide{{Kind::kDecode, 1000, 0, 8}, {Kind::kDecode, 4, 512, 2}};
  EXPECT_EQ(workload_limits(wide, false).context, (2 * 512 + 8 * 1008) / 8);
  EXPECT_EQ(workload_limits(wide, true).context, (512 + 8 * 1008) / 8);
}

/// The results of a runner that has prepared no prefixes.
std::vector<WorkloadResult> run_unprepared(Checkpoint& checkpoint, bool shared) {
  Planned planned(checkpoint, kMixed, shared);
  WorkloadRunner runner(planned.executor(), shared, nothing);
  std::vector<WorkloadResult> results;
  for (const Workload& w : kMixed) results.push_back(runner.run(w));
  return results;
}

TEST(WorkloadRunner, DigestsDoNotDependOnPrefixesBatchesOrRepetitions) {
  for (const RandomModel& model : random_models(Q8_0::kFormat)) {
    for (const bool shared : {false, true}) {
      SCOPED_TRACE(cat(model.name, shared ? " shared" : ""));
      const auto checkpoint = make_checkpoint(model, 3);
      const auto alone = run_unprepared(*checkpoint, shared);
      Planned planned(*checkpoint, kMixed, shared);
      {
        WorkloadRunner runner(planned.executor(), shared, nothing);
        runner.prepare(kMixed);
        for (int repetition = 0; repetition < 2; ++repetition) {
          for (std::size_t i = 0; i < kMixed.size(); ++i) {
            const WorkloadResult result = runner.run(kMixed[i]);
            EXPECT_EQ(result.digest, alone[i].digest) << i;
            EXPECT_EQ(result.sequence_digests, alone[i].sequence_digests) << i;
            EXPECT_FALSE(result.mismatch) << i;
            EXPECT_GT(result.seconds, 0);
          }
        }
      }
      EXPECT_TRUE(planned.all_given_back());
      EXPECT_EQ(alone[1].digest, alone[1].sequence_digests[0]);
      EXPECT_EQ(alone[1].sequence_digests[0], alone[2].sequence_digests[0]);
      EXPECT_NE(alone[2].sequence_digests[1], alone[2].sequence_digests[0]);
      EXPECT_NE(alone[2].sequence_digests[1], alone[3].sequence_digests[1]);
      EXPECT_EQ(alone[5].sequence_digests[0], alone[6].sequence_digests[0]);
      EXPECT_NE(alone[6].sequence_digests[1], alone[6].sequence_digests[2]);
    }
  }
}

TEST(WorkloadRunner, ADecodeGoesOnWithTheBestToken) {
  const auto checkpoint = make_checkpoint(random_models(Q8_0::kFormat)[0], 5);
  const Workload w{Kind::kDecode, 6, 0, 1};
  Planned planned(*checkpoint, {&w, 1}, false);
  const WorkloadResult result = WorkloadRunner(planned.executor(), false, nothing).run(w);
  // The same from outside: which of all first tokens it was shows in the digest.
  ModelRunner by_hand(*checkpoint, {});
  int found = 0;
  for (std::int32_t first = 0; first < by_hand.spec().vocab; ++first) {
    Digest digest;
    std::vector<std::int32_t> ids{first};
    std::vector<float> logits;
    for (int i = 0; i < 6; ++i) {
      logits = by_hand.run({ids}, whole({ids}))[0];
      logits.erase(logits.begin(), logits.end() - by_hand.spec().vocab);
      digest.add(logits);
      const auto best = std::max_element(logits.begin(), logits.end());
      ids.push_back(static_cast<std::int32_t>(best - logits.begin()));
    }
    found += digest.text() == result.digest ? 1 : 0;
  }
  EXPECT_EQ(found, 1);
}

TEST(WorkloadRunner, LogitsThatChangeAreAMismatch) {
  const auto checkpoint = make_checkpoint(random_models(F32::kFormat)[2], 5);
  const std::vector<Workload> workloads{{Kind::kDecode, 4, 32, 1}};
  Planned planned(*checkpoint, workloads, false);
  WorkloadRunner runner(planned.executor(), false, nothing);
  runner.prepare(workloads);
  EXPECT_FALSE(runner.run(workloads[0]).mismatch);
  // A bit of a key or value of the prefix that all runs share.
  const KvCache& cache = planned.executor().cache();
  cache.pages(0).data()[1] ^= std::byte{0x40};
  EXPECT_TRUE(runner.run(workloads[0]).mismatch);
}

TEST(WorkloadRunner, NanEndsTheRun) {
  const auto checkpoint = make_checkpoint(random_models(F32::kFormat)[0], 5);
  checkpoint->fill("output_norm.weight", std::byte{0xff});
  const Workload w{Kind::kPrefill, 4, 0, 2};
  Planned planned(*checkpoint, {&w, 1}, false);
  WorkloadRunner runner(planned.executor(), false, nothing);
  try {
    runner.run(w);
    ADD_FAILURE() << "it went on";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kNotFinite);
  }
}

TEST(WorkloadRunner, LooksUpBeforeEveryStep) {
  const auto checkpoint = make_checkpoint(random_models(F32::kFormat)[0], 5);
  const Workload w{Kind::kDecode, 5, 0, 1};
  Planned planned(*checkpoint, {&w, 1}, false);
  int steps = 0;
  WorkloadRunner(planned.executor(), false, [&] { ++steps; }).run(w);
  EXPECT_GE(steps, 5);
}

TEST(WorkloadCost, APrefillIsOneStepAndADecodeOneAToken) {
  const auto checkpoint = make_checkpoint(random_models(Q8_0::kFormat)[0], 5);
  const std::vector<Workload> workloads{{Kind::kPrefill, 40, 3, 2}, {Kind::kDecode, 2, 3, 2}};
  Planned planned(*checkpoint, workloads, false);
  const Model& model = planned.executor().model();
  const KvCache& cache = planned.executor().cache();
  // 2 kv heads of 64 elements, keys and values, F16.
  const std::vector<KvCost> kv(4, {.token_bytes = 2 * 64 * 2 * 2});
  const Peaks peaks{.read_gb_s = 1, .f32_gflop_s = 1000, .int8_gop_s = 1000};

  const SequenceRows all{.rows = 40, .kv_len = 43, .outputs = 1};
  const StepCost prefill = step_cost(model, kv, std::vector{all, all});
  const WorkloadCost one = workload_cost(model, cache, peaks, workloads[0]);
  EXPECT_EQ(one.cost.bytes, prefill.bytes);
  EXPECT_EQ(one.cost.ops(), prefill.ops());
  EXPECT_DOUBLE_EQ(one.ideal_seconds, ideal_seconds(prefill, peaks));

  const SequenceRows first{.rows = 1, .kv_len = 4, .outputs = 1};
  const SequenceRows second{.rows = 1, .kv_len = 5, .outputs = 1};
  StepCost steps = step_cost(model, kv, std::vector{first, first});
  const double seconds = ideal_seconds(steps, peaks);
  const StepCost next = step_cost(model, kv, std::vector{second, second});
  steps += next;
  const WorkloadCost two = workload_cost(model, cache, peaks, workloads[1]);
  EXPECT_EQ(two.cost.bytes, steps.bytes);
  EXPECT_EQ(two.cost.ops(), steps.ops());
  EXPECT_DOUBLE_EQ(two.ideal_seconds, seconds + ideal_seconds(next, peaks));
}

}  // namespace
}  // namespace ingot::testing_support
