// Tests of adapter files: names of tensors, ranks and scales, targets, and what is refused.
#include "load/adapter/adapter_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/shared_data_test_util.h"
#include "load/adapter/adapter_test_util.h"
#include "load/adapter/module_regex.h"
#include "load/gguf/gguf_writer_test_util.h"

namespace ingot {
namespace {

using namespace testing_adapter;

constexpr std::string_view kQ = "model.layers.0.self_attn.q_proj";
constexpr std::string_view kV = "model.layers.0.self_attn.v_proj";

std::vector<TestTensor> usual_tensors() {
  return joined({pair_of(kQ, 2, 8, 6), pair_of(kV, 2, 8, 4)});
}

/// The message that opening fails with; "accepted" without an error.
template <class Open>
std::string message_of(Open open) {
  try {
    open();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel) << error.message();
    EXPECT_EQ(error.message().find('\n'), std::string::npos);
    return error.message();
  }
  return "accepted";
}

void expect_refusal(const std::vector<TestTensor>& tensors, std::string_view config,
                    std::string_view part) {
  const TempFolder folder;
  write_peft(folder, tensors, config);
  const std::string message = message_of([&] { open_adapter(folder.path()); });
  EXPECT_NE(message.find(part), std::string::npos)
      << config << "\n  gives: " << message << "\n  lacks: " << part;
}

AdapterFile opened(const TempFolder& folder, const std::vector<TestTensor>& tensors,
                   std::string_view config = {}) {
  write_peft(folder, tensors, config);
  return open_adapter(folder.path());
}

TEST(AdapterFile, PairsOfAPeftFolder) {
  const TempFolder folder;
  const AdapterFile file =
      opened(folder, usual_tensors(),
             R"("r": 2, "lora_alpha": 4, "target_modules": ["q_proj", "v_proj"],
                "base_model_name_or_path": "a/b")");
  ASSERT_EQ(file.pairs.size(), 2u);
  EXPECT_EQ(file.pairs[0].module, kQ);
  EXPECT_EQ(file.pairs[0].kind, AdapterPairKind::kLinear);
  EXPECT_EQ(file.pairs[0].a->shape, (std::vector<std::int64_t>{2, 8}));
  EXPECT_EQ(file.pairs[0].b->shape, (std::vector<std::int64_t>{6, 2}));
  EXPECT_EQ(file.pairs[0].rank, 2);
  EXPECT_EQ(file.pairs[0].scale, 2);
  EXPECT_EQ(file.pairs[1].module, kV);
  EXPECT_EQ(file.base_model, "a/b");
  EXPECT_EQ(file.tensor_bytes(), 4u * (2 * 8 + 6 * 2 + 2 * 8 + 4 * 2));
  EXPECT_TRUE(file.invocation_tokens.empty());
  EXPECT_EQ(open_adapter(folder.path("adapter_model.safetensors")).pairs.size(), 2u);
}

TEST(AdapterFile, TensorsMayNameTheAdapterAndLackThePrefix) {
  const TempFolder folder;
  std::vector<TestTensor> tensors = usual_tensors();
  for (TestTensor& t : tensors) {
    t.name.replace(t.name.find(".weight"), 7, ".default.weight");
    t.name.erase(0, std::string_view("base_model.model.").size());
  }
  const AdapterFile file = opened(folder, tensors);
  ASSERT_EQ(file.pairs.size(), 2u);
  EXPECT_EQ(file.pairs[0].module, kQ);
}

TEST(AdapterFile, EmbeddingsHaveAPairOfTheirOwnAndACopy) {
  constexpr std::string_view kConfig =
      R"("r": 2, "lora_alpha": 2, "target_modules": ["embed_tokens"])";
  const std::string base = "base_model.model.model.embed_tokens.";
  const std::vector<TestTensor> tensors{counted(base + "lora_embedding_A", {2, 16}),
                                        counted(base + "lora_embedding_B", {8, 2}),
                                        counted(base + "base_layer.weight", {16, 8})};
  const TempFolder folder;
  const AdapterFile file = opened(folder, tensors, kConfig);
  ASSERT_EQ(file.pairs.size(), 1u);
  EXPECT_EQ(file.pairs[0].kind, AdapterPairKind::kEmbedding);
  EXPECT_EQ(file.pairs[0].module, "model.embed_tokens");
  ASSERT_EQ(file.copies.size(), 1u);
  EXPECT_EQ(file.warnings.size(), 1u);
  expect_refusal(tensors, cat(kConfig, R"(, "ensure_weight_tying": true)"), "ensure_weight_tying");
}

/// A rank or an alpha that a pattern gives to a module. The expectations are those of
/// re.match(rf"(.*\.)?({key})$", module) in Python.
TEST(AdapterFile, PatternsMatchAsInPeft) {
  struct Case {
    std::string key;
    bool matches;
  };
  for (const Case& c : std::vector<Case>{
           {"q_proj", true},
           {"self_attn.q_proj", true},
           {"model.layers.0.self_attn.q_proj", true},
           {"attn.q_proj", false},  // not behind a dot
           {"_proj", false},
           {"q.proj", true},               // a dot is any character
           {"layers.0.self_attn", false},  // not at the end
           {"^model.layers.0.*", true},
           {"^layers.0.*", false},
           {"layers\\\\.[0-2]\\\\..*", true},
           {"layers\\\\.[1-2]\\\\..*", false},
           {"(q|k)_proj", true},
           {"k_proj|q_proj", true},
           {"(?:k|v)_proj", false},
           {"", false},
       }) {
    const TempFolder folder;
    const AdapterFile file = opened(
        folder, usual_tensors(),
        cat(R"("r": 2, "target_modules": ["q_proj", "v_proj"], "lora_alpha": 4, "alpha_pattern": )",
            "{\"", c.key, R"(": 20})"));
    EXPECT_EQ(file.pairs[0].scale, c.matches ? 10 : 2) << c.key;
  }
}

TEST(AdapterFile, TheFirstPatternThatMatchesWins) {
  const TempFolder folder;
  const AdapterFile file =
      opened(folder, joined({pair_of(kQ, 1, 8, 6), pair_of(kV, 4, 8, 4)}),
             R"("r": 2, "lora_alpha": 4, "target_modules": ["q_proj", "v_proj"], "use_rslora": true,
         "rank_pattern": {"q_proj": 1, "self_attn.q_proj": 3, ".*v_proj": 4})");
  EXPECT_EQ(file.pairs[0].rank, 1);
  EXPECT_EQ(file.pairs[0].scale, 4);
  EXPECT_EQ(file.pairs[1].rank, 4);
  EXPECT_EQ(file.pairs[1].scale, 2);  // 4 / sqrt(4)
}

TEST(AdapterFile, TargetsAreListsExpressionsOrAllLinear) {
  for (const std::string_view targets :
       {R"(["self_attn.q_proj", "v_proj"])", R"(".*\\.(q|v)_proj")", R"("all-linear")",
        R"("ALL-LINEAR")", R"(["model.layers.0.self_attn.q_proj", "v_proj"])",
        R"(["q_proj", "v_proj"], "layers_to_transform": [0, 5])",
        R"(["q_proj", "v_proj"], "layers_to_transform": 0, "layers_pattern": "layers")",
        R"(["q_proj", "v_proj"], "layers_to_transform": 0, "layers_pattern": ["h", "layers"])",
        R"(["q_proj", "v_proj"], "layers_to_transform": [], "exclude_modules": ["k_proj"])"}) {
    const TempFolder folder;
    EXPECT_EQ(opened(folder, usual_tensors(),
                     cat(R"("r": 2, "lora_alpha": 4, "target_modules": )", targets))
                  .pairs.size(),
              2u)
        << targets;
  }
  for (const std::string_view targets :
       {R"(["q_proj"])", R"(["proj", "q_proj"])", R"(".*q_proj")", R"("(q|v)_proj")", R"([])",
        R"(["q_proj", "v_proj"], "layers_to_transform": [1])",
        R"(["q_proj", "v_proj"], "layers_to_transform": 0, "layers_pattern": "h")",
        R"(["q_proj", "v_proj"], "exclude_modules": ["self_attn.v_proj"])",
        R"("all-linear", "exclude_modules": ".*v_proj")"}) {
    expect_refusal(usual_tensors(), cat(R"("r": 2, "lora_alpha": 4, "target_modules": )", targets),
                   "does not name its module");
  }
}

/// PEFT 0.20 changed the expression that finds a module's layer from greedy to lazy.
TEST(AdapterFile, TheLayerOfAnExpertDependsOnTheVersion) {
  const std::string_view module = "model.layers.1.mlp.experts.3.up_proj";
  const auto config = [](int layer, std::string_view more) {
    return cat(R"("r": 2, "target_modules": ["up_proj"], "layers_to_transform": [)", layer, "]",
               more);
  };
  for (const auto& [version, layer, other] : std::vector<std::tuple<std::string_view, int, int>>{
           {"", 3, 1},
           {R"(, "peft_version": "0.19.1")", 3, 1},
           {R"(, "peft_version": "0.20.0")", 1, 3},
           {R"(, "peft_version": "1.0.0")", 1, 3},
           {R"(, "layers_pattern": "layers")", 1, 3}}) {
    const TempFolder folder;
    const AdapterFile file = opened(folder, pair_of(module, 2, 8, 6), config(layer, version));
    EXPECT_EQ(file.pairs.size(), 1u) << version;
    expect_refusal(pair_of(module, 2, 8, 6), config(other, version), "does not name its module");
  }
}

TEST(AdapterFile, ParametersOfExperts) {
  const std::string_view inner = "model.layers.0.mlp.experts.base_layer";
  const std::string_view outer = "model.layers.0.mlp.experts";
  const std::vector<TestTensor> both = joined({pair_of(inner, 6, 8, 10), pair_of(outer, 6, 5, 8)});
  constexpr std::string_view kBoth =
      R"("r": 2, "target_modules": [], "target_parameters": ["experts.down_proj",
         "mlp.experts.gate_up_proj"])";
  const TempFolder folder;
  const AdapterFile file = opened(folder, both, kBoth);
  ASSERT_EQ(file.pairs.size(), 2u);
  EXPECT_EQ(file.pairs[0].module, "model.layers.0.mlp.experts.down_proj");
  EXPECT_EQ(file.pairs[0].a->shape[1], 5);
  EXPECT_EQ(file.pairs[1].module, "model.layers.0.mlp.experts.gate_up_proj");
  EXPECT_EQ(file.pairs[1].kind, AdapterPairKind::kParameter);
  EXPECT_EQ(file.pairs[1].rank, 2);
  EXPECT_TRUE(file.old_parameters);
  const TempFolder one, newer;
  EXPECT_EQ(opened(one, pair_of(outer, 6, 5, 8),
                   R"("r": 2, "target_parameters": ["experts.gate_up_proj"])")
                .pairs[0]
                .module,
            "model.layers.0.mlp.experts.gate_up_proj");
  EXPECT_FALSE(opened(newer, both, cat(kBoth, R"(, "peft_version": "0.19.0")")).old_parameters);
  expect_refusal(both, R"("r": 2, "target_parameters": ["experts.down_proj"])", "has 2 pairs");
  expect_refusal(pair_of(outer, 6, 5, 8), kBoth, "has 1 pairs");
  expect_refusal(pair_of(outer, 5, 5, 8), R"("r": 2, "target_parameters": ["experts.down_proj"])",
                 "it has 5 rows");
  expect_refusal(both, R"("r": 2, "target_parameters": ["experts.a", "experts.b"])",
                 "whose order is unknown");
}

/// PEFT 0.21 writes such a file for Qwen3-MoE with the target "all-linear".
TEST(AdapterFile, ParametersOfExpertsAndOfARouter) {
  const std::string mlp = "model.layers.0.mlp.";
  const TempFolder folder;
  const AdapterFile file = opened(
      folder,
      joined({pair_of(mlp + "experts.base_layer", 16, 8, 10), pair_of(mlp + "experts", 8, 5, 8),
              pair_of(mlp + "gate", 2, 8, 4), pair_of("model.layers.0.self_attn.q_proj", 2, 8, 8)}),
      R"("r": 2, "lora_alpha": 3, "target_modules": ["q_proj"],
                "target_parameters": ["down_proj", "gate.weight", "gate_up_proj"],
                "rank_pattern": {".*\\.gate_up_proj": 4},
                "alpha_pattern": {".*\\.gate_up_proj": 6}, "peft_version": "0.21.2")");
  ASSERT_EQ(file.pairs.size(), 4u);
  EXPECT_EQ(file.pairs[0].module, mlp + "experts.down_proj");
  EXPECT_EQ(file.pairs[0].rank, 2);
  EXPECT_EQ(file.pairs[1].module, mlp + "experts.gate_up_proj");
  EXPECT_EQ(file.pairs[1].rank, 4);
  EXPECT_EQ(file.pairs[1].scale, 1.5);
  EXPECT_EQ(file.pairs[2].module, mlp + "gate");
  EXPECT_EQ(file.pairs[2].kind, AdapterPairKind::kLinear);
}

TEST(AdapterFile, InvocationTokens) {
  constexpr std::string_view kStart =
      R"("r": 2, "target_modules": ["q_proj", "v_proj"], "alora_invocation_tokens": )";
  const TempFolder folder;
  EXPECT_EQ(opened(folder, usual_tensors(), cat(kStart, "[3, 0, 7]")).invocation_tokens,
            (std::vector<std::int32_t>{3, 0, 7}));
  for (const std::string_view bad : {"[]", "[-1]", "[1.5]", "[3000000000]", "7"}) {
    expect_refusal(usual_tensors(), cat(kStart, bad), "alora_invocation_tokens");
  }
}

TEST(AdapterFile, ConfigurationsAreRefusedByKey) {
  constexpr std::string_view kStart =
      R"("r": 2, "lora_alpha": 4, "target_modules": ["q_proj", "v_proj"], )";
  for (const auto& [member, part] : std::vector<std::pair<std::string_view, std::string_view>>{
           {R"("use_dora": true)", "use_dora is true"},
           {R"("bias": "all")", "bias is 'all'"},
           {R"("bias": "lora_only")", "bias is 'lora_only'"},
           {R"("lora_bias": true)", "lora_bias is true"},
           {R"("modules_to_save": ["lm_head"])", "modules_to_save is"},
           {R"("trainable_token_indices": [5])", "trainable_token_indices is"},
           {R"("layer_replication": [[0, 2]])", "layer_replication is"},
           {R"("use_qalora": true)", "use_qalora is"},
           {R"("arrow_config": {"top_k": 1})", "arrow_config is"},
           {R"("kasa_config": {"beta": 1})", "kasa_config is"},
           {R"("use_bdlora": {"nblocks": 2})", "use_bdlora is"},
           {R"("init_lora_weights": "pissa")", "init_lora_weights is 'pissa'"},
           {R"("init_lora_weights": "pissa_niter_4")", "init_lora_weights is"},
           {R"("init_lora_weights": "olora")", "init_lora_weights is"},
           {R"("init_lora_weights": "OLoRA")", "init_lora_weights is"},
           {R"("init_lora_weights": "corda")", "init_lora_weights is"},
           {R"("init_lora_weights": "loftq")", "init_lora_weights is"},
           {R"("init_lora_weights": "lora_ga")", "init_lora_weights is"},
           {R"("init_lora_weights": 7)", "init_lora_weights is 7"},
           {R"("some_new_key": 1)", "some_new_key is 1, ingot does not know"},
           {R"("some_new_key": ["x"])", "some_new_key is an array"},
           {R"("rank_pattern": {"q_proj": 0})", "rank_pattern.q_proj is 0"},
           {R"("rank_pattern": {"q_proj": 1.5})", "rank_pattern.q_proj is 1.5"},
           {R"("rank_pattern": ["q_proj"])", "rank_pattern is an array"},
           {R"("alpha_pattern": {"q_proj": 1e38})", "alpha_pattern.q_proj is"},
           {R"("alpha_pattern": {"(": 1})", "alpha_pattern has the expression"},
           {R"("layers_to_transform": ["a"])", "layers_to_transform is 'a'"},
           {R"("use_rslora": 1)", "use_rslora is 1"},
           {R"("r": 4)", "duplicate"},
       }) {
    expect_refusal(usual_tensors(), cat(kStart, member), part);
  }
  for (const auto& [config, part] : std::vector<std::pair<std::string_view, std::string_view>>{
           {R"("r": 0, "target_modules": ["q_proj", "v_proj"])", "r is 0"},
           {R"("r": -1, "target_modules": ["q_proj", "v_proj"])", "r is -1"},
           {R"("r": 1.5, "target_modules": ["q_proj", "v_proj"])", "r is 1.5"},
           {R"("r": NaN, "target_modules": ["q_proj", "v_proj"])", "config @"},
           {R"("r": 1000000000, "target_modules": ["q_proj", "v_proj"])", "r is 1000000000"},
           {R"("r": 3, "target_modules": ["q_proj", "v_proj"])", "the rank 3"},
           {R"("r": 2, "lora_alpha": 1e38, "target_modules": ["q_proj"])", "lora_alpha is 1e+38"},
           {R"("r": 2, "lora_alpha": "4", "target_modules": ["q_proj"])", "lora_alpha is '4'"},
           {R"("r": 2)", "target_modules is missing"},
           {R"("r": 2, "target_modules": 7)", "target_modules is 7"},
           {R"("r": 2, "target_modules": [7])", "target_modules is 7"},
           {R"("r": 2, "target_modules": "[")", "target_modules has the expression"},
       }) {
    expect_refusal(usual_tensors(), config, part);
  }
}

TEST(AdapterFile, KeysWithoutEffectAreIgnored) {
  const TempFolder folder;
  EXPECT_EQ(opened(folder, usual_tensors(),
                   R"("r": 2, "target_modules": ["q_proj", "v_proj"], "fan_in_fan_out": true,
                      "lora_dropout": 0.1, "init_lora_weights": "eva", "loftq_config": {"a": 1},
                      "velora_config": {"num_groups": 64}, "megatron_core": "megatron.core",
                      "a_new_key": null, "b": false, "c": [], "d": {}, "e": "",
                      "modules_to_save": [], "use_dora": false)")
                .pairs.size(),
            2u);
}

TEST(AdapterFile, OtherMethodsAndOddDocumentsAreRefused) {
  const TempFolder folder;
  write_peft(folder, usual_tensors());
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {R"({"peft_type": "IA3", "r": 2})", "peft_type is 'IA3'"},
           {R"({"r": 2})", "peft_type is missing"},
           {"[]", "it is an array"},
           {"", "config @"},
           {R"({"peft_type": "LORA", "r": 2,})", "config @"},
           {cat(R"({"peft_type": "LORA", "x": )", std::string(100, '['), std::string(100, ']'),
                "}"),
            "config @"},
           {cat(R"({"peft_type": "LORA", "x": ")", std::string(100'000, 'x'), "\"}"), "config @"},
       }) {
    folder.write("adapter_config.json", text);
    const std::string message = message_of([&] { open_adapter(folder.path()); });
    EXPECT_NE(message.find(part), std::string::npos) << text.substr(0, 80) << ": " << message;
  }
}

TEST(AdapterFile, AnExpressionComesToAnEnd) {
  expect_refusal(
      usual_tensors(),
      R"("r": 2, "target_modules": "(\\w|.)*(\\w|.)*(\\w|.)*(\\w|.)*[!?]", "lora_alpha": 4)",
      "target_modules has the expression");
  expect_refusal(usual_tensors(),
                 cat(R"("r": 2, "target_modules": ")", std::string(20'000, 'a'), "\""),
                 "are more than 16384");
}

TEST(AdapterFile, ParametersAreLimited) {
  std::string names;
  for (int i = 0; i < 1025; ++i) names += cat(i == 0 ? "" : ", ", "\"experts.p", i, "\"");
  expect_refusal(usual_tensors(), cat(R"("r": 2, "target_parameters": [)", names, "]"),
                 "target_parameters has 1025 names, at most 1024");
}

TEST(AdapterFile, TensorsAreRefusedByName) {
  constexpr std::string_view kName = "base_model.model.model.layers.0.self_attn.q_proj";
  const auto with = [](std::vector<TestTensor> more) { return joined({usual_tensors(), more}); };
  const auto without = [](std::string_view end) {
    std::vector<TestTensor> tensors = usual_tensors();
    std::erase_if(tensors, [&](const TestTensor& t) { return t.name.ends_with(end); });
    return tensors;
  };
  const auto changed = [](auto change) {
    std::vector<TestTensor> tensors = usual_tensors();
    change(tensors[1]);  // lora_B of q_proj
    return tensors;
  };
  expect_refusal(with({counted(cat(kName, ".lora_magnitude_vector"), {6})}), {},
                 "q_proj.lora_magnitude_vector");
  expect_refusal(with({counted(cat(kName, ".bias"), {6})}), {}, "q_proj.bias");
  expect_refusal(with({counted("base_model.model.lm_head.weight", {6, 8})}), {}, "lm_head.weight");
  expect_refusal(with({counted("base_model.model.lm_head.base_layer.weight", {6, 8})}), {},
                 "lm_head.base_layer.weight");
  expect_refusal(with({counted(cat(kName, ".lora_A.other.weight"), {2, 8})}), {},
                 "has this half already");
  expect_refusal(with({counted(cat(kName, ".lora_embedding_A"), {2, 8})}), {},
                 "of an embedding and of a matrix");
  expect_refusal(without("q_proj.lora_B.weight"), {}, "is missing, lora_B");
  expect_refusal(without("v_proj.lora_A.weight"), {}, "is missing, lora_A");
  expect_refusal({}, {}, "no tensors of an adapter");
  expect_refusal(changed([](TestTensor& t) { t.shape = {6, 2, 1}; }), {}, "has 3 dimensions");
  expect_refusal(changed([](TestTensor& t) { t.shape = {4, 3}; }), {}, "has 3 columns");
  expect_refusal(changed([](TestTensor& t) { t.type = "F64"; }), {}, "its type is F64");
  expect_refusal(changed([](TestTensor& t) { t.type = "I8"; }), {}, "its type is I8");
}

TEST(AdapterFile, ValuesAreFiniteInEachType) {
  for (const std::string type : {"F32", "F16", "BF16"}) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()}) {
      std::vector<TestTensor> tensors =
          joined({pair_of(kQ, 2, 8, 6, type), pair_of(kV, 2, 8, 4, type)});
      const TempFolder good;
      EXPECT_EQ(opened(good, tensors).pairs.size(), 2u) << type;
      tensors[3].values.back() = bad;
      expect_refusal(tensors, {}, "v_proj.lora_B.weight @");
      expect_refusal(tensors, {}, "row 3 holds a value that is not finite");
    }
  }
}

TEST(AdapterFile, FilesThatAreNoFilesAreRefused) {
  const TempFolder folder;
  const auto message = [&] { return message_of([&] { open_adapter(folder.path()); }); };
  EXPECT_NE(message().find("no adapter found"), std::string::npos) << message();
  folder.write("adapter_model.bin", "x");
  EXPECT_NE(message().find("pickle"), std::string::npos) << message();
  write_peft(folder, usual_tensors());
  EXPECT_EQ(message(), "accepted");
  const TempFolder elsewhere;
  const std::string tensors = folder.path("adapter_model.safetensors");
  const std::string moved = elsewhere.path("x.safetensors");
  std::filesystem::rename(tensors, moved);
  std::filesystem::create_symlink(moved, tensors);
  EXPECT_NE(message(), "accepted");
  std::filesystem::remove(tensors);
  ASSERT_EQ(::mkfifo(tensors.c_str(), 0600), 0);
  EXPECT_NE(message(), "accepted");
}

/// A GGUF adapter with one pair and the usual keys.
testing_gguf::GgufWriter gguf_adapter() {
  using namespace testing_gguf;
  GgufWriter w;
  w.set("general.type", text("adapter"));
  w.set("general.architecture", text("llama"));
  w.set("adapter.type", text("lora"));
  w.set("adapter.lora.alpha", f32(8));
  w.tensor("blk.0.attn_q.weight.lora_a", {8, 2});
  w.tensor("blk.0.attn_q.weight.lora_b", {2, 6});
  return w;
}

/// The bytes of the writer's floats may be no numbers; the type F16 has none above 61.
std::string zeroed(const testing_gguf::GgufWriter& w) {
  std::string bytes = w.build();
  std::size_t data = 0;
  for (const testing_gguf::Tensor& t : w.tensors) data += (t.bytes + 31) / 32 * 32;
  std::fill(bytes.end() - static_cast<std::ptrdiff_t>(data), bytes.end(), '\0');
  return bytes;
}

TEST(AdapterFile, PairsOfAGgufFile) {
  using namespace testing_gguf;
  GgufWriter w = gguf_adapter();
  w.set("general.base_model.0.name", text("base"));
  w.set("adapter.alora.invocation_tokens", uints({5, 6}));
  w.tensor("token_embd.weight.lora_a", {2, 16}).tensor("token_embd.weight.lora_b", {2, 8});
  w.tensor("blk.0.ffn_up_exps.weight.lora_a", {8, 2, 3});
  w.tensor("blk.0.ffn_up_exps.weight.lora_b", {2, 5, 3});
  const TempFolder folder;
  const AdapterFile file = open_adapter(folder.write("x.gguf", zeroed(w)));
  EXPECT_EQ(open_adapter(folder.path()).pairs.size(), 3u);  // the folder's only GGUF file
  EXPECT_EQ(file.naming, Naming::kGguf);
  EXPECT_EQ(file.architecture, "llama");
  EXPECT_EQ(file.base_model, "base");
  EXPECT_EQ(file.invocation_tokens, (std::vector<std::int32_t>{5, 6}));
  ASSERT_EQ(file.pairs.size(), 3u);
  EXPECT_EQ(file.pairs[0].module, "blk.0.attn_q.weight");
  EXPECT_EQ(file.pairs[0].kind, AdapterPairKind::kLinear);
  EXPECT_EQ(file.pairs[0].scale, 4);
  EXPECT_EQ(file.pairs[1].kind, AdapterPairKind::kStack);
  EXPECT_EQ(file.pairs[1].rank, 2);
  EXPECT_EQ(file.pairs[2].kind, AdapterPairKind::kEmbedding);
  EXPECT_EQ(file.pairs[2].rank, 2);
  w.set("adapter.lora.alpha", f32(0));
  EXPECT_EQ(open_adapter(folder.write("x.gguf", zeroed(w))).pairs[0].scale, 1);
}

TEST(AdapterFile, GgufFilesAreRefusedByKeyOrTensor) {
  using namespace testing_gguf;
  const auto expect = [](GgufWriter w, std::string_view part) {
    const TempFolder folder;
    const std::string path = folder.write("x.gguf", zeroed(w));
    const std::string message = message_of([&] { open_adapter(path); });
    EXPECT_NE(message.find(part), std::string::npos) << message << "\n  lacks: " << part;
  };
  expect(gguf_adapter(), "accepted");
  expect(tiny_model(), "general.type");
  expect(gguf_adapter().set("general.type", text("model")), "general.type = 'model'");
  expect(gguf_adapter().set("adapter.type", text("vera")), "adapter.type = 'vera'");
  expect(gguf_adapter().remove("adapter.type"), "adapter.type is missing");
  expect(gguf_adapter().remove("general.architecture"), "general.architecture is missing");
  expect(gguf_adapter().remove("adapter.lora.alpha"), "adapter.lora.alpha is missing");
  expect(gguf_adapter().set("adapter.lora.alpha", f32(1e38F)), "adapter.lora.alpha = ");
  expect(gguf_adapter().set("adapter.lora.alpha", f32(std::nanf(""))), "adapter.lora.alpha = ");
  expect(gguf_adapter().set("adapter.lora.alpha", u32(8)), "adapter.lora.alpha is of type uint32");
  expect(gguf_adapter().set("adapter.lora.bias", boolean(1)), "adapter.lora.bias = ");
  expect(gguf_adapter().set("adapter.alora.invocation_tokens", uints({})), "has no usable size");
  expect(gguf_adapter().tensor("blk.0.attn_q.weight", {8}), "tensor blk.0.attn_q.weight");
  expect(gguf_adapter().tensor("blk.1.attn_q.weight.lora_a", {8, 2}), "is missing, lora_b");
  expect(gguf_adapter().tensor("blk.1.attn_q.weight.lora_b", {2, 6}), "is missing, lora_a");
  GgufWriter ranks = gguf_adapter();
  ranks.tensors[1].sizes = {3, 4};
  expect(ranks, "its rank is 3");
  GgufWriter dims = gguf_adapter();
  dims.tensors[1].sizes = {2, 3, 2};
  expect(dims, "has 3 dimensions");
  GgufWriter type = gguf_adapter();
  type.tensors[0].type = 8;  // Q8_0
  type.tensors[0].sizes = {32, 2};
  type.tensors[0].bytes = 68;
  expect(type, "its type is Q8_0");
}

/// Makes a file as large as no adapter: whatever reads its tensors fails by this size. The file
/// takes no space on the disk.
void make_huge(const std::string& path) {
  std::filesystem::resize_file(path, std::uint64_t{17} << 30);
}

TEST(AdapterFile, LargeFilesThatAreNoAdaptersAreNotRead) {
  using namespace testing_gguf;
  const TempFolder folder;
  const std::string path = folder.path("x.gguf");
  const auto message = [&](const GgufWriter& w) {
    folder.write("x.gguf", w.head());
    make_huge(path);
    return message_of([&] { open_adapter(path); });
  };
  const auto expect = [](const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\n  lacks: " << part;
  };
  expect(message(tiny_model()), "do not say general.type = 'adapter': the file is no adapter");
  expect(message(gguf_adapter().set("general.type", text("model"))), "adapter', but 'model': ");
  expect(message(GgufWriter().set("x", text(std::string(2 << 20, 'x')))), "is no adapter");
  expect(message(gguf_adapter()), "17179869184");  // the limit on adapters
  GgufWriter no_gguf;
  no_gguf.magic = "GGML";
  expect(message(no_gguf), "not a GGUF file");

  const TempFolder peft;
  write_peft(peft, usual_tensors(), R"("target_modules": ["q_proj"], "use_dora": true)");
  make_huge(peft.path("adapter_model.safetensors"));
  expect(message_of([&] { open_adapter(peft.path()); }), "use_dora");
}

TEST(AdapterFile, SharedAdapters) {
  INGOT_NEEDS_SHARED("references/lora");
  int folders = 0;
  for (const auto& path : shared_entries("references/lora")) {
    if (!std::filesystem::exists(path / "adapter_config.json")) continue;
    const std::string name = path.filename().string();
    const bool opens = !name.starts_with("refused-") || name == "refused-shape" ||
                       name == "refused-no-such-layer";  // the model decides
    const std::string message = message_of([&] { open_adapter(path.string()); });
    EXPECT_EQ(message == "accepted", opens) << name << ": " << message;
    ++folders;
  }
  EXPECT_GE(folders, 20);
}

TEST(AdapterFile, TruncatedFilesAreRefused) {
  const TempFolder folder;
  write_peft(folder, usual_tensors());
  const std::string all = safetensors_of(usual_tensors());
  for (std::size_t size = 0; size < all.size(); size += 11) {
    folder.write("adapter_model.safetensors", std::string_view(all).substr(0, size));
    EXPECT_NE(message_of([&] { open_adapter(folder.path()); }), "accepted") << size;
  }
}

}  // namespace
}  // namespace ingot
