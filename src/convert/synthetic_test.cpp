// Tests of synthetic models: sizes against published ones, formats against common files.
#include "convert/synthetic.h"

#include <gtest/gtest.h>

#include "quant/formats.h"

namespace ingot {
namespace {

std::int64_t parameters(std::string_view shape) {
  const SyntheticShape* s = find_synthetic_shape(shape);
  std::int64_t sum = 0;
  for (const ListedTensor& tensor :
       plan_synthetic(*s, *synthetic_recipe("Q4_K_M"), s->layers, 0).tensors) {
    sum += tensor.rows() * tensor.cols();
  }
  return sum;
}

// What the models' pages state for their safetensors files.
TEST(Synthetic, HasTheSizesOfRealModels) {
  EXPECT_EQ(parameters("qwen3-0.6b"), 596'049'920);
  EXPECT_EQ(parameters("llama-3.2-1b"), 1'235'814'400);
  EXPECT_EQ(parameters("qwen3-4b"), 4'022'468'096);
  EXPECT_EQ(parameters("qwen3-30b-a3b"), 30'532'122'624);
}

// Expects the formats of the common Q4_K_M file of Qwen3-0.6B: 28 layers, more bits for the head
// and for some of attn_v and ffn_down.
TEST(Synthetic, MixesFormatsAsQuantiseDoes) {
  const SyntheticShape& s = *find_synthetic_shape("qwen3-0.6b");
  const SyntheticPlan plan = plan_synthetic(s, *synthetic_recipe("Q4_K_M"), s.layers, 0);
  const auto format_of = [&](std::string_view name) {
    for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
      if (plan.tensors[i].name == name) return std::string(format_name(plan.formats[i]));
    }
    return std::string("none");
  };
  EXPECT_EQ(format_of("token_embd.weight"), "Q6_K");
  EXPECT_EQ(format_of("blk.0.attn_v.weight"), "Q6_K");
  EXPECT_EQ(format_of("blk.4.attn_v.weight"), "Q4_K");
  EXPECT_EQ(format_of("blk.4.attn_norm.weight"), "F32");
  EXPECT_EQ(format_of("output.weight"), "none");
}

}  // namespace
}  // namespace ingot
