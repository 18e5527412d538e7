// Tests of finding and naming GGUF models, on names as in real repositories.
#include "hub/gguf_models.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ingot {
namespace {

using Names = std::vector<std::string>;

Names labels(const Names& paths) {
  Names found;
  for (const GgufModel& model : find_gguf_models(paths)) found.push_back(model.label);
  return found;
}

/// The first files of the models that a name matches.
Names match(const Names& paths, const std::string& wanted) {
  Names found;
  for (const GgufModel& model : match_gguf_models(find_gguf_models(paths), wanted)) {
    found.push_back(model.files[0]);
  }
  return found;
}

TEST(GgufModels, AreLabelledByQuantization) {
  EXPECT_EQ(labels({"README.md", "llama.Q4_K_M.gguf", "llama.q8_0.gguf", "m-BF16.gguf",
                    "m-IQ2_XXS.gguf", "m-UD-Q4_K_XL.gguf", "m-f16.gguf"}),
            (Names{"Q4_K_M", "q8_0", "BF16", "IQ2_XXS", "Q4_K_XL", "f16"}));
  EXPECT_EQ(labels({"a-Q8_0.gguf", "b-Q8_0.gguf", "tinyllama.gguf"}),
            (Names{"a-Q8_0.gguf", "b-Q8_0.gguf", "tinyllama.gguf"}));
  EXPECT_EQ(labels({"m-Q8_0.gguf", "m-q8_0.gguf"}), (Names{"m-Q8_0.gguf", "m-q8_0.gguf"}));
  EXPECT_EQ(labels({"Q8_0/m.gguf", "m_F16.gguf", "m_iq2_xxs.gguf", "m_of_q.gguf", "m_q8_x.gguf"}),
            (Names{"Q8_0", "F16", "iq2_xxs", "m_of_q.gguf", "m_q8_x.gguf"}));
  EXPECT_EQ(match({"a_q8_0.gguf", "b_q8_0.gguf"}, "Q8_0"), (Names{"a_q8_0.gguf", "b_q8_0.gguf"}));
  EXPECT_EQ(labels({".gguf", "m.gguf.part"}), Names{});
}

TEST(GgufModels, WhatIsNoModelIsLeftOut) {
  EXPECT_EQ(
      labels({"mmproj-F16.gguf", "sub/mmproj.gguf", "m-mmproj-f16.gguf", "m.MMPROJ-Q8_0.gguf"}),
      Names{});
  EXPECT_EQ(labels({"imatrix.gguf", "m.imatrix.gguf", "m-imatrix.gguf", "imatrix_unsloth.gguf",
                    "sub/m_imatrix.gguf", "Q8_0/imatrix.gguf"}),
            Names{});
  // Names of models that were made with a matrix.
  EXPECT_EQ(labels({"m-imatrix-Q4_K_M.gguf", "m-imat-Q8_0.gguf", "imatrix/m.gguf"}),
            (Names{"Q4_K_M", "Q8_0", "imatrix/m.gguf"}));
}

/// The label of the default.
std::string default_of(Names paths) {
  std::sort(paths.begin(), paths.end());
  const auto model = default_gguf_model(find_gguf_models(paths));
  return model ? model->label : "none";
}

TEST(GgufModels, TheDefaultIsTheBestQuantisation) {
  // The order of docs/models.md. Each list lacks the first choices of the list before.
  const Names order{"Q4_K_M", "Q4_K_S", "Q4_K_L", "Q4_K_XL",  "Q4_0",  "Q4_1",    "IQ4_NL",
                    "IQ4_XS", "MXFP4",  "Q5_K_M", "Q5_0",     "Q6_K",  "Q8_0",    "Q3_K_M",
                    "BF16",   "Q2_K",   "F32",    "Q4_0_4_4", "IQ3_M", "IQ2_XXS", "TQ1_0"};
  for (std::size_t first = 0; first < order.size(); ++first) {
    Names paths;
    for (std::size_t i = first; i < order.size(); ++i) paths.push_back("m-" + order[i] + ".gguf");
    EXPECT_EQ(default_of(paths), order[first]);
  }
  EXPECT_EQ(default_of({"m-q8_0.gguf", "M.q4_k_m.gguf"}), "q4_k_m");
  EXPECT_EQ(default_of({"m.gguf", "m-Q8_0.gguf"}), "Q8_0");
}

TEST(GgufModels, TheDefaultIsOneOfOneModel) {
  EXPECT_EQ(default_of({"m-Q4_K_M.gguf", "m-UD-Q4_K_XL.gguf", "BF16/m-BF16.gguf"}), "Q4_K_M");
  EXPECT_EQ(default_of({"m.i1-Q4_K_M.gguf", "m.Q8_0.gguf"}), "Q4_K_M");
  EXPECT_EQ(default_of({"m-Q4_K_M.gguf", "m-UD-Q4_K_M.gguf"}), "m-Q4_K_M.gguf");
  EXPECT_EQ(default_of({"m-0.5b-Q4_K_M.gguf", "m-1.5b-Q4_K_M.gguf"}), "none");
  EXPECT_EQ(default_of({"m-Q4_K_M.gguf", "draft-m-Q8_0.gguf"}), "none");
  EXPECT_EQ(default_of({}), "none");
  // Folders tell models apart, or name the quantisation.
  EXPECT_EQ(default_of({"7B/model.gguf", "70B/model.gguf"}), "none");
  EXPECT_EQ(default_of({"7B/m-Q4_K_M.gguf", "70B/m-Q8_0.gguf"}), "none");
  EXPECT_EQ(default_of({"gguf/m-Q4_K_M.gguf", "gguf/m-Q8_0.gguf"}), "Q4_K_M");
  EXPECT_EQ(default_of({"BF16/model.gguf", "Q4_K_M/model.gguf", "Q8_0/model.gguf"}), "Q4_K_M");
  EXPECT_EQ(default_of({"m-Q4_K_M/m-Q4_K_M-00001-of-00001.gguf", "m-Q8_0.gguf"}), "Q4_K_M");
  EXPECT_EQ(default_of({"m.gguf", "M.gguf"}), "none");
  EXPECT_EQ(default_of({"m_q4_k_m.gguf", "m_q8_0.gguf"}), "q4_k_m");
  EXPECT_EQ(default_of({"a_q4_k_m.gguf", "b_q8_0.gguf"}), "none");
}

TEST(GgufModels, SplitSetsAreOne) {
  const Names paths{"BF16/m-BF16-00001-of-00002.gguf", "BF16/m-BF16-00002-of-00002.gguf",
                    "m-Q8_0.gguf"};
  const auto models = find_gguf_models(paths);
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[1].label, "BF16");
  EXPECT_EQ(models[1].files, (Names{paths[0], paths[1]}));
  EXPECT_EQ(match(paths, "BF16"), Names{paths[0]});
  EXPECT_EQ(match(paths, paths[1]), Names{paths[0]});
}

TEST(GgufModels, SplitSetsAreWholeOrNot) {
  EXPECT_EQ(labels({"m-00001-of-00003.gguf", "m-00003-of-00003.gguf"}), Names{});
  EXPECT_EQ(labels({"m-00002-of-00002.gguf"}), Names{});
  EXPECT_EQ(labels({"m-00000-of-00000.gguf"}), Names{});
  // Two sets of one stem are two.
  EXPECT_EQ(labels({"m-00001-of-00001.gguf", "m-00001-of-00002.gguf", "m-00002-of-00002.gguf"}),
            (Names{"m-00001-of-00001.gguf", "m-00001-of-00002.gguf"}));
}

TEST(GgufModels, AreMatchedByPathLabelOrPart) {
  const Names paths{"a/model-Q4_K_M.gguf", "a/model-Q4_K_S.gguf", "b/other-Q4_K_M.gguf",
                    "b/other-UD-Q4_K_XL.gguf"};
  EXPECT_EQ(match(paths, "a/model-Q4_K_M.gguf"), Names{paths[0]});
  EXPECT_EQ(match(paths, "a/model-Q4_K_M"), Names{paths[0]});
  EXPECT_EQ(match(paths, "Q4_K_S"), Names{paths[1]});
  EXPECT_EQ(match(paths, "q4_k_s"), Names{paths[1]});
  EXPECT_EQ(match(paths, "Q4_K_M"), (Names{paths[0], paths[2]}));
  EXPECT_EQ(match(paths, "other-Q4_K_M"), Names{paths[2]});
  EXPECT_EQ(match(paths, "UD-Q4_K_XL"), Names{paths[3]});
  EXPECT_EQ(match(paths, "b"), (Names{paths[2], paths[3]}));
  for (const std::string wanted :
       {"Q4_K", "4_K_M", "Q4_K_M.ggu", "model-Q4", "gguf", "", "-", "Q5"}) {
    EXPECT_EQ(match(paths, wanted), Names{}) << wanted;
  }
}

TEST(GgufModels, AWholePathGoesBeforeOneWithoutItsEnding) {
  const Names paths{"a.gguf", "a.gguf.gguf"};
  EXPECT_EQ(match(paths, "a.gguf"), Names{paths[0]});
  EXPECT_EQ(match(paths, "a.gguf.gguf"), Names{paths[1]});
}

TEST(GgufModels, ALabelGoesBeforeParts) {
  const Names paths{"Q8_0/m-F16.gguf", "m-Q8_0.gguf"};
  EXPECT_EQ(match(paths, "Q8_0"), Names{paths[1]});
}

TEST(GgufModels, LongListsAreCut) {
  Names paths;
  for (char c = 'a'; c <= 'z'; ++c) paths.push_back(std::string(1, c) + ".gguf");
  const std::string list = list_labels(find_gguf_models(paths));
  EXPECT_TRUE(list.starts_with("a.gguf, b.gguf, ")) << list;
  EXPECT_TRUE(list.ends_with(", x.gguf and 2 more")) << list;
}

}  // namespace
}  // namespace ingot
