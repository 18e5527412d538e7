// Profiles of models: the bits of the backend alone, and counts that the layers give.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "backend/profiled_backend.h"
#include "bench/workload.h"
#include "quant/formats.h"
#include "runtime/sampling/digest.h"
#include "support/model_runner.h"
#include "support/random_model.h"

namespace ingot::testing_support {
namespace {

const std::vector<std::vector<std::int32_t>> kPrompts{{1, 2, 3, 4, 5, 6, 7}, {9, 8, 7}};

/// A prefill, a mixed step and two decodes: 10 rows.
const std::vector<std::vector<Chunk>> kSchedule{
    {{0, 4}}, {{0, 1}, {1, 2}}, {{0, 1}, {1, 1}}, {{0, 1}}};

std::string digest_of(ModelRunner& runner) {
  Digest digest;
  for (const auto& rows : runner.run(kPrompts, kSchedule)) digest.add(rows);
  return digest.text();
}

TEST(Profile, ChangesNoBit) {
  for (const Format format : {F32::kFormat, Q8_0::kFormat, Q4_K::kFormat}) {
    for (const RandomModel& model : random_models(format)) {
      SCOPED_TRACE(model.name);
      const auto checkpoint = make_checkpoint(model, 11);
      ModelRunner plain(*checkpoint, {});
      ModelRunner profiled(*checkpoint, {.profile = true});
      EXPECT_EQ(digest_of(profiled), digest_of(plain));
      EXPECT_EQ(profiled.profiled()->profile().steps, 4);
      EXPECT_EQ(plain.profiled(), nullptr);
    }
  }
}

/// The matrices of a step's linears.
std::vector<const Weight*> linears_of(const Model& model) {
  std::vector<const Weight*> all{&model.layer_projection};
  for (const Layer& l : model.layers) {
    all.insert(all.end(),
               {&l.qkv, &l.q_down, &l.q_up, &l.kv_down, &l.attn_out, &l.gate_up, &l.down,
                &l.shared_gate_up, &l.shared_down, &l.shared_router, &l.input_gate, &l.input_out});
  }
  std::erase_if(all, [](const Weight* w) { return !*w; });
  return all;
}

/// How many layers of a model have what `has` looks for.
template <class Has>
std::int64_t layers_with(const Model& model, Has has) {
  return std::count_if(model.layers.begin(), model.layers.end(),
                       [&](const Layer& l) { return static_cast<bool>(has(l)); });
}

std::int64_t sparse_layers(const Model& model) {
  return layers_with(
      model, [](const Layer& l) -> auto& { return l.router; });
}

/// How often an op is called in a step.
std::int64_t calls_of_a_step(OpKind kind, const Model& model) {
  const bool has_inputs = static_cast<bool>(model.layer_embedding);
  switch (kind) {
    case OpKind::kLinear:
      return std::ssize(linears_of(model));
    case OpKind::kLinearHeads:
      return 2 * layers_with(model, [](const Layer& l) { return !l.k_up.empty(); });
    case OpKind::kActivate:
      return layers_with(
                 model, [](const Layer& l) -> auto& { return l.gate_up; }) +
             layers_with(
                 model, [](const Layer& l) -> auto& { return l.shared_gate_up; });
    case OpKind::kGlu:
      return layers_with(
          model, [](const Layer& l) -> auto& { return l.input_gate; });
    case OpKind::kAddGated:
      return layers_with(
          model, [](const Layer& l) -> auto& { return l.shared_router; });
    case OpKind::kMoe:
      return sparse_layers(model);
    case OpKind::kKvWrite:
      return layers_with(model, [](const Layer& l) { return l.attention.writes_kv; });
    case OpKind::kRope:
    case OpKind::kAttention:
      return std::ssize(model.layers);
    case OpKind::kScale:
      return (has_inputs ? 2 : 0) +
             layers_with(model, [](const Layer& l) { return l.scalar != 1; });
    case OpKind::kEmbed:
      return has_inputs ? 2 : 1;
    case OpKind::kGather:
    case OpKind::kLogits:
      return 1;
    case OpKind::kNorm:
    case OpKind::kPool:
    case OpKind::kNormalise:
      break;
  }
  return 0;
}

TEST(Profile, CountsTheOpsOfEveryLayer) {
  std::int64_t sparse_seen = 0;
  for (const RandomModel& model : random_models(Q8_0::kFormat)) {
    SCOPED_TRACE(model.name);
    const auto checkpoint = make_checkpoint(model, 11);
    ModelRunner runner(*checkpoint, {.profile = true});
    runner.run(kPrompts, kSchedule);
    const Model& loaded = runner.executor().model();
    const auto layers = std::ssize(loaded.layers);
    const std::int64_t sparse = sparse_layers(loaded);
    sparse_seen += sparse;
    const StepProfile profile = runner.profiled()->profile();
    EXPECT_EQ(profile.rows, 10);
    for (std::size_t k = 0; k < kOpKinds; ++k) {
      const auto kind = static_cast<OpKind>(k);
      if (kind == OpKind::kNorm) continue;
      const std::int64_t calls = calls_of_a_step(kind, loaded);
      EXPECT_EQ(profile.op(kind).calls, 4 * calls) << to_string(kind);
      EXPECT_EQ(profile.op(kind).rows, 10 * calls) << to_string(kind);
    }
    // Two norms for each layer, two at the end, and norms that only some checkpoints have.
    EXPECT_GE(profile.op(OpKind::kNorm).calls, 4 * (2 * layers + 2));
    EXPECT_EQ(std::ssize(profile.layers), layers);
    double stages = 0;
    for (const OpTotals& stage : profile.moe) {
      EXPECT_EQ(stage.calls, 4 * sparse);
      EXPECT_EQ(stage.seconds > 0, sparse > 0);
      stages += stage.seconds;
    }
    EXPECT_LE(stages, profile.op(OpKind::kMoe).seconds);
  }
  EXPECT_GT(sparse_seen, 0);
}

/// How many linears of a step have weights of a shape, outputs first.
std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> linears_of_a_step(
    const Model& model) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> shapes;
  for (const Weight* w : linears_of(model)) ++shapes[{w->rows, w->cols}];
  return shapes;
}

TEST(Profile, LinearsByShapeAreAllLinears) {
  for (const RandomModel& model : random_models(Q8_0::kFormat)) {
    SCOPED_TRACE(model.name);
    const auto checkpoint = make_checkpoint(model, 11);
    ModelRunner runner(*checkpoint, {.profile = true});
    runner.run(kPrompts, kSchedule);
    auto expected = linears_of_a_step(runner.executor().model());
    const StepProfile profile = runner.profiled()->profile();
    EXPECT_EQ(profile.linears.size(), expected.size());
    double seconds = 0;
    for (const LinearTotals& linear : profile.linears) {
      const std::int64_t calls = expected[{linear.outputs, linear.inputs}];
      EXPECT_EQ(linear.totals.calls, 4 * calls);
      EXPECT_EQ(linear.totals.rows, 10 * calls);
      seconds += linear.totals.seconds;
    }
    EXPECT_NEAR(seconds, profile.op(OpKind::kLinear).seconds, 1e-9);
  }
}

TEST(Profile, StepsByKindAndTheLastOne) {
  const auto checkpoint = make_checkpoint(random_models(Q8_0::kFormat)[0], 11);
  ModelRunner runner(*checkpoint, {.profile = true});
  ProfiledBackend& backend = *runner.profiled();
  runner.run(kPrompts, kSchedule);
  EXPECT_EQ(backend.profile(StepKind::kPrefill).steps, 1);
  EXPECT_EQ(backend.profile(StepKind::kPrefill).rows, 4);
  EXPECT_EQ(backend.profile(StepKind::kMixed).steps, 1);
  EXPECT_EQ(backend.profile(StepKind::kMixed).rows, 3);
  EXPECT_EQ(backend.profile(StepKind::kDecode).steps, 2);
  EXPECT_EQ(backend.profile(StepKind::kDecode).rows, 3);

  backend.clear();
  EXPECT_EQ(backend.profile().steps, 0);
  EXPECT_EQ(backend.profile().op(OpKind::kLinear).calls, 0);
  EXPECT_TRUE(backend.profile().layers.empty() && backend.profile().linears.empty());
  runner.run({{5}}, {{{0, 1}}});
  const StepProfile decode = backend.profile(StepKind::kDecode);
  for (std::size_t k = 0; k < kOpKinds; ++k) {
    EXPECT_EQ(backend.last_step()[k], decode.ops[k].seconds);
  }
}

TEST(Profile, TimesOfPartsAddUpToThoseOfSteps) {
  for (const RandomModel& model : random_models(Q8_0::kFormat)) {
    SCOPED_TRACE(model.name);
    const auto checkpoint = make_checkpoint(model, 11);
    ModelRunner runner(*checkpoint, {.profile = true});
    runner.run(kPrompts, kSchedule);
    const StepProfile profile = runner.profiled()->profile();
    EXPECT_GT(profile.op_seconds(), 0);
    EXPECT_LE(profile.op_seconds(), profile.seconds);
    const OpSeconds outside = profile.outside_layers();
    double layers = 0;
    for (const OpSeconds& layer : profile.layers) {
      layers += std::accumulate(layer.begin(), layer.end(), 0.0);
      // Only what belongs to no layer is left out of all.
      EXPECT_EQ(layer[static_cast<std::size_t>(OpKind::kEmbed)], 0);
      EXPECT_EQ(layer[static_cast<std::size_t>(OpKind::kLogits)], 0);
      EXPECT_GT(layer[static_cast<std::size_t>(OpKind::kAttention)], 0);
      EXPECT_GT(layer[static_cast<std::size_t>(OpKind::kNorm)], 0);
    }
    EXPECT_NEAR(layers + std::accumulate(outside.begin(), outside.end(), 0.0), profile.op_seconds(),
                1e-9);
    for (const OpKind kind : {OpKind::kLinear, OpKind::kActivate, OpKind::kMoe, OpKind::kRope}) {
      // The layers' own inputs are made before the first layer.
      if (kind == OpKind::kLinear && runner.executor().model().layer_projection) continue;
      EXPECT_NEAR(outside[static_cast<std::size_t>(kind)], 0, 1e-9) << to_string(kind);
    }
  }
}

TEST(Profile, AWorkloadsProfileIsOfTheStepsThatItTimes) {
  const auto checkpoint = make_checkpoint(random_models(Q8_0::kFormat)[0], 11);
  const std::vector<Workload> workloads{{Workload::Kind::kDecode, 3, 21, 2},
                                        {Workload::Kind::kPrefill, 9, 21, 1}};
  const WorkloadLimits limits = workload_limits(workloads, false);
  ModelRunner runner(*checkpoint, {.context = limits.context,
                                   .rows = limits.rows,
                                   .sequences = limits.sequences,
                                   .profile = true});
  WorkloadRunner work(
      runner.executor(), false, [] {}, runner.profiled());
  work.prepare(workloads);
  for (int repetition = 0; repetition < 2; ++repetition) {
    const StepProfile decode = work.run(workloads[0]).profile;
    EXPECT_EQ(decode.steps, 3);
    EXPECT_EQ(decode.rows, 6);
    const WorkloadResult prefill = work.run(workloads[1]);
    EXPECT_EQ(prefill.profile.steps, 1);
    EXPECT_EQ(prefill.profile.rows, 9);
    EXPECT_LE(prefill.profile.seconds, prefill.seconds);
  }
}

}  // namespace
}  // namespace ingot::testing_support
