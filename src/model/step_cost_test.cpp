// Tests of the least cost of steps, against counts by hand.
#include "model/step_cost.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "quant/formats.h"

namespace ingot {
namespace {

/// A weight of one segment that holds `bytes`, without data.
Weight weight(Format format, std::int64_t rows, std::int64_t cols, std::int64_t bytes) {
  Weight w;
  w.rows = rows;
  w.cols = cols;
  w.segments = {{.format = format, .first_row = 0, .rows = rows, .units = 1, .unit_bytes = bytes}};
  return w;
}

/// One layer: 2 query heads and 1 kv head of 8 elements, H = 32, F = 64, V = 10.
Model small_model() {
  Model m;
  Layer& layer = m.layers.emplace_back();
  layer.attention = {.heads = 2, .kv_heads = 1, .head_dim = 8};
  layer.qkv = weight(Q8_0::kFormat, 32, 32, 1000);
  layer.attn_out = weight(Q8_0::kFormat, 32, 16, 500);
  layer.gate_up = weight(F16::kFormat, 128, 32, 8000);
  layer.down = weight(Q4_0::kFormat, 32, 64, 2000);
  m.embedding = weight(Q8_0::kFormat, 10, 32, 400);
  m.own_head = weight(Q6_K::kFormat, 10, 32, 300);
  m.has_head = true;
  return m;
}

StepCost cost_of(const Model& m, std::vector<SequenceRows> parts) {
  const std::vector<KvCost> kv(m.layers.size(), {.token_bytes = 64});
  return step_cost(m, kv, parts);
}

/// Block linears of a row: qkv, attention output, down.
constexpr double kRowInt8 = 2.0 * (32 * 32 + 32 * 16 + 32 * 64);
constexpr double kRowF32 = 2.0 * 128 * 32;
constexpr double kPair = 4.0 * 8 * 2;  // 4 D for each of 2 query heads
constexpr double kLayerBytes = 1000 + 500 + 8000 + 2000;
constexpr double kHeadInt8 = 2.0 * 10 * 32;

TEST(StepCost, OneRowOfDecode) {
  const StepCost cost = cost_of(small_model(), {{.rows = 1, .kv_len = 7, .outputs = 1}});
  EXPECT_EQ(cost.bytes, kLayerBytes + 40 + 300 + 7 * 64);  // one row of ten looked up
  EXPECT_EQ(cost.int8_ops, kRowInt8 + kHeadInt8);
  EXPECT_EQ(cost.f32_ops, kRowF32 + 7 * kPair);
  EXPECT_EQ(cost.bf16_ops, 0);
  EXPECT_EQ(cost.ops(), cost.int8_ops + cost.f32_ops);
}

TEST(StepCost, WeightsAreReadOnceForSeveralSequencesAndKeysOfEach) {
  const StepCost cost = cost_of(small_model(), {{.rows = 1, .kv_len = 7, .outputs = 1},
                                                {.rows = 1, .kv_len = 100, .outputs = 1}});
  EXPECT_EQ(cost.bytes, kLayerBytes + 80 + 300 + 107 * 64);
  EXPECT_EQ(cost.int8_ops, 2 * (kRowInt8 + kHeadInt8));
  EXPECT_EQ(cost.f32_ops, 2 * kRowF32 + 107 * kPair);
}

TEST(StepCost, CausalPairsAreCountedExactlyAndTheHeadForOutputsOnly) {
  // Rows are keys 2, 3 and 4: they see 3 + 4 + 5 keys.
  const StepCost chunk = cost_of(small_model(), {{.rows = 3, .kv_len = 5, .outputs = 0}});
  EXPECT_EQ(chunk.bytes, kLayerBytes + 120 + 5 * 64);
  EXPECT_EQ(chunk.int8_ops, 3 * kRowInt8);
  EXPECT_EQ(chunk.f32_ops, 3 * kRowF32 + 12 * kPair);
}

TEST(StepCost, AWindowLimitsPairsAndKeysRead) {
  Model m = small_model();
  m.layers[0].attention.window = 2;
  // Keys 2, 3 and 4 see two keys each; the first of them is key 1, the last key 4.
  const StepCost cost = cost_of(m, {{.rows = 3, .kv_len = 5, .outputs = 0}});
  EXPECT_EQ(cost.bytes, kLayerBytes + 120 + 4 * 64);
  EXPECT_EQ(cost.f32_ops, 3 * kRowF32 + 6 * kPair);
  // From the start, the first row sees one key only.
  EXPECT_EQ(cost_of(m, {{.rows = 3, .kv_len = 3, .outputs = 0}}).f32_ops, 3 * kRowF32 + 5 * kPair);
}

TEST(StepCost, WithoutCausalityEveryRowSeesTheWholeSequenceOrBothSidesOfItsWindow) {
  Model m = small_model();
  m.layers[0].attention.causal = false;
  EXPECT_EQ(cost_of(m, {{.rows = 4, .kv_len = 4, .outputs = 0}}).f32_ops, 4 * kRowF32 + 16 * kPair);
  m.layers[0].attention.window = 2;  // 2 + 3 + 3 + 2
  EXPECT_EQ(cost_of(m, {{.rows = 4, .kv_len = 4, .outputs = 0}}).f32_ops, 4 * kRowF32 + 10 * kPair);
}

TEST(StepCost, AttentionOverIntegersIsIntegerWork) {
  const Model m = small_model();
  const std::vector<KvCost> kv(m.layers.size(), {.token_bytes = 40, .type = KvType::kInt8});
  const StepCost cost = step_cost(m, kv, std::vector<SequenceRows>{{.rows = 1, .kv_len = 7}});
  EXPECT_EQ(cost.bytes, kLayerBytes + 40 + 7 * 40);
  EXPECT_EQ(cost.int8_ops, kRowInt8 + 7 * kPair);
  EXPECT_EQ(cost.f32_ops, kRowF32);
}

TEST(StepCost, ATiedHeadIsReadOnce) {
  Model m = small_model();
  m.spec.tied = true;
  m.own_head = {};
  const StepCost cost = cost_of(m, {{.rows = 2, .kv_len = 2, .outputs = 1}});
  EXPECT_EQ(cost.bytes, kLayerBytes + 400 + 2 * 64);
  EXPECT_EQ(cost.int8_ops, 2 * kRowInt8 + kHeadInt8);
  EXPECT_EQ(cost_of(m, {{.rows = 2, .kv_len = 2, .outputs = 0}}).bytes, kLayerBytes + 80 + 2 * 64);
}

TEST(StepCost, ExpertsAreReadAsFarAsRowsCanReachThem) {
  Model m = small_model();
  Layer& layer = m.layers[0];
  layer.gate_up = {};
  layer.down = {};
  layer.router = weight(F32::kFormat, 4, 32, 512);
  for (int e = 0; e < 4; ++e) {
    layer.expert_gate_up.push_back(weight(Q8_0::kFormat, 64, 32, 3000));
    // Formats may differ by expert: their mean counts.
    const bool dense = e == 3;
    layer.expert_down.push_back(
        weight(dense ? F16::kFormat : Q8_0::kFormat, 32, 32, dense ? 5000 : 1000));
  }
  m.spec.moe = {.experts = 4, .used = 2};
  const double rest = 1500 + 512;
  const double gate_up = 2.0 * 64 * 32;
  const double down = 2.0 * 32 * 32;
  const StepCost one = cost_of(m, {{.rows = 1, .kv_len = 1, .outputs = 0}});
  EXPECT_EQ(one.bytes, rest + 2 * (3000 + 2000) + 40 + 64);
  EXPECT_EQ(one.int8_ops, 2.0 * (32 * 32 + 32 * 16) + 2 * (gate_up + 0.75 * down));
  EXPECT_EQ(one.f32_ops, 2.0 * 4 * 32 + 2 * 0.25 * down + kPair);
  const StepCost three = cost_of(m, {{.rows = 3, .kv_len = 3, .outputs = 0}});
  EXPECT_EQ(three.bytes, rest + 4 * (3000 + 2000) + 120 + 3 * 64);
}

TEST(StepCost, BiasesAndNormsAreReadToo) {
  Model m = small_model();
  m.layers[0].qkv.bias.buffer = allocate_host(128);
  m.vectors.emplace_back().buffer = allocate_host(256);
  const StepCost cost = cost_of(m, {{.rows = 1, .kv_len = 1, .outputs = 0}});
  EXPECT_EQ(cost.bytes, kLayerBytes + 128 + 256 + 40 + 64);
}

TEST(StepCost, SegmentsCountByTheirOwnFormat) {
  Model m = small_model();
  m.layers[0].qkv.segments = {
      {.format = Q8_0::kFormat, .first_row = 0, .rows = 20, .units = 2, .unit_bytes = 300},
      {.format = BF16::kFormat, .first_row = 20, .rows = 12, .units = 1, .unit_bytes = 700}};
  const StepCost cost = cost_of(m, {{.rows = 1, .kv_len = 1, .outputs = 0}});
  EXPECT_EQ(cost.bytes, kLayerBytes - 1000 + 600 + 700 + 40 + 64);
  EXPECT_EQ(cost.int8_ops, kRowInt8 - 2.0 * 12 * 32);
  EXPECT_EQ(cost.bf16_ops, 2.0 * 12 * 32);
  EXPECT_EQ(cost.f32_ops, kRowF32 + kPair);
  EXPECT_EQ(cost.ops(), cost.int8_ops + cost.bf16_ops + cost.f32_ops);
}

TEST(StepCost, AttentionOverBfloat16KeysIsBfloat16Work) {
  const Model m = small_model();
  const std::vector<KvCost> kv(m.layers.size(), {.token_bytes = 64, .type = KvType::kBF16});
  const StepCost cost = step_cost(m, kv, std::vector<SequenceRows>{{.rows = 1, .kv_len = 7}});
  EXPECT_EQ(cost.bf16_ops, 7 * kPair);
  EXPECT_EQ(cost.f32_ops, kRowF32);
}

TEST(StepCost, ARouterInBfloat16IsFloatWorkAndItsExpertsAreNot) {
  Model m = small_model();
  Layer& layer = m.layers[0];
  layer.gate_up = {};
  layer.down = {};
  layer.router = weight(BF16::kFormat, 4, 32, 256);
  layer.shared_router = weight(BF16::kFormat, 1, 32, 64);
  for (int e = 0; e < 4; ++e) {
    layer.expert_gate_up.push_back(weight(BF16::kFormat, 64, 32, 4096));
    layer.expert_down.push_back(weight(BF16::kFormat, 32, 32, 2048));
  }
  m.spec.moe = {.experts = 4, .used = 2};
  const StepCost cost = cost_of(m, {{.rows = 1, .kv_len = 1, .outputs = 0}});
  EXPECT_EQ(cost.bf16_ops, 2 * 2.0 * (64 * 32 + 32 * 32));
  EXPECT_EQ(cost.f32_ops, 2.0 * (4 + 1) * 32 + kPair);
}

}  // namespace
}  // namespace ingot
