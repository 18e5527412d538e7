// kv_read and kv_load: blocks leave their pages as rows and come back, bit for bit, on every
// backend.
#include "backend/kv_rows.h"
#include "backend/op_test_attention.h"
#include "backend/reference/reference_backend.h"

namespace ingot::testing {
namespace {

constexpr KvType kKvTypes[] = {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kInt8};
constexpr std::int32_t kHeadDims[] = {1, 5, 16, 24, 31, 33, 64, 128, kHeadDimLimit};

using Bytes = std::vector<std::byte>;

/// Where the values of a problem are, and how wide.
enum class Values { kAsKeys, kWider, kNarrower, kInKeys };
constexpr Values kValues[] = {Values::kAsKeys, Values::kWider, Values::kNarrower, Values::kInKeys};

/// The width of values beside keys of `head_dim` elements. Values in keys are whole groups of 32.
std::int32_t value_dim(std::int32_t head_dim, Values values) {
  if (values == Values::kWider) return std::min(head_dim + 9, kHeadDimLimit);
  if (values == Values::kNarrower) return (head_dim + 1) / 2;
  return values == Values::kInKeys ? head_dim / 32 * 32 : 0;
}

/// Three sequences, the first of two whole blocks.
AttentionProblem problem(std::int32_t head_dim, KvType type, Random& random,
                         Values values = Values::kAsKeys) {
  const Attention a{.heads = 6,
                    .kv_heads = 3,
                    .head_dim = head_dim,
                    .value_dim = value_dim(head_dim, values),
                    .scale = 1 / std::sqrt(static_cast<float>(head_dim)),
                    .values_in_keys = values == Values::kInKeys};
  return {a, type, {{2, 32}, {1, 17}, {3, 80}}, random};
}

/// Calls visit(head dimension, values) for problems of all kinds.
template <class Visit>
void each_shape(Visit visit) {
  for (const Values values : kValues) {
    for (const std::int32_t head_dim : kHeadDims) {
      // Other kinds need fewer sizes.
      if (values != Values::kAsKeys && head_dim != 33 && head_dim != 64) continue;
      visit(head_dim, values);
    }
  }
}

Bytes read_block(const Backend& backend, const Attention& a, const KvLayer& layer,
                 std::int32_t block) {
  Bytes rows(static_cast<std::size_t>(KvRows(a, layer.type).block_bytes));
  backend.kv_read(a, {&layer, 1}, block, rows);
  return rows;
}

TEST(KvBlocks, WhatIsLoadedIsWhatWasRead) {
  each_shape([](std::int32_t head_dim, Values values) {
    for (const KvType type : kKvTypes) {
      for (const Device& device : devices()) {
        SCOPED_TRACE(cat("D ", head_dim, " values ", static_cast<int>(values), " KV ",
                         kv_name(type), " on ", device.isa));
        Random random(std::uint64_t(head_dim) + 5);
        AttentionProblem p = problem(head_dim, type, random, values);
        const Pages from = p.fill_pages(*device);
        const Pages into = poisoned_pages(*device, p.a, type, from.layer.blocks);
        for (std::int32_t b = 0; b < from.layer.blocks; ++b) {
          const Bytes rows = read_block(*device, p.a, from.layer, b);
          device->kv_load(p.a, {&into.layer, 1}, b, rows);
          ASSERT_EQ(read_block(*device, p.a, into.layer, b), rows) << "block " << b;
        }
        ASSERT_TRUE(same_bits(p.attend(*device, into), p.attend(*device, from)));
      }
    }
  });
}

TEST(KvBlocks, RowsAreTheSameOnEveryBackend) {
  each_shape([](std::int32_t head_dim, Values values) {
    for (const KvType type : kKvTypes) {
      Random random(std::uint64_t(head_dim) + 9);
      AttentionProblem p = problem(head_dim, type, random, values);
      ReferenceBackend reference;
      const Pages judge = p.fill_pages(reference);
      for (const Device& device : devices()) {
        const Pages pages = p.fill_pages(*device);
        for (const std::int32_t key : {0, 16}) {  // blocks of the first sequence
          SCOPED_TRACE(cat("D ", head_dim, " KV ", kv_name(type), " on ", device.isa));
          const std::int32_t block = p.slots[static_cast<std::size_t>(key)] / kBlockTokens;
          ASSERT_EQ(read_block(*device, p.a, pages.layer, block),
                    read_block(reference, p.a, judge.layer, block));
        }
      }
    }
  });
}

TEST(KvBlocks, RowsAreTokensThenKeysAndValuesThenHeads) {
  Random random(3);
  AttentionProblem p = problem(5, KvType::kF32, random);
  const std::vector<Device> all = devices();
  const Pages pages = p.fill_pages(*all[0]);
  const Bytes rows = read_block(*all[0], p.a, pages.layer, p.slots[16] / kBlockTokens);
  const std::int64_t cols = 2 * p.a.k_cols();
  for (std::int64_t t = 0; t < kBlockTokens; ++t) {
    for (std::int64_t i = 0; i < cols; ++i) {
      float value = 0;
      std::memcpy(&value, rows.data() + 4 * (t * cols + i), 4);
      ASSERT_EQ(value, p.keys.at(16 + t, p.a.q_cols() + i)) << "token " << t << " element " << i;
    }
  }
}

TEST(KvBlocks, Int8RowsAreScalesThenSignedBytes) {
  Random random(4);
  AttentionProblem p = problem(33, KvType::kInt8, random);
  const std::vector<Device> all = devices();
  const Pages pages = p.fill_pages(*all[0]);
  const Bytes rows = read_block(*all[0], p.a, pages.layer, p.slots[0] / kBlockTokens);
  ASSERT_EQ(KvRows(p.a, KvType::kInt8).key.bytes, 2 * 4 + 33);
  for (std::int32_t head = 0; head < 6; ++head) {  // heads of the first token
    const std::byte* at = rows.data() + head * 41;
    for (std::int32_t d = 0; d < 33; ++d) {
      float scale = 0;
      std::memcpy(&scale, at + d / 32 * 4, 4);
      const float value = scale * static_cast<float>(std::bit_cast<std::int8_t>(at[8 + d]));
      const float was = p.keys.at(0, p.a.q_cols() + head * 33 + d);
      EXPECT_NEAR(value, was, 0.5001f * scale) << "head " << head << " element " << d;
    }
  }
}

}  // namespace
}  // namespace ingot::testing
