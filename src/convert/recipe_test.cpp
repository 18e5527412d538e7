// Tests of the recipes: against files of the reference tool, known models, and odd row lengths.
#include "convert/recipe.h"

#include <gtest/gtest.h>

#include <set>

#include "base/shared_data_test_util.h"
#include "load/checkpoint.h"
#include "quant/formats.h"

namespace ingot {
namespace {

ListedTensor tensor(TensorRole role, std::int64_t layer = 0,
                    std::vector<std::int64_t> shape = {8, 512}) {
  return {.name = "t",
          .role = role,
          .layer = layer,
          .shape = std::move(shape),
          .parts = {},
          .values = {}};
}

Format mixed(const Spec& spec, TensorRole role, std::int64_t layer = 0) {
  return choose_format(*find_recipe("Q4_K_M"), spec, tensor(role, layer)).format;
}

Spec llama(std::int64_t layers) {
  Spec spec;
  spec.architecture = "llama";
  spec.layers = layers;
  spec.layer_specs.assign(to_size(layers), {.heads = 32, .kv_heads = 32});
  return spec;
}

TEST(Recipe, ChoosesAsTheReferenceToolDoes) {
  INGOT_NEEDS_SHARED("goldens/quantized");
  int files = 0;
  for (const auto& path : shared_entries("goldens/quantized")) {
    const std::string name = path.filename().string();
    if (!name.ends_with("q4_k_m-mixed.gguf")) continue;
    SCOPED_TRACE(name);
    const auto checkpoint = Checkpoint::open(path.string());
    const BoundModel model = bind_model(*checkpoint);
    for (const ListedTensor& t : list_tensors(*checkpoint, model)) {
      const FormatChoice choice = choose_format(*find_recipe("Q4_K_M"), model.spec, t);
      EXPECT_EQ(choice.format, t.source()->format) << t.name;
      EXPECT_FALSE(choice.wanted) << t.name;
    }
    ++files;
  }
  EXPECT_GT(files, 0);
}

// Half of 32 layers get more bits: the first and last four, and every third between, as in the
// Q4_K_M file of Llama 2 7B.
TEST(Recipe, HalfOfThirtyTwoLayersGetMoreBits) {
  std::set<std::int64_t> more;
  const Spec spec = llama(32);
  for (std::int64_t i = 0; i < spec.layers; ++i) {
    EXPECT_EQ(mixed(spec, TensorRole::kV, i), mixed(spec, TensorRole::kDown, i));
    if (mixed(spec, TensorRole::kDown, i) == Q6_K::kFormat) more.insert(i);
  }
  EXPECT_EQ(more,
            (std::set<std::int64_t>{0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31}));
}

TEST(Recipe, LargeGroupedModelsKeepBitsInValues) {
  Spec spec = llama(80);
  const std::int64_t plain = 11;  // a layer without special rules
  EXPECT_EQ(mixed(spec, TensorRole::kV, plain), Q4_K::kFormat);
  for (LayerSpec& layer : spec.layer_specs) layer.kv_heads = 8;
  EXPECT_EQ(mixed(spec, TensorRole::kV, plain), Q5_K::kFormat);
  EXPECT_EQ(mixed(spec, TensorRole::kDown, plain), Q4_K::kFormat);
  EXPECT_EQ(mixed(spec, TensorRole::kV, 0), Q6_K::kFormat);
  spec.architecture = "qwen2";
  EXPECT_EQ(mixed(spec, TensorRole::kV, plain), Q5_K::kFormat);
  for (const char* other : {"qwen3", "gemma2", "command-r"}) {
    spec.architecture = other;
    EXPECT_EQ(mixed(spec, TensorRole::kV, plain), Q4_K::kFormat) << other;
  }
}

TEST(Recipe, EightExpertsHaveLargerAttention) {
  Spec spec = llama(32);
  spec.moe.experts = 8;
  EXPECT_EQ(mixed(spec, TensorRole::kK), Q8_0::kFormat);
  EXPECT_EQ(mixed(spec, TensorRole::kV), Q8_0::kFormat);
  EXPECT_EQ(mixed(spec, TensorRole::kAttnOut), Q5_K::kFormat);
  EXPECT_EQ(mixed(spec, TensorRole::kExpertDown, 0), Q6_K::kFormat);
  EXPECT_EQ(mixed(spec, TensorRole::kExpertGate, 0), Q4_K::kFormat);
}

TEST(Recipe, TheHeadGetsMoreBitsAlsoWhereItIsTheEmbedding) {
  Spec spec = llama(32);
  EXPECT_EQ(mixed(spec, TensorRole::kHead), Q6_K::kFormat);
  EXPECT_EQ(mixed(spec, TensorRole::kEmbedding), Q4_K::kFormat);
  spec.tied = true;
  EXPECT_EQ(mixed(spec, TensorRole::kEmbedding), Q6_K::kFormat);
}

TEST(Recipe, VectorsAndRoutersStayF32) {
  for (const Recipe& recipe : recipes()) {
    const Spec spec = llama(2);
    EXPECT_EQ(choose_format(recipe, spec, tensor(TensorRole::kAttnNorm, 0, {512})).format,
              F32::kFormat);
    EXPECT_EQ(choose_format(recipe, spec, tensor(TensorRole::kQBias, 0, {512})).format,
              F32::kFormat);
    EXPECT_EQ(choose_format(recipe, spec, tensor(TensorRole::kRouter)).format, F32::kFormat);
    EXPECT_EQ(choose_format(recipe, spec, tensor(TensorRole::kUp)).format, recipe.format)
        << recipe.name;
  }
}

TEST(Recipe, OddRowsFallBackAndSaySo) {
  struct Case {
    std::string_view recipe;
    std::int64_t cols;
    Format expected;
  };
  for (const Case& c : {Case{"Q4_K", 96, Q5_0::kFormat},
                        {"Q5_K", 96, Q5_1::kFormat},
                        {"Q6_K", 96, Q8_0::kFormat},
                        {"Q4_K", 100, F16::kFormat},
                        {"Q5_K", 100, F16::kFormat},
                        {"Q6_K", 100, F16::kFormat},
                        {"Q8_0", 100, F16::kFormat},
                        {"Q4_0", 100, F16::kFormat}}) {
    const Recipe& recipe = *find_recipe(c.recipe);
    const FormatChoice choice =
        choose_format(recipe, llama(2), tensor(TensorRole::kUp, 0, {4, c.cols}));
    EXPECT_EQ(choice.format, c.expected) << c.recipe << " " << c.cols;
    EXPECT_EQ(choice.wanted, recipe.format) << c.recipe << " " << c.cols;
  }
  EXPECT_FALSE(
      choose_format(*find_recipe("BF16"), llama(2), tensor(TensorRole::kUp, 0, {4, 7})).wanted);
}

TEST(Recipe, NamesIgnoreCaseOnly) {
  EXPECT_EQ(find_recipe("q4_k_m"), find_recipe("Q4_K_M"));
  EXPECT_EQ(find_recipe("bF16"), find_recipe("BF16"));
  EXPECT_EQ(find_recipe("Q4_K_M")->file_type, 15u);
  EXPECT_EQ(find_recipe("Q4_K_L"), nullptr);
  EXPECT_EQ(find_recipe(""), nullptr);
}

}  // namespace
}  // namespace ingot
