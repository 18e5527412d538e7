// Tests of the choice of a model's files in a repository.
#include "hub/snapshot_model.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

using Names = std::vector<std::string>;

std::optional<ModelFiles> choose(const Names& paths, const std::string& wanted) {
  return choose_model_files(paths, {.repo = "u/r", .file = wanted});
}

std::string snapshot_refusal(const Names& paths, const std::string& wanted = "") {
  try {
    if (!choose(paths, wanted)) throw no_model_error(paths, "u/r", wanted);
  } catch (const Error& e) {
    return e.message();
  }
  return "chosen";
}

TEST(SnapshotModel, AFolderTakesWhatItNeeds) {
  const Names paths{".gitattributes",
                    "README.md",
                    "additional_chat_templates/tool_use.jinja",
                    "config.json",
                    "model.gguf",
                    "model.safetensors",
                    "onnx/model.onnx",
                    "original/x.pth",
                    "pytorch_model.bin",
                    "special_tokens_map.json",
                    "tokenizer.json"};
  const auto files = choose(paths, "");
  ASSERT_TRUE(files);
  EXPECT_EQ(files->paths, (Names{"config.json", "tokenizer.json", "special_tokens_map.json",
                                 "additional_chat_templates/tool_use.jinja", "model.safetensors"}));
  EXPECT_EQ(files->opened, "");
  EXPECT_EQ(files->index, "");
  EXPECT_EQ(choose(paths, "model")->paths, Names{"model.gguf"});
  EXPECT_EQ(choose(paths, "README.md")->opened, "README.md");
}

TEST(SnapshotModel, AnEmbedderTakesItsModules) {
  Names paths{"1_Pooling/config.json",
              "2_Dense/config.json",
              "2_Dense/model.safetensors",
              "2_Dense/pytorch_model.bin",
              "3_X/y/config.json",
              "config.json",
              "config_sentence_transformers.json",
              "model.safetensors",
              "modules.json",
              "onnx/config.json",
              "sentence_bert_config.json"};
  EXPECT_EQ(choose(paths, "")->paths,
            (Names{"config.json", "modules.json", "config_sentence_transformers.json",
                   "sentence_bert_config.json", "1_Pooling/config.json", "2_Dense/config.json",
                   "2_Dense/model.safetensors", "model.safetensors"}));
  std::erase(paths, "modules.json");
  EXPECT_EQ(choose(paths, "")->paths, (Names{"config.json", "model.safetensors"}));
}

TEST(SnapshotModel, AnIndexStandsForItsShards) {
  const Names paths{"config.json", "model-00001-of-00002.safetensors",
                    "model-00002-of-00002.safetensors", "model.safetensors.index.json"};
  const auto files = choose(paths, "");
  ASSERT_TRUE(files);
  EXPECT_EQ(files->index, "model.safetensors.index.json");
  EXPECT_EQ(files->paths, (Names{"config.json", "model.safetensors.index.json"}));
}

TEST(SnapshotModel, OneGgufModelIsPlain) {
  const auto files = choose(Names{"README.md", "m-Q8_0.gguf", "mmproj-f16.gguf"}, "");
  ASSERT_TRUE(files);
  EXPECT_EQ(files->paths, Names{"m-Q8_0.gguf"});
  EXPECT_EQ(files->opened, "m-Q8_0.gguf");
}

TEST(SnapshotModel, OneOfSeveralQuantisationsIsTaken) {
  const Names paths{"Q4_K_M/m-Q4_K_M-00001-of-00002.gguf", "Q4_K_M/m-Q4_K_M-00002-of-00002.gguf",
                    "m-Q4_0.gguf", "m-Q8_0.gguf"};
  const auto files = choose(paths, "");
  ASSERT_TRUE(files);
  EXPECT_EQ(files->paths, (Names{paths[0], paths[1]}));
  EXPECT_EQ(files->opened, paths[0]);
  EXPECT_EQ(files->note,
            "u/r has 3 quantisations, taking Q4_K_M; u/r:Q4_0 names another: Q4_0, Q8_0");
  EXPECT_EQ(choose(paths, "q8_0")->note, "");
  const ModelName branch{.repo = "u/r", .revision = "v2", .file = {}};
  EXPECT_EQ(choose_model_files(paths, branch)->note,
            "u/r has 3 quantisations, taking Q4_K_M; u/r@v2:Q4_0 names another: Q4_0, Q8_0");
}

TEST(SnapshotModel, DifferentModelsAreListed) {
  EXPECT_EQ(snapshot_refusal({"a-Q4_0.gguf", "b-Q8_0.gguf"}),
            "u/r has 2 GGUF models, name one as in u/r:Q4_0: Q4_0, Q8_0");
  EXPECT_EQ(snapshot_refusal({"a-Q8_0.gguf", "b-Q8_0.gguf", "c-Q4_0.gguf"}, "Q8_0"),
            "u/r has 2 GGUF models that 'Q8_0' could mean, name one as in u/r:a-Q8_0.gguf: "
            "a-Q8_0.gguf, b-Q8_0.gguf");
}

TEST(SnapshotModel, AListNamesTheRevision) {
  const Names paths{"a-Q4_0.gguf", "b-Q8_0.gguf"};
  try {
    choose_model_files(paths, {.repo = "u/r", .revision = "v2", .file = {}});
    FAIL() << "one was chosen";
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "u/r has 2 GGUF models, name one as in u/r@v2:Q4_0: Q4_0, Q8_0");
  }
}

TEST(SnapshotModel, NothingToChoose) {
  EXPECT_EQ(snapshot_refusal({}),
            "u/r: hub @0: it holds no model: neither config.json with safetensors nor "
            "GGUF files");
  EXPECT_EQ(snapshot_refusal({"config.json", "pytorch_model.bin"}),
            "u/r: hub @0: its weights are pickle files, which are not supported");
  EXPECT_NE(snapshot_refusal({"model.safetensors"}), "chosen");
  EXPECT_EQ(snapshot_refusal({"m-Q4_0.gguf"}, "Q8_0"),
            "u/r: hub @0: it has no file 'Q8_0', its GGUF models: Q4_0");
  EXPECT_EQ(snapshot_refusal({"README.md"}, "x"), "u/r: hub @0: it has no file 'x'");
}

}  // namespace
}  // namespace ingot
