// Tests of config.json: every family's fields and defaults, lines S18 to S22 and S24, and real
// files.
#include "load/hf/hf_config.h"

#include <gtest/gtest.h>

#include <span>

#include "load/hf/hf_test_util.h"

namespace ingot {
namespace {

using namespace testing_hf;

struct Read {
  Config config;
  LoadNotes notes;
};

/// As opening a folder does it.
Read read(std::string_view config, std::string_view generation = {}) {
  Read r;
  r.config = read_hf_config(parse_json(config, "config.json", "config", kHfConfigLimits),
                            "config.json", r.notes);
  if (!generation.empty()) {
    const Json root = parse_json(generation, "generation_config.json", "config", kHfConfigLimits);
    read_generation_config(root, "generation_config.json", r.config, r.notes);
  }
  validate_config(r.config, "config.json");
  return r;
}

Config config(const ConfigText& text) { return read(text.text()).config; }

void expect_config_refused(const ConfigText& text, std::string_view part) {
  expect_refused([&] { read(text.text()); }, part);
}

/// A config of `type` with one member replaced.
ConfigText with(std::string_view key, std::string_view json, std::string_view type = "llama") {
  return ConfigText(type).set(key, json);
}

TEST(HfConfig, Llama) {
  const Read r = read(ConfigText().text());
  const Config& c = r.config;
  EXPECT_TRUE(r.notes.details().empty());
  EXPECT_EQ(c.naming, Naming::kHuggingFace);
  EXPECT_EQ(c.architecture, "llama");
  EXPECT_EQ(c.model_type, "llama");
  EXPECT_EQ(c.layers, 4);
  EXPECT_EQ(c.hidden, 64);
  EXPECT_EQ(c.heads, 4);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.head_dim, 16);
  EXPECT_EQ(c.ffn, 128);
  EXPECT_EQ(c.context, 512);
  EXPECT_EQ(c.vocab, 320);
  EXPECT_EQ(c.norm_eps, 1e-5);
  EXPECT_EQ(c.activation, Activation::kSilu);
  EXPECT_EQ(c.ropes.front().style, RopeStyle::kHalfSplit);
  EXPECT_EQ(c.ropes.front().theta, 10000);
  EXPECT_EQ(c.ropes.front().dims, 16);
  EXPECT_EQ(c.ropes.front().scaling.kind, RopeScaling::Kind::kNone);
  EXPECT_TRUE(c.window.empty());
  EXPECT_EQ(c.tied, false);
  EXPECT_EQ(c.experts, 0);
  EXPECT_TRUE(c.dense_layer.empty());
  EXPECT_TRUE(c.ends.empty());
  EXPECT_EQ(c.bos_id, std::nullopt);
}

TEST(HfConfig, ArchitecturesHaveTheNamesOfGguf) {
  EXPECT_EQ(config(ConfigText("mistral")).architecture, "llama");
  EXPECT_EQ(config(ConfigText("mistral")).model_type, "mistral");
  EXPECT_EQ(config(ConfigText("qwen2")).architecture, "qwen2");
  EXPECT_EQ(config(ConfigText("qwen3")).architecture, "qwen3");
  EXPECT_EQ(config(ConfigText("qwen3_moe")).architecture, "qwen3moe");
}

TEST(HfConfig, HeadsAndTheirSize) {
  for (const char* absent : {"null", ""}) {
    ConfigText text = with("num_key_value_heads", "null").set("head_dim", "null");
    if (*absent == '\0') text.remove("num_key_value_heads").remove("head_dim");
    EXPECT_EQ(config(text).kv_heads, 4);
    EXPECT_EQ(config(text).head_dim, 16);
  }
  EXPECT_EQ(config(with("head_dim", "64")).head_dim, 64);
  EXPECT_EQ(config(with("head_dim", "64")).ropes.front().dims, 64);
  expect_config_refused(with("hidden_size", "66"), "hidden_size 66 does not divide into 4 heads");
  EXPECT_NO_THROW(config(with("hidden_size", "66").set("head_dim", "16")));
  expect_config_refused(with("head_dim", "15"), "it must be even");
}

TEST(HfConfig, BiasesAndTyingWhereTheFamilyReadsThem) {
  const auto biased = [](std::string_view type) {
    return config(ConfigText(type).set("attention_bias", "true").set("mlp_bias", "true"));
  };
  EXPECT_EQ(biased("llama").attention_bias, true);
  EXPECT_EQ(biased("llama").mlp_bias, true);
  EXPECT_EQ(biased("qwen3").attention_bias, true);
  EXPECT_EQ(biased("qwen3").mlp_bias, std::nullopt);
  EXPECT_EQ(biased("qwen2").attention_bias, std::nullopt);
  EXPECT_EQ(biased("mistral").attention_bias, std::nullopt);
  expect_config_refused(with("attention_bias", "1"), "attention_bias is 1, expected true or false");
}

TEST(HfConfig, S23TyingIsReadAsWritten) {
  for (const char* type : {"llama", "mistral", "qwen2", "qwen3", "qwen3_moe"}) {
    EXPECT_EQ(config(ConfigText(type)).tied, false) << type;
    EXPECT_EQ(config(with("tie_word_embeddings", "true", type)).tied, true) << type;
    EXPECT_EQ(config(with("tie_word_embeddings", "false", type)).tied, false) << type;
  }
  expect_config_refused(with("tie_word_embeddings", "\"yes\""), "tie_word_embeddings is 'yes'");
}

TEST(HfConfig, WhatIsMissing) {
  for (const char* key : {"num_hidden_layers", "hidden_size", "num_attention_heads",
                          "intermediate_size", "vocab_size", "model_type"}) {
    expect_config_refused(ConfigText().remove(key), cat(key, " is missing"));
    expect_config_refused(with(key, "null"), cat(key, " is missing"));
  }
  const Read r = read(ConfigText()
                          .remove("rms_norm_eps")
                          .remove("max_position_embeddings")
                          .remove("rope_theta")
                          .text());
  EXPECT_EQ(r.config.norm_eps, 1e-6);
  EXPECT_EQ(r.config.context, 2048);
  EXPECT_EQ(r.notes.details(),
            (std::vector<std::string>{"max_position_embeddings is missing: taken as 2048",
                                      "rms_norm_eps is missing: taken as 1e-06"}));
  EXPECT_EQ(r.notes.warnings(), std::vector<std::string>{"rope_theta is missing: taken as 10000"});
}

/// The kinds of JSON values that a key does not take.
constexpr std::string_view kNoInteger[] = {"\"4096\"", "[[]]", "{\"a\": 1}", "true", "17.5"};
constexpr std::string_view kNoNumber[] = {"\"1e-6\"", "[[]]", "{\"a\": 1}", "true"};
constexpr std::string_view kNoFlag[] = {"\"true\"", "[[]]", "{\"a\": 1}", "1", "1.0"};
constexpr std::string_view kNoText[] = {"1", "[[]]", "{\"a\": 1}", "true", "1.5"};
constexpr std::string_view kNoArray[] = {"1", "\"x\"", "{\"a\": 1}", "true", "1.5"};
constexpr std::string_view kNoObject[] = {"1", "\"x\"", "[[]]", "true", "1.5"};

TEST(HfConfig, EveryKeyOfAnotherTypeIsNamed) {
  struct Case {
    const char* key;
    std::span<const std::string_view> wrong;
  };
  const Case cases[] = {{"model_type", kNoText},
                        {"num_hidden_layers", kNoInteger},
                        {"hidden_size", kNoInteger},
                        {"num_attention_heads", kNoInteger},
                        {"num_key_value_heads", kNoInteger},
                        {"head_dim", kNoInteger},
                        {"intermediate_size", kNoInteger},
                        {"vocab_size", kNoInteger},
                        {"max_position_embeddings", kNoInteger},
                        {"rms_norm_eps", kNoNumber},
                        {"hidden_act", kNoText},
                        {"attention_bias", kNoFlag},
                        {"tie_word_embeddings", kNoFlag},
                        {"rope_theta", kNoNumber},
                        {"partial_rotary_factor", kNoNumber},
                        {"rope_scaling", kNoObject},
                        {"rope_parameters", kNoObject},
                        {"original_max_position_embeddings", kNoInteger},
                        {"sliding_window", kNoInteger},
                        {"use_sliding_window", kNoFlag},
                        {"max_window_layers", kNoInteger},
                        {"layer_types", kNoArray},
                        {"num_experts", kNoInteger},
                        {"num_local_experts", kNoInteger},
                        {"num_experts_per_tok", kNoInteger},
                        {"moe_intermediate_size", kNoInteger},
                        {"norm_topk_prob", kNoFlag},
                        {"decoder_sparse_step", kNoInteger},
                        {"mlp_only_layers", kNoArray},
                        {"eos_token_id", kNoInteger}};
  for (const Case& c : cases) {
    for (const std::string_view value : c.wrong) {
      expect_config_refused(with(c.key, value, "qwen3_moe"), cat(c.key, " is "));
    }
  }
  for (const std::string_view value : kNoFlag) {
    expect_config_refused(with("mlp_bias", value), "mlp_bias is ");
  }
}

TEST(HfConfig, EveryRotaryMemberOfAnotherTypeIsNamed) {
  struct Case {
    const char* key;
    std::span<const std::string_view> wrong;
  };
  const Case cases[] = {{"factor", kNoNumber},
                        {"original_max_position_embeddings", kNoInteger},
                        {"beta_fast", kNoNumber},
                        {"beta_slow", kNoNumber},
                        {"truncate", kNoFlag},
                        {"attention_factor", kNoNumber},
                        {"mscale", kNoNumber},
                        {"rope_theta", kNoNumber},
                        {"partial_rotary_factor", kNoNumber}};
  for (const Case& c : cases) {
    for (const std::string_view value : c.wrong) {
      const bool is_factor = std::string_view(c.key) == "factor";
      expect_config_refused(
          with("rope_scaling", cat(R"({"rope_type": "yarn")", is_factor ? "" : R"(, "factor": 4)",
                                   ", \"", c.key, "\": ", value, "}")),
          cat("rope_scaling.", c.key, " is "));
    }
  }
}

TEST(HfConfig, S18Sizes) {
  for (const char* bad : {"0", "-1", "1e308", "\"4096\"", "1000000000", "4096.0", "[64]"}) {
    for (const char* key : {"hidden_size", "num_hidden_layers", "num_attention_heads",
                            "num_key_value_heads", "head_dim", "intermediate_size"}) {
      expect_config_refused(with(key, bad), cat("config.json: config @0: ", key, " is "));
    }
  }
  expect_config_refused(with("hidden_size", "NaN"), "malformed JSON");
  expect_config_refused(with("vocab_size", "2147483648"), "vocab_size is 2147483648");
  expect_config_refused(with("vocab_size", "0"), "vocab_size is 0");
  expect_config_refused(with("max_position_embeddings", "5000000000"), "max_position_embeddings");
  expect_config_refused(with("num_key_value_heads", "3"), "4 heads do not divide into 3 kv heads");
  expect_config_refused(with("num_key_value_heads", "8"), "4 heads do not divide into 8 kv heads");
  expect_config_refused(with("rms_norm_eps", "0"), "epsilon is 0");
  expect_config_refused(with("rms_norm_eps", "\"1e-6\""), "rms_norm_eps is '1e-6'");
}

TEST(HfConfig, S19TextThatIsNoConfig) {
  std::string deep = "{\"a\":";
  for (int i = 0; i < 1000; ++i) deep += "[";
  expect_refused([&] { read(deep); }, "nested deeper");
  expect_refused([] { read(std::string(8'388'609, ' ')); }, "at most 8388608");
  std::string many = "{\"a\":[0";
  for (int i = 0; i < 200'000; ++i) many += ",0";
  expect_refused([&] { read(many + "]}"); }, "more than 200000 JSON values");
  expect_refused([] { read(R"({"model_type": "llama", "model_type": "llama"})"); },
                 "duplicate key 'model_type'");
  expect_refused([] { read(R"({"model_type": "llama",})"); }, "malformed JSON");
  expect_refused([] { read("[1]"); }, "it holds an array, expected an object");
  expect_refused([] { read("{}"); }, "model_type is missing");
}

TEST(HfConfig, S20CodeIsIgnoredAndUnknownTypesAreRefused) {
  EXPECT_NO_THROW(config(with("auto_map", R"({"AutoModel": "evil.py--Evil"})")
                             .set("trust_remote_code", "true")
                             .set("something_new", "[1, {}]")));
  expect_config_refused(with("model_type", "\"gpt_neox\""),
                        "unknown or unsupported model_type 'gpt_neox'; supported: llama, mistral, "
                        "qwen2, qwen3, qwen3_moe");
  expect_config_refused(with("model_type", "\"a\\u001b[31m\\nb\""), "'a\\x1b[31m\\x0ab'");
  expect_config_refused(with("model_type", "42"), "model_type is 42, expected a string");
}

TEST(HfConfig, Activations) {
  EXPECT_EQ(config(with("hidden_act", "\"silu\"")).activation, Activation::kSilu);
  EXPECT_EQ(config(with("hidden_act", "\"gelu\"")).activation, Activation::kGeluErf);
  EXPECT_EQ(config(with("hidden_act", "\"gelu_new\"")).activation, Activation::kGeluTanh);
  expect_config_refused(with("hidden_act", "\"relu\""), "hidden_act is 'relu', supported are silu");
  expect_config_refused(with("hidden_act", "42"), "hidden_act is 42, expected a string");
}

TEST(HfConfig, RopeScalingInBothSpellings) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Config linear = config(with(key, R"({"type": "linear", "factor": 4})"));
    EXPECT_EQ(linear.ropes.front().scaling.kind, RopeScaling::Kind::kLinear);
    EXPECT_EQ(linear.ropes.front().scaling.factor, 4);

    const Config llama3 =
        config(with(key, R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                             "high_freq_factor": 4.0, "original_max_position_embeddings": 32})"));
    EXPECT_EQ(llama3.ropes.front().scaling.kind, RopeScaling::Kind::kLlama3);
    EXPECT_EQ(llama3.ropes.front().scaling.low_freq_factor, 1);
    EXPECT_EQ(llama3.ropes.front().scaling.high_freq_factor, 4);
    EXPECT_EQ(llama3.ropes.front().scaling.original_context, 32);

    const Config theta =
        config(with(key, R"({"rope_type": "default", "rope_theta": 5e5})").remove("rope_theta"));
    EXPECT_EQ(theta.ropes.front().scaling.kind, RopeScaling::Kind::kNone);
    EXPECT_EQ(theta.ropes.front().theta, 5e5);
    EXPECT_EQ(
        config(with(key, R"({"rope_theta": 5e5})").set("rope_theta", "500000")).ropes.front().theta,
        5e5);
    expect_config_refused(with(key, R"({"rope_theta": 5e5})").set("rope_theta", "10000"),
                          "rope_theta is 10000, the rotary parameters say 5e+05");
  }
  EXPECT_EQ(config(with("rope_theta", "1000000")).ropes.front().theta, 1e6);
  EXPECT_EQ(config(with("rope_scaling", "null").set("rope_parameters", "null")).ropes.front().theta,
            10000);
  expect_config_refused(with("rope_scaling", R"({"type": "linear", "factor": 4})")
                            .set("rope_parameters", R"({"rope_theta": 1e4})"),
                        "both rope_scaling and rope_parameters");
}

TEST(HfConfig, Yarn) {
  const auto yarn = [](std::string_view more) {
    return config(with("rope_scaling", cat(R"({"rope_type": "yarn", "factor": 4)", more, "}")))
        .ropes.front()
        .scaling;
  };
  const RopeScaling plain = yarn("");
  EXPECT_EQ(plain.kind, RopeScaling::Kind::kYarn);
  EXPECT_EQ(plain.factor, 4);
  EXPECT_EQ(plain.original_context, 512);
  EXPECT_EQ(plain.beta_fast, 32);
  EXPECT_EQ(plain.beta_slow, 1);
  EXPECT_TRUE(plain.truncate);
  EXPECT_EQ(plain.attention_factor, std::nullopt);
  const RopeScaling full = yarn(R"(, "original_max_position_embeddings": 32, "beta_fast": 16,
      "beta_slow": 2, "truncate": false, "attention_factor": 1.25, "finetuned": true)");
  EXPECT_EQ(full.original_context, 32);
  EXPECT_EQ(full.beta_fast, 16);
  EXPECT_EQ(full.beta_slow, 2);
  EXPECT_FALSE(full.truncate);
  EXPECT_EQ(full.attention_factor, 1.25);
  EXPECT_EQ(yarn(R"(, "mscale": 0.7, "mscale_all_dim": 0.7)").attention_factor, 1.0);
  EXPECT_EQ(yarn(R"(, "mscale": 0, "mscale_all_dim": 0)").attention_factor, std::nullopt);
  // m(0.5) / m(1), where m(x) is 0.1 x ln(4) + 1.
  EXPECT_NEAR(*yarn(R"(, "mscale": 0.5, "mscale_all_dim": 1)").attention_factor, 0.939125, 1e-6);
  EXPECT_EQ(yarn(R"(, "mscale": 1.0)").attention_factor, std::nullopt);
  for (const char* bad : {R"(, "mscale": 0.5)", R"(, "mscale_all_dim": 1.0)"}) {
    expect_refused([&] { yarn(bad); }, "supported only together");
  }
  expect_config_refused(with("rope_scaling", R"({"rope_type": "yarn", "factor": 4,
      "original_max_position_embeddings": 32})")
                            .set("original_max_position_embeddings", "64"),
                        "original_max_position_embeddings is 64, the rotary parameters say 32");
}

TEST(HfConfig, S21RopeScalingThatIsRefused) {
  const auto scaling = [](std::string_view json) { return with("rope_scaling", json); };
  for (const char* factor : {"0", "-1", "\"2\"", "null"}) {
    expect_config_refused(scaling(cat(R"({"type": "linear", "factor": )", factor, "}")), "factor");
    expect_config_refused(scaling(cat(R"({"type": "yarn", "factor": )", factor, "}")), "factor");
  }
  expect_config_refused(scaling(R"({"type": "linear", "factor": NaN})"), "malformed JSON");
  expect_config_refused(scaling(R"({"type": "linear"})"), "rope_scaling.factor is missing");
  expect_config_refused(scaling(R"({"factor": 2})"), "rope_scaling.rope_type is missing");
  expect_config_refused(scaling(R"({"type": "yarn", "factor": 0.5})"), "it must be at least 1");
  for (const char* type : {"longrope", "su"}) {
    expect_config_refused(scaling(cat(R"({"type": ")", type, R"(", "factor": 2})")),
                          "rope_scaling.short_factor is missing");
  }
  for (const char* type : {"dynamic", "mrope", "banana"}) {
    expect_config_refused(scaling(cat(R"({"type": ")", type, R"(", "factor": 2})")),
                          cat("rope_scaling.type is '", type, "', supported are"));
  }
  expect_config_refused(scaling(R"({"type": "linear", "rope_type": "yarn", "factor": 2})"),
                        "it differs from rope_type");
  expect_config_refused(scaling(R"({"type": 3})"), "rope_scaling.type is 3, expected a string");
  expect_config_refused(scaling("42"), "rope_scaling is 42, expected an object");
  const auto llama3 = [&](std::string_view low, std::string_view high) {
    return scaling(cat(R"({"type": "llama3", "factor": 8, "original_max_position_embeddings": 32,
        "low_freq_factor": )",
                       low, R"(, "high_freq_factor": )", high, "}"));
  };
  expect_config_refused(llama3("4", "4"), "is not below");
  expect_config_refused(llama3("5", "4"), "is not below");
  expect_config_refused(llama3("0", "4"), "low_freq_factor");
  expect_config_refused(llama3("null", "4"), "rope_scaling.low_freq_factor is missing");
  expect_config_refused(scaling(R"({"type": "llama3", "factor": 8, "low_freq_factor": 1,
      "high_freq_factor": 4})"),
                        "rope_scaling.original_max_position_embeddings is missing");
  expect_config_refused(scaling(R"({"type": "linear", "factor": 2, "alpha": 3})"),
                        "rope_scaling.alpha is 3, it is not supported");
  expect_config_refused(with("rope_parameters", R"({"full_attention": {"rope_theta": 1e6}})"),
                        "rope_parameters.full_attention is an object, it is not supported");
  expect_config_refused(with("rope_theta", "0.5"), "the rotary theta is 0.5");
  expect_config_refused(with("rope_theta", "1e39"), "the rotary theta is 1e+39");
  EXPECT_NO_THROW(config(with("partial_rotary_factor", "1.0")));
  expect_config_refused(with("partial_rotary_factor", "0.5"), "partial_rotary_factor is 0.5");
  expect_config_refused(with("rope_parameters", R"({"partial_rotary_factor": 0.5})"),
                        "rope_parameters.partial_rotary_factor is 0.5");
}

TEST(HfConfig, MistralsWindowIsOnAllLayers) {
  EXPECT_EQ(config(with("sliding_window", "8", "mistral")).window,
            (std::vector<std::int64_t>{8, 8, 8, 8}));
  EXPECT_TRUE(config(ConfigText("mistral")).window.empty());
  const Read silent = read(ConfigText("mistral").remove("sliding_window").text());
  EXPECT_EQ(silent.config.window, (std::vector<std::int64_t>{4096, 4096, 4096, 4096}));
  EXPECT_EQ(silent.notes.warnings(),
            std::vector<std::string>{"sliding_window is missing: taken as 4096"});
  expect_config_refused(with("sliding_window", "8"), "not supported for llama");
  expect_config_refused(with("sliding_window", "0", "mistral"), "sliding_window is 0");
}

TEST(HfConfig, QwensWindowIsOnLateLayersWhenSwitchedOn) {
  for (const char* type : {"qwen2", "qwen3", "qwen3_moe"}) {
    const auto windowed = [&](std::string_view first) {
      return ConfigText(type)
          .set("sliding_window", "8")
          .set("use_sliding_window", "true")
          .set("max_window_layers", first);
    };
    EXPECT_EQ(config(windowed("1")).window, (std::vector<std::int64_t>{0, 8, 8, 8}));
    EXPECT_TRUE(config(windowed("28")).window.empty());
    EXPECT_TRUE(config(windowed("1").set("use_sliding_window", "false")).window.empty());
    EXPECT_TRUE(config(windowed("1").remove("use_sliding_window")).window.empty());
    EXPECT_TRUE(config(windowed("1").set("sliding_window", "null")).window.empty());
    expect_config_refused(windowed("1").remove("sliding_window"), "sliding_window is missing");
  }
}

TEST(HfConfig, ListedLayersReplaceTheFamilysRule) {
  const auto listed = [](std::string_view list) {
    return ConfigText("qwen3")
        .set("sliding_window", "8")
        .set("use_sliding_window", "true")
        .set("max_window_layers", "0")
        .set("layer_types", list);
  };
  const char* const mixed = R"(["sliding_attention", "full_attention", "full_attention",
                                "sliding_attention"])";
  EXPECT_EQ(config(listed(mixed)).window, (std::vector<std::int64_t>{8, 0, 0, 8}));
  expect_config_refused(listed(mixed).set("use_sliding_window", "false"),
                        "2 sliding layers, but no window is in use");
  expect_config_refused(listed(R"(["full_attention"])"), "has 1 entries for 4 layers");
  expect_config_refused(listed(R"(["linear_attention", "a", "b", "c"])"), "'linear_attention'");
  expect_config_refused(listed("[1, 2, 3, 4]"), "an entry of layer_types is 1");
  expect_config_refused(listed("\"x\""), "layer_types is 'x', expected an array");
  expect_config_refused(with("sliding_window", "8", "mistral").set("layer_types", mixed),
                        "but layer_types has 2 full ones");
}

TEST(HfConfig, Experts) {
  const Config c = config(ConfigText("qwen3_moe"));
  EXPECT_EQ(c.experts, 8);
  EXPECT_EQ(c.experts_used, 2);
  EXPECT_EQ(c.expert_ffn, 32);
  EXPECT_FALSE(c.router.renormalise);
  EXPECT_TRUE(c.dense_layer.empty());
  EXPECT_TRUE(config(with("norm_topk_prob", "true", "qwen3_moe")).router.renormalise);
  EXPECT_EQ(config(with("mlp_only_layers", "[0, 3]", "qwen3_moe")).dense_layer,
            (std::vector<bool>{true, false, false, true}));
  EXPECT_EQ(config(with("decoder_sparse_step", "2", "qwen3_moe")).dense_layer,
            (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(
      config(ConfigText("qwen3_moe").remove("num_experts").set("num_local_experts", "4")).experts,
      4);
  const auto moe = [](std::string_view key, std::string_view json) {
    return with(key, json, "qwen3_moe");
  };
  expect_config_refused(moe("num_local_experts", "4"), "but num_local_experts is 4");
  expect_config_refused(ConfigText("qwen3_moe").remove("num_experts"), "num_experts is missing");
  expect_config_refused(moe("num_experts", "0"), "num_experts is 0");
  expect_config_refused(moe("num_experts", "1000000"), "num_experts is 1000000");
  expect_config_refused(moe("num_experts_per_tok", "9"), "num_experts_per_tok is 9");
  expect_config_refused(moe("decoder_sparse_step", "0"), "decoder_sparse_step is 0");
  expect_config_refused(moe("mlp_only_layers", "[4]"), "an entry of mlp_only_layers is 4");
  expect_config_refused(moe("mlp_only_layers", "[-1]"), "an entry of mlp_only_layers is -1");
  expect_config_refused(moe("shared_expert_intermediate_size", "64"), "is not supported");
  expect_config_refused(with("num_experts", "8", "qwen3"), "num_experts is 8, it is not supported");
  expect_config_refused(with("num_local_experts", "8", "mistral"), "num_local_experts is 8");
}

TEST(HfConfig, KeysThatWouldChangeTheResultAreRefused) {
  const std::pair<const char*, const char*> refused[] = {{"attn_logit_softcapping", "50.0"},
                                                         {"final_logit_softcapping", "30"},
                                                         {"query_pre_attn_scalar", "64"},
                                                         {"residual_multiplier", "0.2"},
                                                         {"logits_scaling", "8"},
                                                         {"embedding_multiplier", "12"},
                                                         {"attention_multiplier", "0.01"},
                                                         {"no_rope_layers", "[1, 0, 1, 0]"},
                                                         {"use_mrope", "true"},
                                                         {"is_causal", "false"},
                                                         {"scoring_func", "\"sigmoid\""},
                                                         {"clip_qkv", "8"}};
  for (const auto& [key, value] : refused) {
    expect_config_refused(with(key, value), cat(key, " is "));
    EXPECT_NO_THROW(config(with(key, "null"))) << key;
  }
  EXPECT_NO_THROW(config(with("residual_multiplier", "1.0").set("logits_scaling", "1")));
  EXPECT_NO_THROW(config(with("is_causal", "true").set("use_mrope", "false")));
}

TEST(HfConfig, S22EndsOfText) {
  EXPECT_EQ(ids_of(config(with("eos_token_id", "2")).ends), std::vector<std::int32_t>{2});
  EXPECT_EQ(ids_of(config(with("eos_token_id", "[7, 2, 7]")).ends),
            (std::vector<std::int32_t>{7, 2}));
  EXPECT_EQ(config(with("bos_token_id", "1")).bos_id, 1);
  EXPECT_TRUE(config(with("eos_token_id", "[]")).ends.empty());
  for (const char* bad : {"320", "-1", "1.0", "\"2\"", "true", "[1, 320]", "[[1]]", "[null]", "{}",
                          "4294967298", "1e300"}) {
    expect_config_refused(with("eos_token_id", bad), "eos_token_id is ");
  }
  std::string list = "[1";
  for (int i = 0; i < 100'000; ++i) list += ",1";
  expect_config_refused(with("eos_token_id", list + "]"), "eos_token_id has 100001 entries");
}

/// No text can begin with such a token, so ignoring it changes nothing.
TEST(HfConfig, ABosIdThatIsNoneIsIgnored) {
  for (const std::string bad : {"320", "-1", "[1]", "1.5", "\"1\"", "true", "{}"}) {
    const Read r = read(with("bos_token_id", bad).text(), R"({"bos_token_id": 1})");
    EXPECT_EQ(r.config.bos_id, 1) << bad;
    ASSERT_EQ(r.notes.warnings().size(), 1u) << bad;
    EXPECT_TRUE(r.notes.warnings()[0].starts_with("config.json: bos_token_id is ")) << bad;
    const Read generation = read(ConfigText().text(), cat("{\"bos_token_id\": ", bad, "}"));
    EXPECT_FALSE(generation.config.bos_id) << bad;
    EXPECT_EQ(generation.notes.warnings().size(), 1u) << bad;
  }
}

TEST(HfConfig, KeysThatAreNotAppliedCanBeAccepted) {
  const ConfigText text = with("logit_scale", "2").set("rope_parameters", R"({"foo": [1]})");
  expect_config_refused(text, "(--accept-unknown logit_scale opens the model without it)");
  const std::vector<std::string> accepted{"logit_scale", "rope_parameters.foo"};
  LoadNotes notes(accepted);
  read_hf_config(parse_json(text.text(), "c.json", "config", kHfConfigLimits), "c.json", notes);
  EXPECT_EQ(notes.warnings(),
            (std::vector<std::string>{
                "c.json: logit_scale = 2 is not applied: texts may be wrong",
                "c.json: rope_parameters.foo = an array is not applied: texts may be wrong"}));
  LoadNotes others(std::vector<std::string>{"foo", "rope_parameters.foo"});
  EXPECT_THROW(read_hf_config(parse_json(text.text(), "c.json", "config", kHfConfigLimits),
                              "c.json", others),
               Error);
}

TEST(HfConfig, GenerationConfigAddsEnds) {
  const std::string text = ConfigText().set("eos_token_id", "2").set("bos_token_id", "1").text();
  const Config c =
      read(text, R"({"eos_token_id": [2, 5], "bos_token_id": 9, "top_k": 5000})").config;
  EXPECT_EQ(c.ends, (std::vector<EndToken>{{2, "config.json"}, {5, "generation_config.json"}}));
  EXPECT_EQ(c.bos_id, 1);
  EXPECT_EQ(read(ConfigText().text(), R"({"bos_token_id": 9})").config.bos_id, 9);
  for (const char* bad : {R"({"eos_token_id": 320})", R"({"eos_token_id": "x"})", "[]", "{"}) {
    const std::string message = refusal([&] { read(text, bad); });
    EXPECT_TRUE(message.starts_with("generation_config.json: config @")) << message;
  }
}

TEST(HfConfig, S24QuantisedFoldersAreRefusedByMethod) {
  expect_config_refused(with("quantization_config", R"({"quant_method": "awq", "bits": 4})"),
                        "quantization_config method 'awq' is not supported");
  expect_config_refused(with("quantization_config", R"({"bits": 3.5, "group_size": 0})"),
                        "quantization_config method (not named) is not supported");
  expect_config_refused(with("quantization_config", R"({"quant_method": 4})"), "method 4");
  expect_config_refused(with("quantization_config", "3"), "is not supported");
  expect_config_refused(with("quantization", R"({"bits": 4, "mode": "mxfp4"})"),
                        "quantization method 'mxfp4' is not supported");
  EXPECT_NO_THROW(config(with("quantization_config", "null")));
}

TEST(HfConfig, RealAndOddFilesAreReadOrRefusedInOneLine) {
  int files = 0;
  int accepted = 0;
  for (const char* place : {"data/loader/mlxd_configs", "data/models/mlxd", "goldens/models"}) {
    const auto folder = shared_folder(place);
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
    for (const auto& entry : entries(folder)) {
      if (!std::filesystem::exists(entry / "config.json")) continue;
      ++files;
      const std::string generation = std::filesystem::exists(entry / "generation_config.json")
                                         ? read_file(entry / "generation_config.json")
                                         : "";
      const std::string message =
          refusal([&] { read(read_file(entry / "config.json"), generation); });
      if (message.empty()) ++accepted;
      if (std::string_view(place) == "goldens/models") {
        EXPECT_EQ(message, "") << entry;
      }
    }
  }
  EXPECT_GT(files, 60);
  EXPECT_GT(accepted, 25);
}

}  // namespace
}  // namespace ingot
