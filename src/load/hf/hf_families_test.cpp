// Tests of the table of model types: what each family states in config.json, in the newest and in
// older spellings.
#include "load/hf/hf_families.h"

#include <gtest/gtest.h>

#include "load/architectures.h"
#include "load/hf/hf_config.h"
#include "load/hf/hf_test_util.h"

namespace ingot {
namespace {

using namespace testing_hf;

using Windows = std::vector<std::int64_t>;
using Choices = std::vector<std::int32_t>;

Config family_config(std::string_view text, LoadNotes& notes) {
  const Json root = parse_json(text, "config.json", "config", kHfConfigLimits);
  Config config = read_hf_config(root, "config.json", notes);
  validate_config(config, "config.json");
  return config;
}

Config family_config(const ConfigText& text) {
  LoadNotes notes;
  return family_config(text.text(), notes);
}

void expect_family_refused(const ConfigText& text, std::string_view part) {
  expect_refused([&] { family_config(text); }, part);
}

constexpr std::string_view kAlternating =
    R"(["sliding_attention", "full_attention", "sliding_attention", "full_attention"])";

TEST(HfFamilies, RowsNameArchitecturesAndStandTogether) {
  std::string_view last;
  std::vector<std::string_view> seen;
  for (const HfFamily& family : hf_families()) {
    EXPECT_NE(find_architecture(family.architecture), nullptr) << family.architecture;
    if (family.model_type != last) {
      EXPECT_EQ(std::count(seen.begin(), seen.end(), family.model_type), 0) << family.model_type;
      seen.push_back(family.model_type);
    }
    last = family.model_type;
    EXPECT_FALSE(is_hf_recurrent(family.model_type) || is_hf_multimodal(family.model_type));
  }
}

TEST(HfFamilies, GoldensAreRead) {
  int read = 0;
  for (const char* place : {"references/families", "references/embeddings", "references/rerank"}) {
    const auto folder = shared_folder(place);
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
    for (const auto& entry : entries(folder)) {
      if (!std::filesystem::exists(entry / "config.json")) continue;
      LoadNotes notes;
      EXPECT_EQ(refusal([&] { family_config(read_file(entry / "config.json"), notes); }), "")
          << entry;
      EXPECT_TRUE(notes.warnings().empty()) << entry;
      ++read;
    }
  }
  EXPECT_GE(read, 40);
}

TEST(HfFamilies, RecurrentStateIsNotSupportedYet) {
  for (const char* type : {"qwen3_5", "lfm2", "granitemoehybrid", "nemotron_h", "mamba"}) {
    expect_family_refused(ConfigText(type), cat("model_type '", type,
                                                "' keeps a recurrent state, which is not "
                                                "supported yet"));
  }
}

TEST(HfFamilies, Gemma) {
  const Config c = family_config(ConfigText("gemma").set("hidden_act", "\"gelu\""));
  EXPECT_EQ(c.head_dim, 256);
  EXPECT_EQ(c.activation, Activation::kGeluTanh);
  EXPECT_EQ(c.embed_scale, 8);
  EXPECT_TRUE(c.norm_plus_one);
  EXPECT_EQ(c.tied, true);
  EXPECT_EQ(
      family_config(
          ConfigText("gemma").set("hidden_act", "\"gelu\"").set("hidden_activation", "\"silu\""))
          .activation,
      Activation::kSilu);
}

TEST(HfFamilies, Gemma2) {
  const ConfigText text = ConfigText("gemma2").set("sliding_window", "8");
  const Config c = family_config(text);
  EXPECT_EQ(c.window, (Windows{8, 0, 8, 0}));
  EXPECT_EQ(c.attention_scale, 1.0 / 16);
  EXPECT_EQ(c.score_cap, 50);
  EXPECT_EQ(c.logit_cap, 30);
  const Config uncapped = family_config(ConfigText(text)
                                            .set("attn_logit_softcapping", "null")
                                            .set("final_logit_softcapping", "null")
                                            .set("query_pre_attn_scalar", "144"));
  EXPECT_EQ(uncapped.score_cap, 0);
  EXPECT_EQ(uncapped.logit_cap, 0);
  EXPECT_EQ(uncapped.attention_scale, 1.0 / 12);
  expect_family_refused(ConfigText(text).set("query_pre_attn_scalar", "0"),
                        "query_pre_attn_scalar is 0, it must be positive");
}

TEST(HfFamilies, Gemma3InTheOldSpelling) {
  const ConfigText text = ConfigText("gemma3_text")
                              .set("sliding_window", "8")
                              .set("sliding_window_pattern", "2")
                              .set("rope_theta", "1000000")
                              .set("rope_local_base_freq", "5000")
                              .set("rope_scaling", R"({"rope_type": "linear", "factor": 8})");
  const Config c = family_config(text);
  EXPECT_EQ(c.architecture, "gemma3");
  EXPECT_TRUE(c.causal);
  EXPECT_EQ(c.window, (Windows{8, 0, 8, 0}));
  EXPECT_EQ(c.rope_layer, (Choices{1, 0, 1, 0}));
  ASSERT_EQ(c.ropes.size(), 2u);
  EXPECT_EQ(c.ropes[0].theta, 1e6);
  EXPECT_EQ(c.ropes[0].scaling.kind, RopeScaling::Kind::kLinear);
  EXPECT_EQ(c.ropes[1].theta, 5000);
  EXPECT_EQ(c.ropes[1].scaling.kind, RopeScaling::Kind::kNone);
}

TEST(HfFamilies, BidirectionalGemma3IsAnEncoder) {
  const Config c = family_config(ConfigText("gemma3_text")
                                     .set("sliding_window", "8")
                                     .set("use_bidirectional_attention", "true"));
  EXPECT_EQ(c.architecture, "gemma-embedding");
  EXPECT_FALSE(c.causal);
  EXPECT_EQ(c.window, (Windows{5, 5, 5, 5}));
}

ConfigText gemma4() {
  return ConfigText("gemma4_text")
      .set("sliding_window", "8")
      .set("layer_types", kAlternating)
      .set("head_dim", "16")
      .set("global_head_dim", "32")
      .set("num_global_key_value_heads", "1")
      .set("attention_k_eq_v", "true")
      .set("num_kv_shared_layers", "2")
      .set("use_double_wide_mlp", "true")
      .set("hidden_size_per_layer_input", "8")
      .set("vocab_size_per_layer_input", "320")
      .remove("rope_theta")
      .set("rope_parameters", R"({"full_attention": {"rope_type": "proportional",
           "rope_theta": 1e6, "partial_rotary_factor": 0.5},
           "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}})");
}

TEST(HfFamilies, Gemma4) {
  const Config c = family_config(gemma4());
  EXPECT_EQ(c.attention_scale, 1);
  EXPECT_FALSE(c.norm_plus_one);
  EXPECT_TRUE(c.v_norm);
  EXPECT_EQ(c.layer_input, 8);
  EXPECT_EQ(c.window, (Windows{8, 0, 8, 0}));
  EXPECT_EQ(c.kv_source, (Choices{-1, -1, 0, 1}));
  EXPECT_EQ(c.values_from_keys, (std::vector<bool>{false, true, false, false}));
  ASSERT_EQ(c.sizes.size(), 4u);
  EXPECT_EQ(c.sizes[0].head_dim, 16);
  EXPECT_EQ(c.sizes[0].kv_heads, 2);
  EXPECT_EQ(c.sizes[1].head_dim, 32);
  EXPECT_EQ(c.sizes[1].kv_heads, 1);
  EXPECT_EQ(c.sizes[1].ffn, 128);
  EXPECT_EQ(c.sizes[2].ffn, 256);
  ASSERT_EQ(c.ropes.size(), 2u);
  EXPECT_EQ(c.ropes[0].scaling.kind, RopeScaling::Kind::kProportional);
  EXPECT_EQ(c.ropes[0].scaling.pairs, 8);
  EXPECT_EQ(c.ropes[0].dims, 32);
  EXPECT_EQ(c.ropes[1].dims, 16);
}

TEST(HfFamilies, Gemma4WithSizesByLayer) {
  const auto sizes = [](std::string_view json) { return gemma4().set("per_layer_config", json); };
  const Config c =
      family_config(sizes(R"({"1": {"head_dim": 64, "num_key_value_heads": 4}, "3": {"head_dim": 64,
                "num_key_value_heads": 4}})"));
  EXPECT_EQ(c.sizes[1].head_dim, 64);
  EXPECT_EQ(c.sizes[1].kv_heads, 4);
  EXPECT_EQ(c.sizes[0].head_dim, 16);
  expect_family_refused(sizes("[1]"), "per_layer_config is an array, expected an object");
  expect_family_refused(sizes(R"({"4": {}})"), "expected an object for a layer below 4");
  expect_family_refused(sizes(R"({"x": {}})"), "per_layer_config.x is an object");
  expect_family_refused(sizes(R"({"1": {"hidden_size": 3}})"),
                        "per_layer_config.1.hidden_size is 3, supported are head_dim");
  expect_family_refused(sizes(R"({"1": {"head_dim": 64}})"),
                        "layer 3 cannot read the keys of layer 1");
}

TEST(HfFamilies, Gemma4RefusesWhatItDoesNotApply) {
  expect_family_refused(gemma4().set("enable_moe_block", "true"), "enable_moe_block is true");
  expect_family_refused(gemma4().set("use_bidirectional_attention", "\"all\""),
                        "use_bidirectional_attention is 'all'");
  EXPECT_NO_THROW(family_config(gemma4().set("use_bidirectional_attention", "\"vision\"")));
  expect_family_refused(gemma4().set("num_kv_shared_layers", "4"), "num_kv_shared_layers is 4");
  expect_family_refused(gemma4().set("vocab_size_per_layer_input", "100"),
                        "vocab_size_per_layer_input is 100");
  expect_family_refused(gemma4().remove("rope_parameters"), "rope_parameters is missing");
  // The last layer is full, even if the file says otherwise.
  constexpr std::string_view kTypes = R"(["full_attention", "sliding_attention",
                                          "sliding_attention", "sliding_attention"])";
  const Config c =
      family_config(gemma4().set("num_kv_shared_layers", "0").set("layer_types", kTypes));
  EXPECT_EQ(c.window, (Windows{0, 8, 8, 0}));
}

/// A multimodal config.json with `inner` as its language model.
std::string outer(std::string_view type, const ConfigText& inner, std::string_view more = "") {
  return cat(R"({"model_type": ")", type, R"(", "eos_token_id": [1, 106], "text_config": )",
             inner.text(), R"(, "vision_config": {"hidden_size": 3})", more, "}");
}

TEST(HfFamilies, LanguageModelsOfMultimodalModels) {
  const ConfigText inner =
      ConfigText("gemma3_text").remove("num_attention_heads").remove("vocab_size");
  LoadNotes notes;
  const Config c = family_config(outer("gemma3", inner), notes);
  EXPECT_EQ(c.heads, 8);
  EXPECT_EQ(c.vocab, 262208);
  EXPECT_EQ(c.tied, std::nullopt);
  EXPECT_EQ(ids_of(c.ends), (std::vector<std::int32_t>{1, 106}));
  EXPECT_EQ(notes.details().back(),
            "only the language model is used, not the parts of "
            "vision_config");
  const auto read = [](const std::string& text) {
    LoadNotes ignored;
    return family_config(text, ignored);
  };
  EXPECT_EQ(read(outer("gemma3", inner, R"(, "tie_word_embeddings": false)")).tied, false);
  EXPECT_EQ(read(outer("mistral3", ConfigText("mistral"))).model_type, "mistral");
  expect_refused([&] { read(outer("gemma3", ConfigText("pixtral"))); },
                 "unsupported model_type 'pixtral'");
  expect_refused([&] { read(outer("gemma3", ConfigText("llama").set("hidden_size", "0"))); },
                 "text_config.hidden_size is 0");
  expect_refused([&] { read(outer("gemma3", inner, R"(, "quantization": {"mode": "affine"})")); },
                 "quantization method 'affine'");
  expect_refused([&] { read(R"({"model_type": "gemma3"})"); }, "text_config is missing");
}

ConfigText phi3(std::string_view type = "longrope") {
  return ConfigText("phi3")
      .set("rope_scaling", cat(R"({"type": ")", type, R"(", "short_factor": [1, 1.5],
                               "long_factor": [2, 3.5]})"))
      .set("partial_rotary_factor", "0.25")
      .set("original_max_position_embeddings", "32");
}

TEST(HfFamilies, Phi3sLongrope) {
  for (const char* type : {"longrope", "su", "yarn"}) {
    const Config c = family_config(phi3(type));
    const RopeConfig& rope = c.ropes.front();
    EXPECT_EQ(rope.dims, 4);
    EXPECT_EQ(rope.scaling.kind, RopeScaling::Kind::kLongrope);
    EXPECT_EQ(rope.scaling.factor, 16);
    EXPECT_EQ(rope.scaling.original_context, 32);
    EXPECT_EQ(rope.scaling.attention_factor, std::nullopt);
    EXPECT_EQ(rope.scaling.short_factors, (std::vector<double>{1, 1.5}));
    EXPECT_EQ(rope.scaling.long_factors, (std::vector<double>{2, 3.5}));
  }
  EXPECT_EQ(family_config(phi3().set("original_max_position_embeddings", "512"))
                .ropes.front()
                .scaling.attention_factor,
            1);
  EXPECT_EQ(family_config(phi3().set("sliding_window", "16")).window, (Windows{16, 16, 16, 16}));
  expect_family_refused(phi3().set("partial_rotary_factor", "0.5"), "has 2 entries for 4 pairs");
  expect_family_refused(phi3().remove("original_max_position_embeddings"),
                        "rope_scaling.original_max_position_embeddings is missing");
  expect_family_refused(phi3().set("rope_scaling", R"({"type": "su", "short_factor": [1, 0],
                                                        "long_factor": [2, 3]})"),
                        "an entry of short_factor is 0");
  expect_family_refused(phi3().set("partial_rotary_factor", "1.5"), "partial_rotary_factor is 1.5");
  expect_family_refused(phi3().set("full_attn_mod", "2"), "full_attn_mod is 2");
}

TEST(HfFamilies, FactorsOfGraniteAndCohere) {
  const ConfigText granite = ConfigText("granite")
                                 .set("embedding_multiplier", "12")
                                 .set("residual_multiplier", "0.25")
                                 .set("attention_multiplier", "0.5")
                                 .set("logits_scaling", "8");
  const Config c = family_config(granite);
  EXPECT_EQ(c.embed_scale, 12);
  EXPECT_EQ(c.residual_scale, 0.25);
  EXPECT_EQ(c.attention_scale, 0.5);
  EXPECT_EQ(c.logit_scale, 0.125);
  EXPECT_EQ(family_config(ConfigText("granite")).attention_scale, 1);
  expect_family_refused(ConfigText(granite).set("logits_scaling", "0"), "logits_scaling is 0");
  expect_family_refused(ConfigText(granite).set("residual_multiplier", "-1"),
                        "residual_multiplier is -1");
  const Config cohere = family_config(ConfigText("cohere").set("layer_norm_eps", "0.01"));
  EXPECT_EQ(cohere.logit_scale, 0.0625);
  EXPECT_EQ(cohere.norm, Normalisation::kLayer);
  EXPECT_EQ(cohere.norm_eps, 0.01);
  EXPECT_TRUE(cohere.parallel_residual);
  EXPECT_EQ(cohere.ropes.front().style, RopeStyle::kAdjacent);
}

TEST(HfFamilies, BiasesAndHeadNorms) {
  const auto stated = [](std::string_view type, std::string_view key, std::string_view value) {
    return family_config(ConfigText(type).set(key, value));
  };
  for (const bool on : {false, true}) {
    const std::string_view text = on ? "true" : "false";
    EXPECT_EQ(stated("cohere", "use_qk_norm", text).qk_norm, on);
    EXPECT_EQ(stated("hunyuan_v1_dense", "use_qk_norm", text).qk_norm, on);
    EXPECT_EQ(stated("stablelm", "qk_layernorm", text).qk_norm, on);
    EXPECT_EQ(stated("stablelm", "use_qkv_bias", text).attention_bias, on);
    EXPECT_EQ(stated("stablelm", "use_qkv_bias", text).attention_out_bias, false);
    EXPECT_EQ(stated("glm4", "attention_bias", text).attention_bias, on);
    EXPECT_EQ(stated("glm4", "attention_bias", text).attention_out_bias, false);
    EXPECT_EQ(stated("seed_oss", "attention_out_bias", text).attention_out_bias, on);
    EXPECT_EQ(stated("llama", "attention_bias", text).attention_out_bias, on);
  }
  // Defaults.
  EXPECT_EQ(family_config(ConfigText("seed_oss")).attention_bias, true);
  EXPECT_EQ(family_config(ConfigText("glm4")).attention_bias, true);
  EXPECT_EQ(family_config(ConfigText("hunyuan_v1_dense")).qk_norm, true);
  EXPECT_EQ(family_config(ConfigText("stablelm")).qk_norm, false);
  EXPECT_FALSE(family_config(ConfigText("llama")).attention_bias);
  EXPECT_FALSE(family_config(ConfigText("qwen3")).qk_norm);
}

TEST(HfFamilies, LayersWithoutRotation) {
  const Config cohere2 = family_config(ConfigText("cohere2").set("sliding_window", "8"));
  EXPECT_EQ(cohere2.window, (Windows{8, 8, 8, 0}));
  EXPECT_EQ(cohere2.rope_layer, (Choices{0, 0, 0, -1}));
  EXPECT_EQ(family_config(ConfigText("smollm3")).rope_layer, (Choices{0, 0, 0, -1}));
  const ConfigText listed = ConfigText("smollm3").set("no_rope_layers", "[0, 1, 1, 0]");
  EXPECT_EQ(family_config(listed).rope_layer, (Choices{-1, 0, 0, -1}));
  EXPECT_TRUE(
      family_config(ConfigText("smollm3").set("no_rope_layer_interval", "8")).rope_layer.empty());
  expect_family_refused(ConfigText("smollm3").set("no_rope_layers", "[0]"), "1 entries for 4");
  expect_family_refused(ConfigText("smollm3").set("no_rope_layers", "[0, 1, 2, 0]"),
                        "an entry of no_rope_layers is 2");
}

TEST(HfFamilies, Exaone4RotatesFullLayersOnlyWithoutWindows) {
  const ConfigText text = ConfigText("exaone4").set("sliding_window", "8");
  const Config hybrid = family_config(text);
  EXPECT_EQ(hybrid.window, (Windows{8, 8, 8, 0}));
  EXPECT_EQ(hybrid.rope_layer, (Choices{0, 0, 0, -1}));
  EXPECT_EQ(family_config(ConfigText(text).remove("sliding_window")).rope_layer, hybrid.rope_layer);
  EXPECT_EQ(family_config(ConfigText(text).set("sliding_window_pattern", "2")).rope_layer,
            (Choices{0, -1, 0, -1}));
  // The two published forms state layer_types beside another type of sliding_window_pattern.
  const Config listed = family_config(
      ConfigText(text).set("layer_types", kAlternating).set("sliding_window_pattern", "\"LG\""));
  EXPECT_EQ(listed.window, (Windows{8, 0, 8, 0}));
  EXPECT_EQ(listed.rope_layer, (Choices{0, -1, 0, -1}));
  constexpr std::string_view kAllFull =
      R"(["full_attention", "full_attention", "full_attention", "full_attention"])";
  const ConfigText full = ConfigText("exaone4")
                              .set("sliding_window", "null")
                              .set("sliding_window_pattern", "null")
                              .set("layer_types", kAllFull);
  EXPECT_TRUE(family_config(full).window.empty());
  EXPECT_TRUE(family_config(full).rope_layer.empty());
  // A window that no layer has still means that full layers do not rotate, as in transformers.
  EXPECT_EQ(family_config(ConfigText(full).set("sliding_window", "8")).rope_layer,
            (Choices{-1, -1, -1, -1}));
  expect_family_refused(ConfigText(text).set("sliding_window_pattern", "\"LLLG\""),
                        "sliding_window_pattern is 'LLLG'");
}

TEST(HfFamilies, Olmo3ScalesFullLayersOnly) {
  const Config c = family_config(ConfigText("olmo3")
                                     .set("sliding_window", "8")
                                     .set("rope_scaling", R"({"rope_type": "yarn", "factor": 4})"));
  EXPECT_EQ(c.architecture, "olmo2");
  EXPECT_EQ(c.window, (Windows{8, 8, 8, 0}));
  EXPECT_EQ(c.rope_layer, (Choices{1, 1, 1, 0}));
  EXPECT_EQ(c.ropes[0].scaling.kind, RopeScaling::Kind::kYarn);
  EXPECT_EQ(c.ropes[1].scaling.kind, RopeScaling::Kind::kNone);
  expect_family_refused(ConfigText("olmo3")
                            .set("sliding_window", "8")
                            .set("rope_parameters", R"({"full_attention": {}, "rope_theta": 777})"),
                        "rope_parameters.rope_theta is 777, expected only full_attention");
}

TEST(HfFamilies, PartsOfHeadsThatRotate) {
  EXPECT_EQ(family_config(ConfigText("glm4")).ropes.front().dims, 64);
  EXPECT_EQ(family_config(ConfigText("glm4")).ropes.front().style, RopeStyle::kAdjacent);
  const ConfigText stablelm = ConfigText("stablelm").set("num_key_value_heads", "4");
  EXPECT_EQ(family_config(stablelm).ropes.front().dims, 4);
  EXPECT_FALSE(family_config(stablelm).parallel_residual);
  EXPECT_TRUE(
      family_config(ConfigText(stablelm).set("use_parallel_residual", "true")).parallel_residual);
}

TEST(HfFamilies, HunyuansFixedAlpha) {
  const ConfigText text =
      ConfigText("hunyuan_v1_dense").set("rope_scaling", R"({"type": "dynamic", "alpha": 1000.0,
                                   "factor": 1.0, "mscale": 1.0, "mscale_all_dim": 0.0})");
  // 10000 * 1000^(16 / 14)
  EXPECT_NEAR(family_config(text).ropes.front().theta, 2.6826958e7, 10);
  EXPECT_EQ(family_config(text).ropes.front().scaling.kind, RopeScaling::Kind::kNone);
  EXPECT_TRUE(family_config(text).qk_norm_after_rope);
  expect_family_refused(
      ConfigText(text).set("rope_scaling", R"({"type": "dynamic", "factor": 1.0})"),
      "rope_scaling.alpha is missing");
  expect_family_refused(ConfigText(text).set("rope_scaling", R"({"type": "dynamic", "alpha": -1})"),
                        "rope_scaling.alpha is -1");
}

ConfigText gpt_oss() {
  return ConfigText("gpt_oss")
      .set("sliding_window", "8")
      .set("num_local_experts", "4")
      .set("num_experts_per_tok", "2")
      .set("rope_scaling", R"({"rope_type": "yarn", "factor": 4, "truncate": false})");
}

TEST(HfFamilies, GptOss) {
  const Config c = family_config(gpt_oss());
  EXPECT_EQ(c.activation, Activation::kGptOss);
  EXPECT_EQ(c.window, (Windows{8, 0, 8, 0}));
  EXPECT_EQ(c.experts, 4);
  EXPECT_EQ(c.expert_ffn, 128);
  EXPECT_FALSE(c.ropes.front().scaling.truncate);
  EXPECT_EQ(c.attention_bias, true);
  EXPECT_NO_THROW(family_config(gpt_oss().set(
      "quantization_config", R"({"quant_method": "mxfp4", "modules_to_not_convert": ["x"]})")));
  expect_family_refused(gpt_oss().set("quantization_config", R"({"quant_method": "awq"})"),
                        "method 'awq' is not supported");
  expect_family_refused(gpt_oss().set("swiglu_limit", "6"), "swiglu_limit is 6, supported is 7");
  expect_family_refused(gpt_oss().set("hidden_act", "\"gelu\""), "hidden_act is 'gelu'");
  expect_family_refused(gpt_oss().remove("rope_scaling"), "rope_parameters is missing");
  expect_family_refused(gpt_oss().set("num_experts_per_tok", "5"), "num_experts_per_tok is 5");
}

ConfigText moe(std::string_view type) {
  return ConfigText(type)
      .set("num_local_experts", "8")
      .set("num_experts_per_tok", "2")
      .set("moe_intermediate_size", "32");
}

TEST(HfFamilies, Mixtures) {
  const Config mixtral = family_config(moe("mixtral"));
  EXPECT_EQ(mixtral.architecture, "llama");
  EXPECT_EQ(mixtral.experts, 8);
  EXPECT_EQ(mixtral.expert_ffn, 128);
  EXPECT_TRUE(mixtral.router.renormalise);
  EXPECT_TRUE(family_config(moe("granitemoe")).router.renormalise);
  const Config shared =
      family_config(moe("granitemoeshared").set("shared_intermediate_size", "48"));
  EXPECT_EQ(shared.shared_ffn, 48);
  EXPECT_FALSE(family_config(moe("olmoe")).router.renormalise);
  expect_family_refused(moe("olmoe").set("clip_qkv", "8"), "clip_qkv is 8");
  const ConfigText qwen = moe("qwen2_moe").set("shared_expert_intermediate_size", "96");
  EXPECT_EQ(family_config(qwen).shared_ffn, 96);
  EXPECT_EQ(family_config(ConfigText(qwen).set("sliding_window", "0")).window, Windows{});
  expect_family_refused(
      ConfigText(qwen).set("sliding_window", "8").set("use_sliding_window", "true"),
      "use_sliding_window is true, it is supported only with layer_types");
}

ConfigText deepseek(std::string_view type) {
  return moe(type)
      .remove("num_local_experts")
      .set("n_routed_experts", "8")
      .set("n_shared_experts", "2")
      .set("first_k_dense_replace", "1")
      .set("kv_lora_rank", "32")
      .set("qk_nope_head_dim", "16")
      .set("qk_rope_head_dim", "8")
      .set("v_head_dim", "24")
      .set("n_group", "4")
      .set("topk_group", "2")
      .set("rope_scaling", R"({"type": "yarn", "factor": 4, "mscale": 0.5, "mscale_all_dim": 1,
                               "original_max_position_embeddings": 128})");
}

TEST(HfFamilies, DeepSeek) {
  const Config c = family_config(deepseek("deepseek_v3").set("num_nextn_predict_layers", "2"));
  EXPECT_EQ(c.mla.q_rank, 1536);
  EXPECT_EQ(c.mla.kv_rank, 32);
  EXPECT_EQ(c.mla.nope, 16);
  EXPECT_EQ(c.mla.rope, 8);
  EXPECT_EQ(c.mla.value, 24);
  EXPECT_EQ(c.mla.norm_eps, 1e-6);
  EXPECT_EQ(c.head_dim, 24);
  EXPECT_EQ(c.ropes.front().dims, 8);
  EXPECT_EQ(c.ropes.front().style, RopeStyle::kAdjacent);
  // m(x) = 0.1 x ln(4) + 1; the scale is m(1)^2 / sqrt(24).
  EXPECT_NEAR(*c.attention_scale, 0.2646423, 1e-6);
  EXPECT_NEAR(*c.ropes.front().scaling.attention_factor, 0.939125, 1e-6);
  EXPECT_EQ(c.shared_ffn, 64);
  EXPECT_EQ(c.dense_layer, (std::vector<bool>{true, false, false, false}));
  EXPECT_TRUE(c.router.sigmoid && c.router.renormalise && c.router.groups_by_two_best);
  EXPECT_EQ(c.router.groups, 4);
  EXPECT_EQ(c.router.groups_used, 2);
  EXPECT_EQ(c.router.scale, 2.5);
  EXPECT_EQ(c.mtp_layers, 2);
  EXPECT_EQ(
      family_config(deepseek("deepseek_v3").set("rope_interleave", "false")).ropes.front().style,
      RopeStyle::kHalfSplit);

  const Config v2 = family_config(deepseek("deepseek_v2")
                                      .set("q_lora_rank", "null")
                                      .set("topk_method", "\"group_limited_greedy\""));
  EXPECT_EQ(v2.mla.q_rank, 0);
  EXPECT_FALSE(v2.router.sigmoid || v2.router.renormalise || v2.router.groups_by_two_best);
  EXPECT_EQ(v2.router.groups, 4);
  EXPECT_EQ(family_config(deepseek("deepseek_v2")).router.groups, 1);
}

TEST(HfFamilies, DeepSeekRefusesOtherRouters) {
  const auto refused = [](std::string_view type, std::string_view key, std::string_view value,
                          std::string_view part) {
    expect_family_refused(deepseek(type).set(key, value), part);
  };
  refused("deepseek_v2", "norm_topk_prob", "true", "norm_topk_prob is true, supported is false");
  refused("deepseek_v2", "scoring_func", "\"sigmoid\"", "scoring_func is 'sigmoid'");
  refused("deepseek_v2", "topk_method", "\"noaux_tc\"", "topk_method is 'noaux_tc'");
  refused("deepseek_v3", "topk_method", "\"greedy\"", "topk_method is 'greedy'");
  refused("deepseek_v3", "moe_layer_freq", "2", "moe_layer_freq is 2");
  refused("deepseek_v3", "n_group", "3", "8 experts do not divide into 3 groups");
  refused("deepseek_v3", "topk_group", "5", "the number of expert groups used is 5");
  refused("deepseek_v3", "n_group", "8", "the size of a group is 1");
  refused("deepseek_v3", "kv_lora_rank", "1000", "the rank of keys and values is 1000");
  refused("deepseek_v3", "num_experts_per_tok", "5", "the number of experts used is 5");
  refused("deepseek_v3", "routed_scaling_factor", "0", "the factor of experts is 0");
  refused("deepseek_v3", "attention_bias", "true", "attention_bias is true, supported is false");
}

TEST(HfFamilies, Glm45) {
  const Config c =
      family_config(moe("glm4_moe").remove("num_local_experts").set("n_routed_experts", "8"));
  EXPECT_EQ(c.architecture, "glm4moe");
  EXPECT_TRUE(c.router.sigmoid);
  EXPECT_EQ(c.shared_ffn, 32);
  EXPECT_EQ(c.dense_layer, (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(c.ropes.front().dims, 8);
  EXPECT_EQ(c.ropes.front().style, RopeStyle::kHalfSplit);
  EXPECT_EQ(c.mtp_layers, 1);
}

TEST(HfFamilies, BertAndItsPositions) {
  const Config bert = family_config(ConfigText("bert").set("layer_norm_eps", "0.001"));
  EXPECT_FALSE(bert.causal || bert.gated);
  EXPECT_EQ(bert.norm, Normalisation::kLayer);
  EXPECT_EQ(bert.norm_eps, 0.001);
  EXPECT_EQ(bert.rope_layer, (Choices{-1, -1, -1, -1}));
  EXPECT_EQ(bert.context, 512);
  EXPECT_EQ(bert.labels, 0);
  const Config roberta = family_config(ConfigText("xlm-roberta"));
  EXPECT_EQ(roberta.architecture, "bert");
  EXPECT_EQ(roberta.position_offset, 2);
  EXPECT_EQ(roberta.context, 510);
  EXPECT_EQ(family_config(ConfigText("roberta").set("pad_token_id", "7")).position_offset, 8);
  const Config mpnet = family_config(ConfigText("mpnet").set("pad_token_id", "7"));
  EXPECT_EQ(mpnet.position_offset, 2);
  EXPECT_EQ(mpnet.relative_buckets, 32);
  expect_family_refused(ConfigText("mpnet").set("relative_attention_num_buckets", "64"),
                        "relative_attention_num_buckets is 64");
  expect_family_refused(ConfigText("roberta").set("max_position_embeddings", "2"),
                        "positions begin at row 2");
  for (const char* type : {"alibi", "relative_key"}) {
    expect_family_refused(ConfigText("bert").set("position_embedding_type", cat("\"", type, "\"")),
                          cat("position_embedding_type is '", type, "'"));
  }
  expect_family_refused(ConfigText("bert").set("is_decoder", "true"), "is_decoder is true");
}

TEST(HfFamilies, NomicBertInBothSpellings) {
  const Config c = family_config(ConfigText("nomic_bert").set("rope_theta", "1000"));
  EXPECT_EQ(c.ropes.front().theta, 1000);
  EXPECT_TRUE(c.gated);
  LoadNotes notes;
  const Config old = family_config(R"({"model_type": "nomic_bert", "n_embd": 64, "n_head": 4,
      "n_layer": 4, "n_inner": 128, "n_positions": 512, "vocab_size": 320, "causal": false,
      "activation_function": "swiglu", "layer_norm_epsilon": 1e-12, "rotary_emb_base": 1000,
      "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": false, "prenorm": false})",
                                   notes);
  EXPECT_EQ(old.hidden, 64);
  EXPECT_EQ(old.context, 512);
  EXPECT_EQ(old.activation, Activation::kSilu);
  EXPECT_EQ(old.ropes.front().dims, 16);
  EXPECT_EQ(old.ropes.front().theta, 1000);
  EXPECT_TRUE(notes.warnings().empty());
  expect_family_refused(ConfigText("nomic_bert").set("prenorm", "true"), "prenorm is true");
  expect_family_refused(ConfigText("nomic_bert").set("moe_every_n_layers", "2"),
                        "moe_every_n_layers is 2");
}

TEST(HfFamilies, ModernBertInTheOldSpelling) {
  const Config c = family_config(ConfigText("modernbert")
                                     .remove("rope_theta")
                                     .set("norm_eps", "0.001")
                                     .set("local_attention", "16")
                                     .set("global_attn_every_n_layers", "3")
                                     .set("global_rope_theta", "160000.0")
                                     .set("local_rope_theta", "10000.0"));
  EXPECT_EQ(c.norm_eps, 0.001);
  EXPECT_EQ(c.window, (Windows{0, 9, 9, 0}));
  EXPECT_EQ(c.rope_layer, (Choices{0, 1, 1, 0}));
  EXPECT_EQ(c.ropes[0].theta, 160000);
  EXPECT_EQ(c.ropes[1].theta, 10000);
}

TEST(HfFamilies, HeadsOfCrossEncoders) {
  const auto classifier = [](std::string_view type, std::string_view name) {
    return ConfigText(type).set("architectures", cat("[\"", name, "\"]"));
  };
  const Config bert = family_config(
      classifier("bert", "BertForSequenceClassification").set("id2label", R"({"0": "LABEL_0"})"));
  EXPECT_EQ(bert.labels, 1);
  EXPECT_EQ(bert.pooling, PoolingKind::kCls);
  ASSERT_EQ(bert.dense.size(), 2u);
  EXPECT_EQ(bert.dense[0].weight, "bert.pooler.dense.weight");
  EXPECT_TRUE(bert.dense[0].tanh);
  EXPECT_EQ(bert.dense[1].bias, "classifier.bias");
  EXPECT_EQ(bert.dense[1].outputs, 1);
  const Config roberta = family_config(classifier("roberta", "RobertaForSequenceClassification"));
  EXPECT_EQ(roberta.labels, 2);
  EXPECT_EQ(roberta.dense[1].weight, "classifier.out_proj.weight");
  expect_family_refused(classifier("qwen3", "Qwen3ForSequenceClassification"),
                        "sequence classification is not supported for qwen3");
  for (const char* name : {"HF_ColBERT", "BertForTokenClassification"}) {
    expect_family_refused(classifier("bert", name), cat("architectures names ", name));
  }
  expect_family_refused(ConfigText("bert").set("architectures", "[3]"),
                        "an entry of architectures is 3");
}

TEST(HfFamilies, OtherFamiliesReadTheirSwitches) {
  const Config star = family_config(ConfigText("starcoder2")
                                        .set("norm_epsilon", "0.001")
                                        .set("sliding_window", "16")
                                        .set("use_bias", "true"));
  EXPECT_EQ(star.norm_eps, 0.001);
  EXPECT_EQ(star.mlp_bias, true);
  EXPECT_EQ(star.window, (Windows{16, 16, 16, 16}));
  const Config ernie = family_config(ConfigText("ernie4_5").set("use_bias", "true"));
  EXPECT_EQ(ernie.attention_bias, true);
  EXPECT_EQ(ernie.head_dim, 128);
  EXPECT_EQ(family_config(ConfigText("seed_oss")).head_dim, 128);
  EXPECT_EQ(family_config(ConfigText("olmo2")).window, Windows{});
}

}  // namespace
}  // namespace ingot
