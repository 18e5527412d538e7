// The type of keys and values follows the layers' matrices, as memory holds them.
#include "model/default_kv_type.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "model/bind.h"
#include "quant/formats.h"
#include "support/random_model.h"

namespace ingot::testing_support {
namespace {

KvType type_of(Format stored, std::optional<Format> weights = {}) {
  const auto checkpoint = make_checkpoint(random_models(stored)[0], 3);
  return default_kv_type(bind_model(*checkpoint), weights);
}

TEST(DefaultKvType, IsBfloat16WhereMatricesAreBfloat16InMemory) {
  EXPECT_EQ(type_of(BF16::kFormat), KvType::kBF16);
  for (const Format other : {F32::kFormat, F16::kFormat, Q8_0::kFormat, Q4_K::kFormat}) {
    EXPECT_EQ(type_of(other), KvType::kF16) << format_name(other);
  }
  EXPECT_EQ(type_of(F32::kFormat, BF16::kFormat), KvType::kBF16);
  EXPECT_EQ(type_of(F16::kFormat, BF16::kFormat), KvType::kBF16);
  EXPECT_EQ(type_of(BF16::kFormat, BF16::kFormat), KvType::kBF16);
  EXPECT_EQ(type_of(BF16::kFormat, F32::kFormat), KvType::kF16);
  EXPECT_EQ(type_of(BF16::kFormat, Q8_0::kFormat), KvType::kF16);
  EXPECT_EQ(type_of(Q8_0::kFormat, BF16::kFormat), KvType::kF16);  // blocks stay as they are
}

TEST(DefaultKvType, EveryFamilyInBfloat16HasIt) {
  for (const RandomModel& model : random_models(BF16::kFormat)) {
    const auto checkpoint = make_checkpoint(model, 3);
    if (model.mixed) continue;
    EXPECT_EQ(default_kv_type(bind_model(*checkpoint), {}), KvType::kBF16) << model.name;
  }
}

/// A bound model with one layer of two matrices. Its embedding is BF16.
class TwoMatrices {
 public:
  TwoMatrices(Format second, std::int64_t rows_of_second) {
    bfloat16_.format = BF16::kFormat;
    other_.format = second;
    bound_.spec.layers = 1;
    bound_.embedding = {.parts = {{.tensor = &bfloat16_, .rows = 1000, .cols = 32}}, .biases = {}};
    BoundLayer& layer = bound_.layers.emplace_back();
    layer.gate_up = {.parts = {{.tensor = &bfloat16_, .rows = 64, .cols = 32}}, .biases = {}};
    layer.down = {.parts = {{.tensor = &other_, .rows = rows_of_second, .cols = 32}}, .biases = {}};
  }
  KvType type() const { return default_kv_type(bound_, {}); }

 private:
  TensorInfo bfloat16_, other_;
  BoundModel bound_;
};

TEST(DefaultKvType, MoreThanHalfOfTheBytesOfTheLayersDecide) {
  EXPECT_EQ(TwoMatrices(F16::kFormat, 63).type(), KvType::kBF16);
  EXPECT_EQ(TwoMatrices(F16::kFormat, 64).type(), KvType::kF16);
  // Bytes, not weights: 34 for 32 weights in Q8_0, 64 in BF16.
  EXPECT_EQ(TwoMatrices(Q8_0::kFormat, 120).type(), KvType::kBF16);
  EXPECT_EQ(TwoMatrices(Q8_0::kFormat, 121).type(), KvType::kF16);
}

}  // namespace
}  // namespace ingot::testing_support
