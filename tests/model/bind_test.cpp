// Binding: what a checkpoint may lack, may hold, and may not; and that only what is asked for is
// loaded.
#include "model/bind.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
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

TEST(Bind, ExpertsInAFamilyWithoutThemAreRefused) {
  const auto c = checkpoint("llama");
  c->config().experts = 4;
  c->config().experts_used = 2;
  c->config().expert_ffn = 256;
  expect_refused(*c, "architecture llama with 4 experts is not supported");
}

TEST(Bind, AnUnknownArchitectureIsRefusedWithWhatIsSupported) {
  const auto c = checkpoint("llama");
  c->config().architecture = "mamba";
  expect_refused(*c, "supported are llama, qwen2, qwen3, qwen3moe");
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
