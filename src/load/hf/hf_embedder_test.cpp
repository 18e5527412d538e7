// Tests of sentence-transformers folders: modules, pooling, dense layers, prompts, settings.
#include "load/hf/hf_embedder.h"

#include <gtest/gtest.h>

#include "load/checkpoint.h"
#include "load/hf/hf_config.h"
#include "load/hf/hf_test_util.h"

namespace ingot {
namespace {

using namespace testing_hf;
namespace fs = std::filesystem;

Json json(std::string_view text) { return parse_json(text, "m.json", "config", kHfConfigLimits); }

/// An entry of modules.json.
std::string module(std::string_view type, std::string_view path) {
  return cat(R"({"idx": 0, "name": "0", "path": ")", path, R"(", "type": ")", type, "\"}");
}

std::string st_module(std::string_view name, std::string_view path) {
  return module(cat("sentence_transformers.models.", name), path);
}

HfModules modules(const std::vector<std::string>& entries) {
  std::string text = "[";
  for (const std::string& entry : entries) text += cat(text.size() > 1 ? "," : "", entry);
  return read_hf_modules(json(text + "]"), "modules.json");
}

const std::string kTransformer = st_module("Transformer", "");
const std::string kPooling = st_module("Pooling", "1_Pooling");

TEST(HfEmbedder, Modules) {
  const HfModules plain = modules({kTransformer, kPooling});
  EXPECT_EQ(plain.pooling, "1_Pooling");
  EXPECT_TRUE(plain.dense.empty());
  EXPECT_FALSE(plain.normalise);
  const HfModules all =
      modules({kTransformer, kPooling, st_module("Dense", "2_Dense"), st_module("Dense", "3_Dense"),
               st_module("Normalize", "4_Normalize")});
  EXPECT_EQ(all.dense, (std::vector<std::string>{"2_Dense", "3_Dense"}));
  EXPECT_TRUE(all.normalise);
}

TEST(HfEmbedder, OtherModulesAreRefusedByName) {
  const auto refused = [](const std::vector<std::string>& entries, std::string_view part) {
    expect_refused([&] { modules(entries); }, part);
  };
  const std::string dense = st_module("Dense", "2_Dense");
  const std::string normalise = st_module("Normalize", "2_Normalize");
  for (const char* type :
       {"sentence_transformers.models.WordWeights", "pylate.models.Dense.Dense",
        "sentence_transformers.sparse_encoder.models.SpladePooling", "custom_st.Transformer"}) {
    refused({kTransformer, kPooling, module(type, "2_X")},
            cat("type is '", type, "', supported are Transformer, Pooling, Dense and Normalize"));
  }
  refused({kTransformer, dense}, "type is 'sentence_transformers.models.Dense', supported is");
  refused({kTransformer}, "there is no module Pooling");
  refused({}, "there is no module Pooling");
  refused({kPooling}, "not supported in this place");
  refused({kTransformer, kPooling, normalise, dense}, "not supported in this place");
  refused({kTransformer, kPooling, kPooling}, "there is another module of this type");
  refused({st_module("Transformer", "0_Transformer"), kPooling}, "path is '0_Transformer'");
  refused({"3"}, "it holds an integer");
  refused({kTransformer, R"({"path": "1_Pooling"})"}, "type is missing");
  refused(std::vector<std::string>(17, kTransformer), "not supported in this place");
  for (const char* path : {"", ".", "..", "../x", "/etc", "a/b", "a\\\\b", "a\\u0000", "a\\n"}) {
    refused({kTransformer, st_module("Pooling", path)}, "expected the name of a folder");
  }
  expect_refused([] { read_hf_modules(json("{}"), "m.json"); }, "expected an array");
}

Config pooled(std::string_view text) {
  Config config;
  config.hidden = 64;
  read_hf_pooling(json(text), "1_Pooling/config.json", config);
  return config;
}

TEST(HfEmbedder, Pooling) {
  EXPECT_EQ(pooled("{}").pooling, PoolingKind::kMean);
  EXPECT_EQ(pooled(R"({"pooling_mode": "cls"})").pooling, PoolingKind::kCls);
  EXPECT_EQ(pooled(R"({"pooling_mode_mean_tokens": false, "pooling_mode_lasttoken": true,
                       "word_embedding_dimension": 64, "include_prompt": true})")
                .pooling,
            PoolingKind::kLast);
  const auto refused = [](std::string_view text, std::string_view part) {
    expect_refused([&] { pooled(text); }, part);
  };
  refused(R"({"pooling_mode_cls_token": true})", "pooling modes cls and mean together");
  refused(R"({"pooling_mode_mean_tokens": false})", "no pooling mode is true");
  refused(R"({"pooling_mode": "max"})", "pooling mode max is not supported");
  refused(R"({"pooling_mode_mean_tokens": false, "pooling_mode_weightedmean_tokens": true})",
          "pooling mode weightedmean is not supported");
  refused(R"({"word_embedding_dimension": 65})", "the model's hidden size is 64");
  refused(R"({"include_prompt": false})", "include_prompt is false");
  refused(R"({"pooling_mode_cls_token": 1})", "pooling_mode_cls_token is 1");
  refused("[]", "it holds an array, expected an object");
}

TEST(HfEmbedder, Dense) {
  const auto read = [](std::string_view activation, std::string_view more) {
    Config config;
    read_hf_dense(json(cat(R"({"in_features": 64, "out_features": 32, "activation_function": ")",
                           activation, "\"", more, "}")),
                  "2_Dense/config.json", "2_Dense", config);
    return config.dense.front();
  };
  const DenseLayer tanh = read("torch.nn.modules.activation.Tanh", "");
  EXPECT_TRUE(tanh.tanh);
  EXPECT_EQ(tanh.weight, "2_Dense/linear.weight");
  EXPECT_EQ(tanh.bias, "2_Dense/linear.bias");
  EXPECT_EQ(tanh.inputs, 64);
  EXPECT_EQ(tanh.outputs, 32);
  const DenseLayer plain = read("torch.nn.modules.linear.Identity", R"(, "bias": false)");
  EXPECT_FALSE(plain.tanh);
  EXPECT_EQ(plain.bias, "");
  expect_refused([&] { read("torch.nn.modules.activation.GELU", ""); },
                 "activation_function is 'torch.nn.modules.activation.GELU'");
  Config none;
  expect_refused([&] { read_hf_dense(json("{}"), "d.json", "d", none); }, "in_features is missing");
}

EmbedderSettings prompts(std::string_view text) {
  EmbedderSettings settings;
  read_hf_prompts(json(text), "p.json", settings);
  return settings;
}

TEST(HfEmbedder, Prompts) {
  const EmbedderSettings s = prompts(R"({"prompts": {"query": "search: ", "document": ""},
      "default_prompt_name": "query", "similarity_fn_name": "cosine", "__version__": {}})");
  EXPECT_EQ(s.prompts, (std::vector<EmbedderPrompt>{{"query", "search: "}, {"document", ""}}));
  EXPECT_EQ(s.default_prompt, "query");
  EXPECT_EQ(prompts(R"({"default_prompt_name": null})"), EmbedderSettings{});
  const auto refused = [](std::string_view text, std::string_view part) {
    expect_refused([&] { prompts(text); }, part);
  };
  refused(R"({"default_prompt_name": "x"})", "default_prompt_name is 'x'");
  refused(R"({"prompts": {"query": 3}})", "prompts.query is 3, expected a string");
  refused(R"({"prompts": []})", "prompts is an array");
  refused(R"({"model_type": "SparseEncoder"})", "model_type is 'SparseEncoder'");
}

TEST(HfEmbedder, TextSettings) {
  const auto read = [](std::string_view text) {
    EmbedderSettings settings;
    read_hf_text_settings(json(text), "s.json", settings);
    return settings;
  };
  const EmbedderSettings s = read(R"({"max_seq_length": 256, "do_lower_case": true})");
  EXPECT_EQ(s.max_tokens, 256);
  EXPECT_TRUE(s.lower_case);
  EXPECT_EQ(read(R"({"max_seq_length": null})"), EmbedderSettings{});
  expect_refused([&] { read(R"({"max_seq_length": 0})"); }, "max_seq_length is 0");
  expect_refused([&] { read(R"({"do_lower_case": 1})"); }, "do_lower_case is 1");
}

TEST(HfEmbedder, Scores) {
  const auto sigmoid = [](std::string_view text) {
    EmbedderSettings settings;
    read_hf_scores(json(text), "c.json", settings);
    return settings.sigmoid_scores;
  };
  EXPECT_TRUE(sigmoid("{}"));
  EXPECT_FALSE(sigmoid(
      R"({"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}})"));
  EXPECT_TRUE(sigmoid(
      R"({"sbert_ce_default_activation_function": "torch.nn.modules.activation.Sigmoid"})"));
  expect_refused([&] { sigmoid(R"({"sentence_transformers": {"activation_fn": "evil.Fn"}})"); },
                 "the activation of scores is evil.Fn");
}

/// A folder with an encoder, a pooling module and a dense module.
class DenseFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("config.json", ConfigText("bert").text());
    folder_.write("model.safetensors", small_safetensors({"a"}));
    folder_.write("modules.json",
                  cat("[", kTransformer, ",", kPooling, ",", st_module("Dense", "2_Dense"), "]"));
    fs::create_directory(folder_.path() / "1_Pooling");
    folder_.write("1_Pooling/config.json", "{}");
    fs::create_directory(folder_.path() / "2_Dense");
    folder_.write("2_Dense/config.json", R"({"in_features": 64, "out_features": 32,
        "activation_function": "torch.nn.modules.linear.Identity"})");
    folder_.write("2_Dense/model.safetensors", small_safetensors({"linear.weight", "linear.bias"}));
  }

  std::unique_ptr<Checkpoint> open() const { return Checkpoint::open(folder_.string()); }
  void expect_open_refused(std::string_view part) const {
    expect_refused([&] { open(); }, part);
  }

  TempFolder folder_;
};

TEST_F(DenseFolder, TensorsHaveTheFoldersName) {
  const auto model = open();
  EXPECT_EQ(model->config().pooling, PoolingKind::kMean);
  EXPECT_EQ(model->config().tied, std::nullopt);
  ASSERT_EQ(model->config().dense.size(), 1u);
  EXPECT_NE(model->find(model->config().dense[0].weight), nullptr);
  EXPECT_NE(model->find("2_Dense/linear.bias"), nullptr);
  EXPECT_NE(model->find("a"), nullptr);
  EXPECT_EQ(model->files().size(), 6u);
  EXPECT_TRUE(model->warnings().empty());
}

TEST_F(DenseFolder, DamageIsRefused) {
  folder_.write("2_Dense/config.json", R"({"in_features": 63, "out_features": 32,
      "activation_function": "torch.nn.modules.linear.Identity"})");
  expect_open_refused("has 63 inputs for 64 values");
  fs::remove_all(folder_.path() / "2_Dense");
  expect_open_refused("names the folder 2_Dense, which does not exist or is a link");
  fs::create_directory_symlink(folder_.path() / "1_Pooling", folder_.path() / "2_Dense");
  expect_open_refused("which does not exist or is a link");
}

TEST_F(DenseFolder, WithoutModulesTheMeanIsAssumed) {
  fs::remove(folder_.path() / "modules.json");
  const auto model = open();
  EXPECT_EQ(model->config().pooling, PoolingKind::kMean);
  EXPECT_EQ(model->warnings().size(), 1u);
}

TEST(HfEmbedder, GoldensOpenWithTheirPooling) {
  const auto root = shared_folder("references/embeddings");
  if (!fs::exists(root)) GTEST_SKIP() << "no " << root;
  int opened = 0;
  for (const auto& path : entries(root)) {
    if (!fs::exists(path / "model.safetensors")) continue;
    const Json golden = json(read_file(path / "golden.json"));
    const auto model = Checkpoint::open(path.string());
    const std::string& pooling = *golden.find_string("pooling");
    EXPECT_EQ(model->config().pooling, pooling == "mean"  ? PoolingKind::kMean
                                       : pooling == "cls" ? PoolingKind::kCls
                                                          : PoolingKind::kLast)
        << path;
    EXPECT_EQ(model->config().normalise, *golden.find("normalise")->as_bool()) << path;
    EXPECT_GT(model->embedder().max_tokens, 0) << path;
    EXPECT_TRUE(model->warnings().empty()) << path;
    ++opened;
  }
  EXPECT_GT(opened, 5);
}

}  // namespace
}  // namespace ingot
