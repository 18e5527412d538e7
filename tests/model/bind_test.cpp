// Binding: what a checkpoint may lack, may hold, and may not; and that only what is asked for is
// loaded.
#include "model/bind.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "engine/engine_test_util.h"
#include "quant/formats.h"
#include "support/model_runner.h"
#include "support/random_model.h"

namespace ingot::testing_support {
namespace {

RandomModel model_of(std::string_view family) {
  for (const RandomModel& m : random_models(F32::kFormat)) {
    if (m.name == cat(family, " F32")) return m;
  }
  ADD_FAILURE() << "no family " << family;
  return {};
}

std::unique_ptr<EditableCheckpoint> checkpoint(std::string_view family) {
  return make_checkpoint(model_of(family), 1);
}

/// The message that binding is refused with.
std::string refusal(const Checkpoint& c) {
  try {
    bind_model(c);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kModel);
    return e.message();
  }
  return "accepted";
}

void expect_refused(const Checkpoint& c, std::string_view part) {
  const std::string message = refusal(c);
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(Bind, EveryFamilyBinds) {
  for (const RandomModel& m : random_models(Q4_0::kFormat)) {
    EXPECT_EQ(refusal(*make_checkpoint(m, 1)), "accepted") << m.name;
  }
}

TEST(Bind, AMissingTensorIsNamedInBothSpellings) {
  const auto c = checkpoint("qwen3");
  c->remove("blk.1.attn_k_norm.weight");
  expect_refused(*c,
                 "blk.1.attn_k_norm.weight (model.layers.1.self_attn.k_norm.weight) is missing");
}

TEST(Bind, ALeftOverTensorIsRefusedUnlessItIsKnownNotToMatter) {
  const auto c = checkpoint("llama");
  c->duplicate("blk.0.attn_norm.weight", "blk.0.rotary_emb.inv_freq");
  EXPECT_EQ(refusal(*c), "accepted");
  c->duplicate("blk.0.attn_norm.weight", "blk.0.attn_sinks");
  expect_refused(*c, "tensor blk.0.attn_sinks");
}

TEST(Bind, AFeatureOfAnotherFamilyIsALeftOver) {
  const auto c = checkpoint("llama");
  c->duplicate("blk.0.attn_norm.weight", "blk.0.attn_q_norm.weight");
  expect_refused(*c, "architecture llama has no such tensor");
}

TEST(Bind, MoreLayersThanDeclaredAreLeftOvers) {
  const auto c = checkpoint("llama");
  c->config().layers = 1;
  c->config().window.clear();
  expect_refused(*c, "tensor blk.1.");
}

TEST(Bind, AWrongShapeIsNamedWithBoth) {
  const auto c = checkpoint("llama");
  c->reshape("blk.0.attn_q.weight", {128, 512});
  expect_refused(*c, "tensor blk.0.attn_q.weight @0: shape is [128, 512], expected [256, 256]");
}

TEST(Bind, ATypeThatHoldsNoWeightsIsRefused) {
  const auto c = checkpoint("llama");
  c->retype("blk.0.attn_q.weight", std::nullopt, "I64");
  expect_refused(*c, "type I64 holds no weights");
}

TEST(Bind, BiasesComeTogetherOrNotAtAll) {
  const auto c = checkpoint("qwen2");
  c->remove("blk.0.attn_k.bias");
  expect_refused(*c, "blk.0.attn_k.bias");
  const auto llama = checkpoint("llama");
  llama->duplicate("blk.0.attn_norm.weight", "blk.0.attn_q.bias");
  expect_refused(*llama, "biases for 1 of 3");
}

TEST(Bind, BiasesAgreeWithWhatTheConfigurationSays) {
  const auto c = checkpoint("qwen2");
  c->config().attention_bias = false;
  expect_refused(*c, "attention_bias is false");
  const auto llama = checkpoint("llama");
  llama->config().attention_bias = true;
  expect_refused(*llama, "attention_bias is true");
}

TEST(Bind, TheAttentionsOutputHasABiasOfItsOwn) {
  const auto c = checkpoint("starcoder2");  // has all biases
  c->config().attention_bias = true;
  c->config().attention_out_bias = true;
  EXPECT_EQ(refusal(*c), "accepted");
  c->config().attention_out_bias = false;
  expect_refused(*c, "attention_out_bias is false");
  const auto qwen2 = checkpoint("qwen2");
  qwen2->config().attention_bias = true;
  qwen2->config().attention_out_bias = false;
  EXPECT_EQ(refusal(*qwen2), "accepted");
  qwen2->config().attention_out_bias = true;
  expect_refused(*qwen2, "attention_out_bias is true");
}

TEST(Bind, HeadNormsAgreeWithWhatTheConfigurationSays) {
  for (const char* family : {"command-r", "qwen3"}) {
    const auto c = checkpoint(family);
    c->config().qk_norm = true;
    EXPECT_EQ(refusal(*c), "accepted");
    c->config().qk_norm = false;
    expect_refused(*c, "queries and keys have no norms");
    for (int i = 0; i < 4; ++i) {
      c->remove(cat("blk.", i, ".attn_q_norm.weight"));
      c->remove(cat("blk.", i, ".attn_k_norm.weight"));
    }
    EXPECT_EQ(refusal(*c), "accepted");
    c->config().qk_norm = true;
    expect_refused(*c, "tensor blk.0.attn_q_norm.weight");
  }
}

TEST(Bind, TheHeadIsTiedWhenThereIsNone) {
  const auto c = checkpoint("llama");
  EXPECT_FALSE(bind_model(*c).spec.tied);
  c->remove("output.weight");
  EXPECT_TRUE(bind_model(*c).spec.tied);
}

TEST(Bind, AStoredCopyOfATiedHeadHasToBeTheSame) {
  const auto c = checkpoint("qwen3");
  c->duplicate("token_embd.weight", "output.weight");
  EXPECT_EQ(refusal(*c), "accepted");
  c->flip_bit("output.weight");
  expect_refused(*c, "they differ");
  c->reshape("output.weight", {36, 256});
  expect_refused(*c, "tied to the embedding [37, 256]");
}

TEST(Bind, TheVocabularyIsThatOfTheEmbedding) {
  const auto c = checkpoint("llama");
  c->config().vocab = 38;
  expect_refused(*c, "it has 37 rows, the configuration says vocabulary 38");
}

TEST(Bind, ATokenizerMayHaveFewerTokensButNotMore) {
  for (const auto& [tokens, ok] : {std::pair{36, true}, {37, true}, {38, false}}) {
    const auto c = checkpoint("llama");
    auto data = std::make_unique<TokenizerData>();
    for (int i = 0; i < tokens; ++i) data->tokens.add(cat(i));
    c->set_tokenizer(std::move(data));
    EXPECT_EQ(refusal(*c) == "accepted", ok) << tokens;
  }
}

TEST(Bind, FrequencyFactorsHaveToBeUsable) {
  RandomModel m = model_of("llama");
  m.config.ropes.front().scaling = {};
  for (const auto& [value, ok] :
       {std::pair{std::byte{0x3f}, true}, {std::byte{0}, false}, {std::byte{0xff}, false}}) {
    const auto c = make_checkpoint(m, 1);
    c->duplicate("blk.0.attn_norm.weight", "rope_freqs.weight");
    c->reshape("rope_freqs.weight", {32});
    c->fill("rope_freqs.weight", value);
    EXPECT_EQ(refusal(*c) == "accepted", ok);
  }
  const auto tiny = make_checkpoint(m, 1);
  tiny->duplicate("blk.0.attn_norm.weight", "rope_freqs.weight");
  tiny->reshape("rope_freqs.weight", {32});
  tiny->fill("rope_freqs.weight", std::byte{0x20});  // 1.4e-19
  expect_refused(*tiny, "radians a token");
  const auto twice = checkpoint("llama");  // has YaRN already
  twice->duplicate("blk.0.attn_norm.weight", "rope_freqs.weight");
  twice->reshape("rope_freqs.weight", {32});
  expect_refused(*twice, "together with another rotary scaling");
}

TEST(Bind, WhatAFamilyHasNoTensorsForIsRefused) {
  const auto with = [](auto change) {
    auto c = checkpoint("qwen2");
    change(c->config());
    return c;
  };
  expect_refused(*with([](Config& c) {
    c.experts = 4;
    c.experts_used = 2;
    c.expert_ffn = 256;
  }),
                 "architecture qwen2 with 4 experts is not supported");
  expect_refused(*with([](Config& c) { c.mla.kv_rank = 64; }),
                 "architecture qwen2 with a latent of 64 for keys and values is not supported");
  expect_refused(*with([](Config& c) { c.layer_input = 8; }),
                 "architecture qwen2 with per-layer inputs is not supported");
  expect_refused(*with([](Config& c) { c.relative_buckets = 32; }),
                 "architecture qwen2 with relative positions is not supported");
  expect_refused(*with([](Config& c) { c.labels = 2; }),
                 "architecture qwen2 with 2 labels is not supported");
  const auto deepseek = checkpoint("deepseek2");
  deepseek->config().mla = {};
  expect_refused(*deepseek, "deepseek2 with no latent for keys and values is not supported");
  const auto starcoder2 = checkpoint("starcoder2");
  starcoder2->config().gated = true;
  expect_refused(*starcoder2, "layer 0: architecture starcoder2 has no tensors for a gate");
}

TEST(Bind, AnUnknownArchitectureIsRefusedWithWhatIsSupported) {
  const auto c = checkpoint("llama");
  c->config().architecture = "mamba";
  expect_refused(*c, "supported are llama, qwen2, qwen2moe, qwen3, qwen3moe");
}

TEST(Bind, HeadNormsAreForQueriesAndKeysOrForNone) {
  const auto c = checkpoint("qwen3");
  for (int i = 0; i < 4; ++i) {
    c->remove(cat("blk.", i, ".attn_q_norm.weight"));
    c->remove(cat("blk.", i, ".attn_k_norm.weight"));
  }
  EXPECT_EQ(refusal(*c), "accepted");
}

TEST(Bind, FusedMatricesAreTakenWhole) {
  const BoundModel bound = bind_model(*checkpoint("phi3"));
  EXPECT_EQ(bound.layers[0].qkv.parts.size(), 1u);
  EXPECT_EQ(bound.layers[0].gate_up.parts.size(), 1u);
  const auto llama = checkpoint("llama");
  llama->duplicate("blk.1.attn_q.weight", "blk.1.attn_qkv.weight");
  llama->reshape("blk.1.attn_qkv.weight", {512, 256});
  expect_refused(*llama, "architecture llama has no such tensor");  // blk.1.attn_q.weight
}

TEST(Bind, LatentHeadsMayStandInOneTensor) {
  const auto c = checkpoint("deepseek2");
  for (int i = 0; i < 4; ++i) {
    // Each head has 32 rows of keys and 64 rows of values.
    c->duplicate(cat("blk.", i, ".attn_v_b.weight"), cat("blk.", i, ".attn_kv_b.weight"));
    c->reshape(cat("blk.", i, ".attn_kv_b.weight"), {4 * 96, 64});
    c->remove(cat("blk.", i, ".attn_k_b.weight"));
    c->remove(cat("blk.", i, ".attn_v_b.weight"));
  }
  const BoundModel bound = bind_model(*c);
  const BoundLayer& layer = bound.layers[2];
  ASSERT_EQ(layer.k_up.size(), 4u);
  EXPECT_TRUE(layer.k_up[1].parts[0].turned);
  EXPECT_EQ(layer.k_up[1].parts[0].first_row, 96);
  EXPECT_EQ(layer.v_up[1].parts[0].first_row, 96 + 32);
  EXPECT_FALSE(layer.k_up[0].rounds);
}

TEST(Bind, LayersThatReadAnothersKeysHaveQueriesOnly) {
  const auto c = checkpoint("gemma4");
  const BoundModel bound = bind_model(*c);
  EXPECT_EQ(bound.layers[2].qkv.parts.size(), 1u);
  EXPECT_EQ(bound.layers[1].qkv.parts.size(), 3u);
  EXPECT_EQ(bound.layers[1].qkv.parts[1].tensor, bound.layers[1].qkv.parts[2].tensor);
  for (const std::int32_t source : {3, 2, 1}) {  // itself, a reader, a layer of another shape
    c->config().kv_source[2] = source == 2 ? 3 : source;
    expect_refused(*c, "layer 2 cannot read the keys and values of layer");
  }
}

TEST(Bind, TensorsThatTextDoesNotNeedAreNamedInANote) {
  const auto c = checkpoint("llama");
  EXPECT_TRUE(bind_model(*c).notes.empty());
  c->duplicate("blk.0.attn_norm.weight", "vision_tower.patch.weight");
  c->duplicate("blk.0.attn_norm.weight", "vision_tower.norm.weight");
  ASSERT_EQ(bind_model(*c).notes.size(), 1u);
  EXPECT_EQ(bind_model(*c).notes[0],
            "left out, because text does not need them: vision_tower.* (2 tensors)");
}

/// Adds tensors of layer `layer` that only layers for multi-token prediction have.
void add_mtp_tensors(EditableCheckpoint& c, std::string_view source, std::string_view layer) {
  for (const char* tensor : {"eh_proj", "enorm", "hnorm"}) {
    c.duplicate(std::string(source), cat(layer, tensor, ".weight"));
  }
}

TEST(Bind, LayersForMultiTokenPredictionAreNamedInANote) {
  const auto c = checkpoint("llama");
  add_mtp_tensors(*c, "blk.0.attn_norm.weight", "blk.4.nextn.");
  expect_refused(*c, "tensor blk.4.nextn.");
  c->config().mtp_layers = 1;
  ASSERT_EQ(bind_model(*c).notes.size(), 1u);
  EXPECT_EQ(bind_model(*c).notes[0],
            "left out, because text does not need them: layers for multi-token prediction (3 "
            "tensors)");
  add_mtp_tensors(*c, "blk.0.attn_norm.weight", "blk.5.nextn.");
  expect_refused(*c, "tensor blk.5.nextn.");
}

TEST(Bind, AUsualLayerDoesNotPassForMultiTokenPrediction) {
  for (const Naming naming : {Naming::kGguf, Naming::kHuggingFace}) {
    const bool gguf = naming == Naming::kGguf;
    const std::string start = gguf ? "blk.3." : "model.layers.3.";
    const std::string norm = start + (gguf ? "attn_norm.weight" : "input_layernorm.weight");
    RandomModel m = model_of("llama");
    m.config.naming = naming;
    const auto c = make_checkpoint(m, 1);
    c->config().layers = 3;
    for (const std::int64_t layers : {1, 512}) {
      c->config().mtp_layers = layers;
      expect_refused(*c, cat("tensor ", start));
    }
    add_mtp_tensors(*c, norm, start + (gguf ? "nextn." : ""));
    EXPECT_EQ(refusal(*c), "accepted");
    c->remove(start + (gguf ? "nextn.eh_proj.weight" : "eh_proj.weight"));
    expect_refused(*c, cat("tensor ", start));
  }
}

TEST(Bind, LongropeChoosesItsFactorsByTheContext) {
  const auto c = checkpoint("phi3");
  const BoundModel usual = bind_model(*c);
  EXPECT_EQ(usual.spec.context, 32);
  EXPECT_EQ(usual.notes.size(), 1u);
  EXPECT_EQ(bind_model(*c, 32).spec.ropes, usual.spec.ropes);
  const BoundModel large = bind_model(*c, 33);
  EXPECT_EQ(large.spec.context, 256);
  EXPECT_TRUE(large.notes.empty());
  EXPECT_EQ(large.spec.ropes[0].inverse_frequency[1] * 4,
            usual.spec.ropes[0].inverse_frequency[1] * 1.25);
  EXPECT_EQ(large.spec.ropes[0].factor, usual.spec.ropes[0].factor);
}

TEST(Bind, LongropeFactorsOfGgufAreTensors) {
  const auto c = checkpoint("phi3");
  c->config().ropes[0].scaling.short_factors.clear();
  expect_refused(*c, "tensor rope_factors_short.weight is missing");
  c->duplicate("blk.0.attn_norm.weight", "rope_factors_short.weight");
  c->reshape("rope_factors_short.weight", {24});
  EXPECT_EQ(refusal(*c), "accepted");
  c->fill("rope_factors_short.weight", std::byte{0});
  expect_refused(*c, "rotary factor 0 is not usable");
}

class LoadTest : public testing::Test {
 protected:
  std::string load_refusal(EditableCheckpoint& c, const ModelOptions& options) {
    try {
      ModelRunner(c, {.model = options});
    } catch (const Error& e) {
      return e.message();
    }
    return "loaded";
  }
};

TEST_F(LoadTest, ABackboneServesWhatItHasAndNamesWhatItLacks) {
  const auto c = checkpoint("llama");
  c->config().tied = false;
  c->remove("output.weight");
  c->remove("token_embd.weight");
  c->config().vocab = 0;
  const ModelOptions hidden{.embedding = false, .head = false};
  EXPECT_EQ(load_refusal(*c, hidden), "loaded");
  EXPECT_NE(load_refusal(*c, {.embedding = false}).find("output.weight (lm_head.weight)"),
            std::string::npos);
  EXPECT_NE(load_refusal(*c, {.head = false}).find("token_embd.weight"), std::string::npos);
  c->remove("output_norm.weight");
  EXPECT_NE(load_refusal(*c, hidden).find("output_norm.weight"), std::string::npos);
  const ModelOptions bare{.embedding = false, .head = false, .final_norm = false};
  EXPECT_EQ(load_refusal(*c, bare), "loaded");
}

TEST_F(LoadTest, CheckTensorsNamesTheOneThatIsNotFinite) {
  const auto c = checkpoint("llama");
  c->fill("blk.1.ffn_norm.weight", std::byte{0xff});
  EXPECT_EQ(load_refusal(*c, {}), "loaded");
  EXPECT_NE(load_refusal(*c, {.check_tensors = true}).find("tensor blk.1.ffn_norm.weight"),
            std::string::npos);
  const auto d = checkpoint("llama");
  d->fill("blk.0.ffn_down.weight", std::byte{0xff});
  EXPECT_NE(load_refusal(*d, {.check_tensors = true}).find("tensor blk.0.ffn_down.weight"),
            std::string::npos);
}

TEST_F(LoadTest, LatentsHaveNormsWithAnEpsilonOfTheirOwn) {
  const auto c = checkpoint("deepseek2");
  const auto logits = [&](std::optional<double> eps) {
    c->config().mla.norm_eps = eps;
    return ModelRunner(*c, {}).run({{1, 2, 3}}, {{{.sequence = 0, .rows = 3}}});
  };
  const auto usual = logits({});
  EXPECT_EQ(logits(c->config().norm_eps), usual);
  EXPECT_NE(logits(0.5), usual);
  EXPECT_NE(to_string(bind_model(*c).spec).find("mla_norm_eps = 0.5"), std::string::npos);
}

/// A reranker that is a decoder scores by the model's logits, with their factor and cap.
TEST_F(LoadTest, OutputsForLabelTokensAreTheModelsLogits) {
  constexpr std::int32_t kYes = 5, kNo = 30;
  for (const char* family : {"gemma3", "command-r"}) {
    const auto c = checkpoint(family);
    ASSERT_TRUE(c->config().logit_cap != 0 || c->config().logit_scale != 1);
    const std::vector<float> rows = ModelRunner(*c, {}).run({{1, 2, 3}}, whole({{1, 2, 3}}))[0];
    const std::int64_t last = 2 * c->config().vocab;
    c->config().label_tokens = {kYes, kNo};
    c->config().labels = 2;
    c->config().pooling = PoolingKind::kLast;
    EngineRunner runner(*c);
    const Stream stream =
        *runner.engine().submit({.prompt = {1, 2, 3}, .max_tokens = 0, .pooled = true});
    while (runner.engine().step()) {
    }
    const std::vector<float>& outputs = stream.outcome().pooled;
    ASSERT_EQ(outputs.size(), 2u) << family;
    EXPECT_NEAR(outputs[0], at(rows, last + kYes), 1e-5) << family;
    EXPECT_NEAR(outputs[1], at(rows, last + kNo), 1e-5) << family;
  }
}

TEST_F(LoadTest, HuggingFaceBaseModelsMayLackThePrefix) {
  RandomModel m = model_of("qwen3");
  m.config.naming = Naming::kHuggingFace;
  const auto c = make_checkpoint(m, 1);
  std::vector<std::string> names;
  for (const TensorInfo& t : c->tensors()) names.push_back(t.name);
  for (const std::string& name : names) {
    ASSERT_EQ(name.compare(0, 6, "model."), 0) << name;
    c->rename(name, name.substr(6));
  }
  EXPECT_EQ(refusal(*c), "accepted");
}

}  // namespace
}  // namespace ingot::testing_support
