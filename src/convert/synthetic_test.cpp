// Tests of synthetic models: sizes against published ones, formats against common files.
#include "convert/synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

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
  EXPECT_EQ(parameters("gemma-3-1b"), 999'885'952);
  EXPECT_EQ(parameters("olmo-2-7b"), 7'298'617'344);
  EXPECT_EQ(parameters("phi-4"), 14'659'507'200);
  EXPECT_EQ(parameters("command-r7b"), 8'028'033'024);
  EXPECT_EQ(parameters("mixtral-8x7b"), 46'702'792'704);
  EXPECT_EQ(parameters("deepseek-v2-lite"), 15'706'484'224);
  EXPECT_EQ(parameters("gpt-oss-20b"), 20'914'757'184);
  // Without the parts that embeddings do not need.
  EXPECT_EQ(parameters("modernbert-base"), 149'014'272);
  EXPECT_EQ(parameters("bert-base"), 108'891'648);
}

TEST(Synthetic, EveryShapeHasTheTensorsOfItsFamily) {
  for (const SyntheticShape& s : synthetic_shapes()) {
    SCOPED_TRACE(std::string(s.name));
    const SyntheticPlan plan = plan_synthetic(s, *synthetic_recipe("Q8_0"), s.layers, 0);
    std::set<std::string> names;
    for (const ListedTensor& tensor : plan.tensors) {
      EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name << " is listed twice";
    }
    for (const std::string_view extra : s.tensors) {
      const bool listed = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return name.ends_with(extra);
      });
      EXPECT_TRUE(listed) << extra;
    }
    EXPECT_EQ(names.count("output.weight"), s.tied ? 0 : 1);
  }
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
