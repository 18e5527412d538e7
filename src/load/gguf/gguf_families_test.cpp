// What GGUF keys mean in each architecture: windows, rotary embeddings, factors, experts, MLA.
#include "load/gguf/gguf_families.h"

#include <cmath>

#include "load/gguf/gguf_model_test_util.h"

namespace ingot {
namespace {

using namespace testing_gguf;

using Windows = std::vector<std::int64_t>;
using Ropes = std::vector<std::int32_t>;

TEST(GgufFamilies, every_architecture_of_the_table_opens) {
  for (const std::string& name : all_architectures()) {
    SCOPED_TRACE(name);
    const Config c = Model(name).config();
    EXPECT_EQ(c.architecture, name);
    EXPECT_EQ(c.causal, find_architecture(name)->causal);
  }
}

TEST(GgufFamilies, windows_by_pattern) {
  EXPECT_EQ(Model("gemma2").config().window, (Windows{8, 0, 8, 0}));
  EXPECT_EQ(Model("gpt-oss").config().window, (Windows{8, 0, 8, 0}));
  EXPECT_EQ(Model("cohere2", 5).config().window, (Windows{8, 8, 8, 0, 8}));
  EXPECT_EQ(Model("gemma4", 7).config().window, (Windows{8, 8, 8, 8, 8, 0, 8}));
  EXPECT_EQ(Model("gemma2").remove("attention.sliding_window").config().window,
            (Windows{4096, 0, 4096, 0}));
  Model("cohere2").remove("attention.sliding_window").expect_refused("attention.sliding_window is");
}

TEST(GgufFamilies, windows_that_a_model_may_lack) {
  EXPECT_TRUE(Model("olmo2").config().window.empty());
  EXPECT_TRUE(Model("gemma3").config().window.empty());
  for (const char* name : {"olmo2", "exaone4"}) {
    EXPECT_EQ(Model(name).set("attention.sliding_window", u32(8)).config().window,
              (Windows{8, 8, 8, 0}));
  }
  for (const char* name : {"phi3", "starcoder2", "llama"}) {
    EXPECT_EQ(Model(name).set("attention.sliding_window", u32(8)).config().window,
              (Windows{8, 8, 8, 8}));
  }
  Model("glm4").set("attention.sliding_window", u32(8)).expect_refused("attention.sliding_window");
}

TEST(GgufFamilies, stated_patterns) {
  constexpr const char* kKey = "attention.sliding_window_pattern";
  EXPECT_EQ(Model("gemma4").set(kKey, u32(2)).config().window, (Windows{8, 0, 8, 0}));
  Model by_layer("gemma4");
  by_layer.without_tensor("blk.0.attn_v.weight").set(kKey, bools({0, 1, 1, 0}));
  EXPECT_EQ(by_layer.config().window, (Windows{0, 8, 8, 0}));
  Model("gemma4").set(kKey, bools({1, 1, 0})).expect_refused(cat(kKey, " = [bool x 3] must have"));
  Model("gemma4").set(kKey, u32(0)).expect_refused(cat(kKey, " = 0 must be"));
  Model("llama").set(kKey, u32(2)).expect_refused(cat(kKey, " = 2 is not supported"));
}

/// The file states the width of both sides together.
TEST(GgufFamilies, windows_of_encoders) {
  EXPECT_EQ(Model("modern-bert").set("attention.sliding_window", u32(16)).config().window,
            (Windows{0, 9, 9, 0}));
  EXPECT_EQ(Model("gemma-embedding").set("attention.sliding_window", u32(512)).config().window,
            (Windows{257, 257, 257, 257}));
}

TEST(GgufFamilies, rotary_embeddings_of_layers_with_a_window) {
  Model model("gemma3", 6);
  model.set("attention.sliding_window", u32(8)).set("rope.freq_base", f32(1e6f));
  model.set("rope.scaling.type", text("linear")).set("rope.scaling.factor", f32(8));
  Config c = model.config();
  ASSERT_EQ(c.ropes.size(), 2u);
  EXPECT_EQ(c.ropes[0].theta, 1e6);
  EXPECT_EQ(c.ropes[0].scaling.kind, RopeScaling::Kind::kLinear);
  EXPECT_EQ(c.ropes[1].theta, 10000);
  EXPECT_EQ(c.ropes[1].scaling.kind, RopeScaling::Kind::kNone);
  EXPECT_EQ(c.rope_layer, (Ropes{1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(model.set("rope.freq_base_swa", f32(5000)).config().ropes[1].theta, 5000);
  model.set("rope.freq_base_swa", f32(0)).expect_refused("rope.freq_base_swa = 0 must be");

  // All layers scale.
  c = Model("gpt-oss").set("rope.scaling.type", text("yarn")).config();
  EXPECT_EQ(c.ropes.size(), 1u);
  EXPECT_TRUE(c.rope_layer.empty());
}

TEST(GgufFamilies, layers_that_do_not_rotate) {
  EXPECT_EQ(Model("cohere2").config().rope_layer, (Ropes{0, 0, 0, -1}));
  EXPECT_EQ(Model("smollm3", 5).config().rope_layer, (Ropes{0, 0, 0, -1, 0}));
  EXPECT_TRUE(Model("exaone4").config().rope_layer.empty());
  EXPECT_EQ(Model("exaone4").set("attention.sliding_window", u32(8)).config().rope_layer,
            (Ropes{0, 0, 0, -1}));
  EXPECT_EQ(Model("bert", 2).config().rope_layer, (Ropes{-1, -1}));
  EXPECT_EQ(Model("granite", 2).set("rope.scaling.finetuned", boolean(0)).config().rope_layer,
            (Ropes{-1, -1}));
  EXPECT_TRUE(Model("llama").set("rope.scaling.finetuned", boolean(0)).config().rope_layer.empty());
}

TEST(GgufFamilies, longrope_by_the_tensors_of_its_factors) {
  Model model("phi3");
  model.set("rope.scaling.original_context_length", u32(16));
  EXPECT_EQ(model.config().ropes[0].scaling.kind, RopeScaling::Kind::kNone);
  model.set("rope.scaling.attn_factor", f32(1.25f));
  model.expect_refused("rope.scaling.attn_factor is supported for yarn scaling only");
  model.tensor("rope_factors_long.weight", {2}).tensor("rope_factors_short.weight", {2});
  for (const bool typed : {false, true}) {
    if (typed) model.set("rope.scaling.type", text("longrope"));
    const RopeScaling scaling = model.config().ropes[0].scaling;
    EXPECT_EQ(scaling.kind, RopeScaling::Kind::kLongrope);
    EXPECT_EQ(scaling.original_context, 16);
    EXPECT_EQ(scaling.factor, 4);
    EXPECT_EQ(scaling.attention_factor, 1.25);
  }
  Model("phi3")
      .set("rope.scaling.type", text("longrope"))
      .expect_refused("rope.scaling.type = 'longrope' needs the tensors rope_factors_long.weight");
}

TEST(GgufFamilies, factors_of_granite) {
  Model model("granite");
  model.set("attention.scale", f32(0.5f)).set("embedding_scale", f32(12));
  model.set("residual_scale", f32(0.25f)).set("logit_scale", f32(8));
  const Config c = model.config();
  EXPECT_EQ(c.attention_scale, 0.5);
  EXPECT_EQ(c.embed_scale, 12);
  EXPECT_EQ(c.residual_scale, 0.25);
  EXPECT_EQ(c.logit_scale, 0.125);
  for (const char* key : {"embedding_scale", "residual_scale", "logit_scale", "attention.scale"}) {
    Model("granite").set(key, f32(-1)).expect_refused(cat(key, " = -1 must be greater than 0"));
  }
  EXPECT_EQ(Model("command-r").set("logit_scale", f32(0.25f)).config().logit_scale, 0.25);
}

TEST(GgufFamilies, caps_and_scales_of_gemma) {
  Model model("gemma2");
  model.set("attn_logit_softcapping", f32(50)).set("final_logit_softcapping", f32(30));
  Config c = model.config();
  EXPECT_EQ(c.score_cap, 50);
  EXPECT_EQ(c.logit_cap, 30);
  EXPECT_EQ(c.embed_scale, std::sqrt(8.0));
  EXPECT_FALSE(c.attention_scale.has_value());
  EXPECT_EQ(Model("gemma2", 46)
                .set("attention.key_length", u32(16))
                .set("attention.value_length", u32(16))
                .config()
                .attention_scale,
            0.5);
  EXPECT_EQ(Model("gemma3", 62).config().attention_scale, 0.5);
  EXPECT_EQ(Model("gemma4").config().attention_scale, 1);
  model.set("attn_logit_softcapping", f32(-1)).expect_refused("attn_logit_softcapping = -1 must");
}

TEST(GgufFamilies, sizes_that_differ_by_layer) {
  Model model("llama", 3);
  model.set("attention.head_count", uints({2, 4, 2}));
  model.set("attention.head_count_kv", ints({2, 1, 1})).set("feed_forward_length", ints({8, 4, 8}));
  const Config c = model.config();
  ASSERT_EQ(c.sizes.size(), 3u);
  EXPECT_EQ(c.sizes[1].heads, 4);
  EXPECT_EQ(c.sizes[1].kv_heads, 1);
  EXPECT_EQ(c.sizes[2].ffn, 8);
  EXPECT_EQ(c.sizes[0].head_dim, 4);
  model.set("attention.head_count_kv", ints({2, 3, 1}));
  model.expect_refused("attention.head_count_kv = [int32 x 3] does not divide 4 heads");
}

TEST(GgufFamilies, gemma4_layers) {
  Model model("gemma4", 6);
  model.set("attention.sliding_window_pattern", bools({1, 0, 1, 0, 1, 0}));
  model.set("attention.key_length", u32(16)).set("attention.value_length", u32(16));
  model.set("attention.key_length_swa", u32(8)).set("attention.value_length_swa", u32(8));
  model.set("rope.dimension_count", u32(16)).set("rope.dimension_count_swa", u32(8));
  model.set("attention.shared_kv_layers", u32(2));
  model.set("embedding_length_per_layer_input", u32(4));
  const Config c = model.config();
  EXPECT_EQ(c.layer_input, 4);
  EXPECT_EQ(c.sizes[0].head_dim, 8);
  EXPECT_EQ(c.sizes[1].head_dim, 16);
  EXPECT_EQ(c.ropes[0].dims, 16);
  EXPECT_EQ(c.ropes[1].dims, 8);
  EXPECT_EQ(c.kv_source, (Ropes{-1, -1, -1, -1, 2, 3}));
  // Layers 1 and 3 have their own keys, and no tensor for values.
  EXPECT_EQ(c.values_from_keys, (std::vector<bool>{false, true, false, true, false, false}));
  model.tensor("blk.1.attn_v.weight", {8, 16});
  model.expect_refusal_of("tensor blk.3.attn_v.weight is missing");
  model.tensor("blk.3.attn_v.weight", {8, 16});
  EXPECT_TRUE(model.config().values_from_keys.empty());
  model.set("attention.shared_kv_layers", u32(5));
  model.expect_refused("attention.shared_kv_layers = 5 leaves layer 1 without keys and values");
}

TEST(GgufFamilies, mla_in_both_generations_of_files) {
  for (const bool newer : {false, true}) {
    Model model("deepseek2");
    model.set("attention.q_lora_rank", u32(24));
    if (newer) {
      model.set("attention.key_length", u32(20)).set("attention.value_length", u32(16));
      model.set("attention.key_length_mla", u32(12)).set("attention.value_length_mla", u32(6));
    } else {
      model.set("attention.head_count_kv", u32(2));
    }
    const Config c = model.config();
    EXPECT_EQ(c.mla.q_rank, 24);
    EXPECT_EQ(c.mla.kv_rank, 16);
    EXPECT_EQ(c.mla.nope, 8);
    EXPECT_EQ(c.mla.rope, 4);
    EXPECT_EQ(c.mla.value, 6);
    EXPECT_FALSE(c.mla.norm_eps);
    EXPECT_EQ(c.head_dim, 12);
    EXPECT_EQ(c.kv_heads, 2);
    EXPECT_EQ(c.ropes[0].dims, 4);
  }
  Model model("deepseek2");
  model.set("attention.key_length", u32(21)).set("attention.key_length_mla", u32(12));
  model.expect_refused("attention.key_length = 21 is not the sum of the latent's 16");
  Model("deepseek2").set("attention.key_length", u32(4)).expect_refused("attention.key_length = 4");
  Model("deepseek2").remove("attention.kv_lora_rank").expect_refused("attention.kv_lora_rank is");
}

TEST(GgufFamilies, scores_of_mla_with_yarn) {
  Model model("deepseek2");
  model.set("rope.scaling.type", text("yarn")).set("rope.scaling.factor", f32(4));
  EXPECT_FALSE(model.config().attention_scale.has_value());
  model.set("rope.scaling.yarn_log_multiplier", f32(0.1f));
  const Config c = model.config();
  const double m = 0.1 * std::log(4.0) + 1;
  EXPECT_NEAR(c.attention_scale.value_or(0), m * m / std::sqrt(12.0), 1e-8);
  EXPECT_EQ(c.ropes[0].scaling.attention_factor, 1);
  model.set("rope.scaling.attn_factor", f32(2)).expect_refused("rope.scaling.attn_factor = 2");
  Model("deepseek2")
      .set("rope.scaling.yarn_log_multiplier", f32(0.1f))
      .expect_refused("rope.scaling.yarn_log_multiplier = 0.1 is supported for yarn");
}

TEST(GgufFamilies, router_rules) {
  Model model("deepseek2");
  model.set("expert_count", u32(8)).set("expert_used_count", u32(2));
  model.set("expert_feed_forward_length", u32(12)).set("expert_shared_count", u32(2));
  model.set("leading_dense_block_count", u32(1));
  Config c = model.config();
  EXPECT_FALSE(c.router.sigmoid);
  EXPECT_FALSE(c.router.renormalise);
  EXPECT_EQ(c.router.scale, 1);
  EXPECT_EQ(c.router.groups, 1);
  EXPECT_EQ(c.shared_ffn, 24);
  EXPECT_EQ(c.dense_layer, (std::vector<bool>{true, false, false, false}));
  model.set("expert_gating_func", u32(2)).set("expert_weights_norm", boolean(1));
  model.set("expert_weights_scale", f32(2.5f)).set("expert_group_count", u32(4));
  model.set("expert_group_used_count", u32(2));
  c = model.config();
  EXPECT_TRUE(c.router.sigmoid);
  EXPECT_TRUE(c.router.renormalise);
  EXPECT_TRUE(c.router.groups_by_two_best);
  EXPECT_EQ(c.router.scale, 2.5);
  EXPECT_EQ(c.router.groups, 4);
  EXPECT_EQ(c.router.groups_used, 2);
  model.set("expert_gating_func", u32(4)).expect_refused("expert_gating_func = 4 is not supported");
  model.set("expert_gating_func", u32(3));
  EXPECT_FALSE(model.config().router.sigmoid);
  model.set("expert_group_count", u32(3)).expect_refused("expert_group_count = 3 does not divide");
  model.set("expert_group_count", u32(4)).set("expert_group_used_count", u32(5));
  model.expect_refused("expert_group_used_count = 5 must be from 0 to 4");
  model.set("expert_group_used_count", u32(1)).set("expert_used_count", u32(3));
  model.expect_refused("expert_group_used_count = 1 groups have fewer than 3 experts");
  model.remove("expert_group_used_count").expect_refused("expert_group_count = 4 needs");
}

TEST(GgufFamilies, defaults_of_routers) {
  EXPECT_FALSE(Model("qwen2moe").config().router.renormalise);
  EXPECT_FALSE(Model("olmoe").config().router.renormalise);
  EXPECT_TRUE(Model("granitemoe").config().router.renormalise);
  EXPECT_TRUE(Model("glm4moe").config().router.sigmoid);
  EXPECT_EQ(Model("olmoe").remove("expert_feed_forward_length").config().expert_ffn, 16);
  Model("gpt-oss")
      .remove("expert_feed_forward_length")
      .expect_refused("expert_feed_forward_length");
  Model("glm4").set("expert_count", u32(2)).expect_refused("expert_count = 2 is not supported");
}

TEST(GgufFamilies, shared_experts) {
  constexpr const char* kWidth = "expert_shared_feed_forward_length";
  EXPECT_EQ(Model("qwen2moe").set(kWidth, u32(20)).config().shared_ffn, 20);
  Model("qwen2moe")
      .set(kWidth, u32(20))
      .set("expert_shared_count", u32(1))
      .expect_refused(cat(kWidth, " = 20 is not that of 1 experts"));
  Model("qwen3moe").set(kWidth, u32(20)).expect_refused(cat(kWidth, " = 20 is not supported"));
}

TEST(GgufFamilies, layers_of_multi_token_prediction_are_cut_off) {
  Model model("glm4moe", 3);
  model.set("nextn_predict_layers", u32(1)).set("feed_forward_length", ints({16, 16, 9}));
  const Config c = model.config();
  EXPECT_EQ(c.layers, 2);
  EXPECT_EQ(c.mtp_layers, 1);
  EXPECT_TRUE(c.sizes.empty());
  model.set("nextn_predict_layers", u32(3)).expect_refused("nextn_predict_layers = 3 must be");
}

TEST(GgufFamilies, parallel_residual_by_the_missing_norm) {
  EXPECT_FALSE(Model("stablelm").config().parallel_residual);
  EXPECT_FALSE(
      Model("stablelm").set("use_parallel_residual", boolean(1)).config().parallel_residual);
  Model model("stablelm");
  model.without_tensor("blk.0.ffn_norm.weight");
  EXPECT_TRUE(model.config().parallel_residual);
  EXPECT_FALSE(model.set("use_parallel_residual", boolean(0)).config().parallel_residual);
  EXPECT_TRUE(Model("command-r").config().parallel_residual);
}

TEST(GgufFamilies, epsilon_of_each_norm) {
  Model("starcoder2")
      .remove("attention.layer_norm_epsilon")
      .expect_refused("attention.layer_norm_epsilon is missing");
  EXPECT_EQ(Model("llama").set("attention.layer_norm_epsilon", f32(1e-5f)).config().norm_eps,
            double{1e-5f});
  Model("llama")
      .set("attention.layer_norm_epsilon", f32(1e-6f))
      .expect_refused(
          "attention.layer_norm_epsilon = 1e-06 is not that of attention.layer_norm_rms_epsilon");
}

TEST(GgufFamilies, pooling) {
  constexpr PoolingKind kKinds[] = {PoolingKind::kNone, PoolingKind::kMean, PoolingKind::kCls,
                                    PoolingKind::kLast};
  for (std::uint32_t i = 0; i < 4; ++i) {
    for (const char* name : {"bert", "qwen3"}) {
      const Config c = Model(name).set("pooling_type", u32(i)).config();
      EXPECT_EQ(c.pooling, kKinds[i]);
      EXPECT_EQ(c.normalise, i > 0);
      EXPECT_EQ(c.labels, 0);
    }
  }
  Model("bert").set("pooling_type", u32(5)).expect_refused("pooling_type = 5 must be from 0 to 4");
  Model("bert")
      .set("attention.causal", boolean(1))
      .expect_refused("attention.causal = true is not");
}

TEST(GgufFamilies, cross_encoders) {
  Model model("bert");
  model.set("pooling_type", u32(4));
  Config c = model.config();
  EXPECT_EQ(c.pooling, PoolingKind::kCls);
  EXPECT_EQ(c.labels, 1);
  EXPECT_FALSE(c.normalise);
  ASSERT_EQ(c.dense.size(), 1u);
  EXPECT_EQ(c.dense[0].weight, "cls.output.weight");
  model.set("classifier.output_labels", strings({"no", "yes"}));
  model.tensor("cls.weight", {8, 8}).tensor("cls.output.bias", {2});
  c = model.config();
  EXPECT_EQ(c.labels, 2);
  ASSERT_EQ(c.dense.size(), 2u);
  EXPECT_TRUE(c.dense[0].tanh);
  EXPECT_EQ(c.dense[0].bias, "");
  EXPECT_EQ(c.dense[1].bias, "cls.output.bias");
  EXPECT_EQ(c.dense[1].outputs, 2);
  model.set("classifier.output_labels", strings({})).expect_refused("classifier.output_labels");
  Model("qwen2").set("pooling_type", u32(4)).expect_refused("pooling_type = 4 (a cross-encoder)");
  const Config decoder = Model("qwen3")
                             .set("pooling_type", u32(4))
                             .set("classifier.output_labels", strings({"yes", "no"}))
                             .config();
  EXPECT_TRUE(decoder.yes_or_no);
  EXPECT_EQ(decoder.pooling, PoolingKind::kLast);
  EXPECT_EQ(decoder.labels, 2);
  Model("qwen3")
      .set("classifier.output_labels", strings({"a"}))
      .expect_refused("classifier.output_labels = [string x 1] is not supported");
}

TEST(GgufFamilies, linear_layers_after_pooling) {
  Model model("gemma-embedding");
  model.set("pooling_type", u32(1));
  EXPECT_TRUE(model.config().dense.empty());
  model.set("dense_2_feat_in", u32(8)).set("dense_2_feat_out", u32(32));
  model.set("dense_3_feat_in", u32(32)).set("dense_3_feat_out", u32(8));
  const Config c = model.config();
  ASSERT_EQ(c.dense.size(), 2u);
  EXPECT_EQ(c.dense[0].weight, "dense_2.weight");
  EXPECT_EQ(c.dense[0].outputs, 32);
  EXPECT_EQ(c.dense[1].bias, "");
  EXPECT_EQ(c.dense[1].inputs, 32);
  model.set("dense_3_feat_in", u32(31))
      .expect_refused("dense_3_feat_in = 31 follows a layer of 32");
  model.remove("dense_3_feat_out").set("dense_3_feat_in", u32(32));
  model.expect_refused("dense_3_feat_out is missing");
}

TEST(GgufFamilies, recurrent_state_is_not_supported_yet) {
  for (const char* name : {"mamba2", "lfm2", "granitehybrid", "nemotron_h", "qwen35"}) {
    expect_refusal(tiny_model().set("general.architecture", text(name)).build(),
                   cat("architecture '", name, "' has recurrent state: not supported yet"));
  }
}

}  // namespace
}  // namespace ingot
