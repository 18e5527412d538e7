// Hyper-parameters from GGUF metadata: what each key does, and which values are refused.
#include "load/gguf/gguf_config.h"

#include <cmath>
#include <limits>

#include "load/gguf/gguf_test_util.h"
#include "load/gguf/gguf_writer_test_util.h"

namespace ingot {
namespace {

using namespace testing_gguf;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

/// The tiny model with one pair changed or added.
std::string with(std::string_view key, Value value) {
  return tiny_model().set(key, std::move(value)).build();
}

std::string without(std::string_view key) { return tiny_model().remove(key).build(); }

/// The tiny model under another architecture's name, with more pairs.
GgufWriter as_architecture(const std::string& name) {
  GgufWriter w = tiny_model();
  for (auto& [key, value] : w.entries) {
    if (key.starts_with("llama.")) key = name + key.substr(5);
  }
  w.set("general.architecture", text(name));
  if (name == "qwen3moe") {
    w.set("qwen3moe.expert_count", u32(4));
    w.set("qwen3moe.expert_used_count", u32(2));
    w.set("qwen3moe.expert_feed_forward_length", u32(12));
  }
  return w;
}

TEST(GgufConfig, every_field_of_the_tiny_model) {
  const Opened opened = open_bytes(tiny_model().build());
  const Config& c = opened.config();
  EXPECT_EQ(c.naming, Naming::kGguf);
  EXPECT_EQ(c.architecture, "llama");
  EXPECT_EQ(c.model_type, "llama");
  EXPECT_EQ(c.layers, 1);
  EXPECT_EQ(c.hidden, 8);
  EXPECT_EQ(c.heads, 2);
  EXPECT_EQ(c.kv_heads, 1);
  EXPECT_EQ(c.head_dim, 4);
  EXPECT_EQ(c.ffn, 16);
  EXPECT_EQ(c.context, 64);
  EXPECT_EQ(c.vocab, 16);
  EXPECT_EQ(c.norm_eps, double{1e-5f});
  EXPECT_EQ(c.activation, Activation::kSilu);
  EXPECT_EQ(c.ropes.front().style, RopeStyle::kAdjacent);
  EXPECT_EQ(c.ropes.front().theta, 10000);
  EXPECT_EQ(c.ropes.front().dims, 4);
  EXPECT_EQ(c.ropes.front().scaling.kind, RopeScaling::Kind::kNone);
  EXPECT_TRUE(c.window.empty());
  EXPECT_FALSE(c.tied.has_value());
  EXPECT_EQ(c.experts, 0);
  EXPECT_EQ(ids_of(c.ends), std::vector<std::int32_t>{2});
  EXPECT_EQ(c.bos_id, 1);
  EXPECT_TRUE(opened.checkpoint->warnings().empty());
}

TEST(GgufConfig, defaults_of_absent_keys) {
  GgufWriter w = tiny_model();
  for (const char* key : {"llama.attention.head_count_kv", "llama.rope.freq_base",
                          "llama.rope.dimension_count", "llama.vocab_size"}) {
    w.remove(key);
  }
  const Config c = open_bytes(w.build()).config();
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.ropes.front().theta, 10000);
  EXPECT_EQ(c.ropes.front().dims, 4);
  EXPECT_EQ(c.vocab, 0);
}

TEST(GgufConfig, missing_keys_are_named) {
  for (const char* key : {"general.architecture", "llama.context_length", "llama.embedding_length",
                          "llama.block_count", "llama.feed_forward_length",
                          "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon"}) {
    expect_refusal(without(key), cat("metadata @24: ", key, " is missing"));
  }
}

TEST(GgufConfig, rotary_style_of_each_architecture) {
  for (const char* name : {"qwen2", "qwen3", "qwen3moe"}) {
    const Config c = open_bytes(as_architecture(name).build()).config();
    EXPECT_EQ(c.architecture, name);
    EXPECT_EQ(c.ropes.front().style, RopeStyle::kHalfSplit);
  }
}

TEST(GgufConfig, heads_wider_than_their_share) {
  GgufWriter w = tiny_model();
  w.set("llama.attention.key_length", u32(16));
  w.set("llama.attention.value_length", u32(16));
  EXPECT_EQ(open_bytes(w.build()).config().head_dim, 16);
  w.set("llama.embedding_length", u32(10));  // 2 heads of 16, which need not be hidden / heads
  EXPECT_EQ(open_bytes(w.build()).config().head_dim, 16);
  w.set("llama.attention.value_length", u32(8));
  expect_refusal(w.build(), "keys of 16 and values of 8 elements");
  w.remove("llama.attention.value_length");
  expect_refusal(w.build(), "keys of 16 and values of 5 elements");
}

TEST(GgufConfig, lists_with_equal_elements_stand_for_one_number) {
  GgufWriter w = tiny_model();
  w.set("llama.block_count", u32(3));
  w.set("llama.attention.head_count", uints({2, 2, 2}));
  w.set("llama.attention.head_count_kv", ints({2, 2, 2}));
  w.set("llama.feed_forward_length", ints({24, 24, 24}));
  const Config c = open_bytes(w.build()).config();
  EXPECT_EQ(c.heads, 2);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.ffn, 24);
  EXPECT_TRUE(c.sizes.empty());
  w.set("llama.feed_forward_length", ints({24, 16}));
  expect_refusal(w.build(),
                 "llama.feed_forward_length = [int32 x 2] must have an element for each of the 3");
}

TEST(GgufConfig, mixture_of_experts) {
  GgufWriter w = as_architecture("qwen3moe");
  Config c = open_bytes(w.build()).config();
  EXPECT_EQ(c.experts, 4);
  EXPECT_EQ(c.experts_used, 2);
  EXPECT_EQ(c.expert_ffn, 12);
  EXPECT_TRUE(c.router.renormalise);
  w.set("qwen3moe.expert_weights_norm", boolean(0));
  EXPECT_FALSE(open_bytes(w.build()).config().router.renormalise);
  w.set("qwen3moe.expert_used_count", u32(5));
  expect_refusal(w.build(), "qwen3moe.expert_used_count = 5 must be from 0 to 4");
  w.remove("qwen3moe.expert_used_count");
  expect_refusal(w.build(), "qwen3moe.expert_used_count is missing or 0");
  w = as_architecture("qwen3moe").remove("qwen3moe.expert_count");
  expect_refusal(w.build(), "qwen3moe.expert_count is missing");
  w = as_architecture("qwen3moe").remove("qwen3moe.expert_feed_forward_length");
  expect_refusal(w.build(), "qwen3moe.expert_feed_forward_length is missing");
  w = as_architecture("qwen2").set("qwen2.expert_count", u32(4));
  expect_refusal(w.build(), "qwen2.expert_count = 4 is not supported");
}

TEST(GgufConfig, sliding_window) {
  GgufWriter w = tiny_model().set("llama.attention.sliding_window", u32(8));
  EXPECT_EQ(open_bytes(w.build()).config().window, std::vector<std::int64_t>{8});
  w.set("llama.attention.sliding_window", u32(0));
  EXPECT_TRUE(open_bytes(w.build()).config().window.empty());
  w = as_architecture("qwen2").set("qwen2.attention.sliding_window", u32(8));
  expect_refusal(w.build(), "qwen2.attention.sliding_window = 8 is not supported");
}

TEST(GgufConfig, linear_scaling_in_each_spelling) {
  GgufWriter w = tiny_model();
  w.set("llama.rope.scaling.type", text("linear")).set("llama.rope.scaling.factor", f32(4));
  Config c = open_bytes(w.build()).config();
  EXPECT_EQ(c.ropes.front().scaling.kind, RopeScaling::Kind::kLinear);
  EXPECT_EQ(c.ropes.front().scaling.factor, 4);
  c = open_bytes(with("llama.rope.scaling.factor", f32(2))).config();
  EXPECT_EQ(c.ropes.front().scaling.kind, RopeScaling::Kind::kLinear);
  c = open_bytes(with("llama.rope.scale_linear", f32(8))).config();
  EXPECT_EQ(c.ropes.front().scaling.kind, RopeScaling::Kind::kLinear);
  EXPECT_EQ(c.ropes.front().scaling.factor, 8);
  c = open_bytes(with("llama.rope.scale_linear", f32(1))).config();
  EXPECT_EQ(c.ropes.front().scaling.kind, RopeScaling::Kind::kNone);
  w.set("llama.rope.scaling.type", text("none"));
  c = open_bytes(w.build()).config();
  EXPECT_EQ(c.ropes.front().scaling.kind, RopeScaling::Kind::kNone);
  EXPECT_EQ(c.ropes.front().scaling.factor, 1);
  w.set("llama.rope.scaling.type", text("longrope\x1b"));
  expect_refusal(w.build(), "llama.rope.scaling.type = 'longrope\\x1b' is not supported");
}

TEST(GgufConfig, yarn_scaling) {
  GgufWriter w = tiny_model();
  w.set("llama.rope.scaling.type", text("yarn")).set("llama.rope.scaling.factor", f32(4));
  Config c = open_bytes(w.build()).config();
  EXPECT_EQ(c.ropes.front().scaling.kind, RopeScaling::Kind::kYarn);
  EXPECT_EQ(c.ropes.front().scaling.factor, 4);
  EXPECT_EQ(c.ropes.front().scaling.original_context, 64);  // as trained, where the file is silent
  EXPECT_EQ(c.ropes.front().scaling.beta_fast, 32);
  EXPECT_EQ(c.ropes.front().scaling.beta_slow, 1);
  EXPECT_FALSE(c.ropes.front().scaling.attention_factor.has_value());

  w.set("llama.rope.scaling.original_context_length", u32(16));
  w.set("llama.rope.scaling.yarn_beta_fast", f32(16));
  w.set("llama.rope.scaling.yarn_beta_slow", f32(2));
  w.set("llama.rope.scaling.yarn_ext_factor", f32(1));
  w.set("llama.rope.scaling.yarn_log_multiplier", f32(0));
  w.set("llama.rope.scaling.attn_factor", f32(0.5f));
  c = open_bytes(w.build()).config();
  EXPECT_EQ(c.ropes.front().scaling.original_context, 16);
  EXPECT_EQ(c.ropes.front().scaling.beta_fast, 16);
  EXPECT_EQ(c.ropes.front().scaling.beta_slow, 2);
  EXPECT_NEAR(c.ropes.front().scaling.attention_factor.value_or(0), 0.5 * (0.1 * std::log(4.0) + 1),
              1e-12);

  w.set("llama.rope.scaling.yarn_attn_factor", f32(1.25f));
  c = open_bytes(w.build()).config();
  EXPECT_EQ(c.ropes.front().scaling.attention_factor, 0.625);

  for (const char* key : {"yarn_ext_factor", "yarn_log_multiplier"}) {
    GgufWriter broken = w;
    broken.set(cat("llama.rope.scaling.", key), f32(0.5f));
    expect_refusal(broken.build(), cat(key, " = 0.5 is not supported"));
  }
  w.set("llama.rope.scaling.type", text("linear"));
  expect_refusal(w.build(), "llama.rope.scaling.attn_factor is supported for yarn scaling only");
}

TEST(GgufConfig, end_tokens_are_listed_once) {
  GgufWriter w = tiny_model().set("tokenizer.ggml.eot_token_id", u32(5));
  w.set("tokenizer.ggml.eom_token_id", u32(7));
  EXPECT_EQ(open_bytes(w.build()).config().ends,
            (std::vector<EndToken>{{2, "tokenizer.ggml.eos_token_id"},
                                   {5, "tokenizer.ggml.eot_token_id"},
                                   {7, "tokenizer.ggml.eom_token_id"}}));
  w.set("tokenizer.ggml.fim_pad_token_id", u32(8)).set("tokenizer.ggml.fim_sep_token_id", u32(9));
  w.set("tokenizer.ggml.fim_rep_token_id", u32(10)).set("tokenizer.ggml.fim_mid_token_id", u32(11));
  EXPECT_EQ(ids_of(open_bytes(w.build()).config().ends),
            (std::vector<std::int32_t>{2, 5, 7, 8, 10, 9}));
  w = tiny_model().set("tokenizer.ggml.eot_token_id", u32(2));
  w.set("tokenizer.ggml.eom_token_id", u32(2));
  EXPECT_EQ(ids_of(open_bytes(w.build()).config().ends), (std::vector<std::int32_t>{2}));
}

TEST(GgufConfig, keys_that_are_not_applied_are_refused) {
  expect_refusal(with("llama.attention.scale", f32(0.1f)), "llama.attention.scale = 0.1 is not");
  expect_refusal(with("llama.logit_scale", f32(2)), "llama.logit_scale = 2 is not supported");
  expect_refusal(with("llama.some.new_feature", boolean(1)),
                 "llama.some.new_feature = true is not supported: this key is not known");
  expect_refusal(with("llama.final_logit_softcapping", f32(30)), "= 30 is not supported");
  expect_refusal(with("llama.attention.causal", boolean(0)), "= false is not supported");
  expect_refusal(with("llama.expert_gating_func", u32(2)), "= 2 is not supported");
  expect_refusal(with("llama.logit_scale", u32(1)), "is of type uint32, must be float32");
}

TEST(GgufConfig, keys_that_are_not_applied_can_be_accepted) {
  const std::string unknown = "llama.some.new_feature", unsupported = "llama.logit_scale";
  GgufWriter w = tiny_model();
  w.set(unknown, boolean(1)).set(unsupported, f32(2));
  const auto bytes = exact(w.build());
  expect_refusal(w.build(), cat("(--accept-unknown ", unsupported, " opens the model without it)"));
  const auto open = [&](const std::vector<std::string>& accepted) {
    return open_gguf_bytes(bytes, "test.gguf", {.accept_unknown = accepted});
  };
  EXPECT_THROW(open({unknown}), Error);
  EXPECT_THROW(open({unsupported, "llama.block_count"}), Error);
  const auto model = open({unknown, unsupported, "llama.block_count", "\x1b[31m"});
  const std::vector<std::string> warnings(model->warnings().begin(), model->warnings().end());
  EXPECT_EQ(warnings,
            (std::vector<std::string>{
                "test.gguf: llama.logit_scale = 2 is not applied: texts may be wrong",
                "test.gguf: llama.some.new_feature = true is not applied: texts may be wrong",
                "--accept-unknown llama.block_count: no file of the model has this key, or ingot "
                "applies it",
                "--accept-unknown \\x1b[31m: no file of the model has this key, or ingot applies "
                "it"}));
}

TEST(GgufConfig, keys_that_change_nothing_are_accepted) {
  GgufWriter w = tiny_model();
  w.set("llama.logit_scale", f32(1)).set("llama.residual_scale", f32(1));
  w.set("llama.attention.causal", boolean(1)).set("llama.attn_logit_softcapping", f32(0));
  w.set("llama.rope.scaling.finetuned", boolean(1));
  w.set("llama.tensor_data_layout", text("Meta AI original pth"));
  w.set("llama2.other", u32(1)).set("general.anything", u32(1)).set("x", u32(1));
  EXPECT_TRUE(opens(w.build()));
}

TEST(GgufConfig, other_kinds_of_file_are_named) {
  expect_refusal(with("general.type", text("adapter")), "general.type = 'adapter' is not a model");
  EXPECT_TRUE(opens(with("general.type", text("model"))));
}

TEST(GgufHostile, G17_architecture) {
  expect_refusal(with("general.architecture", u32(1)), "is of type uint32, must be string");
  expect_refusal(with("general.architecture", text("gpt2")),
                 "unknown or unsupported architecture 'gpt2'; supported: llama, qwen2, qwen3, "
                 "qwen3moe");
  expect_refusal(with("general.architecture", text("../\x1b[31m\n")), "'../\\x1b[31m\\x0a'");
  expect_refusal(with("general.architecture", text(std::string(1 << 20, 'a'))), "aaa...'");
  refusal(with("general.architecture", text("")));
}

TEST(GgufHostile, G31_block_count) {
  for (const std::uint32_t value : {0u, 513u, 0xffffffffu}) {
    expect_refusal(with("llama.block_count", u32(value)),
                   cat("= ", value, " must be from 1 to 512"));
  }
}

TEST(GgufHostile, G32_embedding_length) {
  expect_refusal(with("llama.embedding_length", u32(0)), "= 0 must be from 1 to");
  expect_refusal(with("llama.embedding_length", u32(9)), "= 9 is odd");
  expect_refusal(with("llama.embedding_length", u32(1u << 31)), "= 2147483648 must be");
  GgufWriter w = tiny_model().set("llama.attention.head_count", u32(3));
  w.set("llama.attention.head_count_kv", u32(3));
  expect_refusal(w.build(), "llama.embedding_length = 8 is not a multiple of 3 heads");
  expect_refusal(with("llama.embedding_length", u32(4096)), "heads of more than 512 elements");
}

TEST(GgufHostile, G33_head_counts) {
  expect_refusal(with("llama.attention.head_count", u32(0)), "= 0 must be from 1 to 4096");
  expect_refusal(with("llama.attention.head_count_kv", u32(0)), "= 0 must be from 1 to 2");
  expect_refusal(with("llama.attention.head_count_kv", u32(3)), "= 3 must be from 1 to 2");
  GgufWriter w = tiny_model().set("llama.attention.head_count", u32(8));
  w.set("llama.attention.head_count_kv", u32(3));
  expect_refusal(w.build(), "head_count_kv = 3 does not divide 8 heads");
  for (const Value& list : {ints({}), ints({1, 1}), ints({0}), ints({-1}), uints({0x80000000u})}) {
    refusal(with("llama.attention.head_count_kv", list));
  }
  refusal(with("llama.attention.head_count_kv", floats({1})));
}

TEST(GgufHostile, G34_rotary_dimensions) {
  for (const std::uint32_t value : {0u, 1u, 3u, 6u, 1u << 31}) {
    refusal(with("llama.rope.dimension_count", u32(value)));
  }
  EXPECT_EQ(open_bytes(with("llama.rope.dimension_count", u32(2))).config().ropes.front().dims, 2);
}

TEST(GgufHostile, G35_rotary_base_and_factors) {
  for (const float value : {0.0f, -1.0f, kNan, kInf, 1e-38f, 1e13f}) {
    expect_refusal(with("llama.rope.freq_base", f32(value)), "llama.rope.freq_base = ");
  }
  for (const float value : {0.0f, -1.0f, kNan, kInf}) {
    for (const char* key :
         {"factor", "attn_factor", "yarn_attn_factor", "yarn_beta_fast", "yarn_beta_slow"}) {
      expect_refusal(with(cat("llama.rope.scaling.", key), f32(value)), cat(key, " = "));
    }
    expect_refusal(with("llama.rope.scale_linear", f32(value)), "scale_linear = ");
  }
  refusal(with("llama.rope.scaling.original_context_length", u32(0)));
}

TEST(GgufHostile, G36_norm_epsilon) {
  for (const float value : {kNan, kInf, 0.0f, -1.0f, 1.0f, 1e30f}) {
    expect_refusal(with("llama.attention.layer_norm_rms_epsilon", f32(value)),
                   "llama.attention.layer_norm_rms_epsilon = ");
  }
}

TEST(GgufHostile, G37_context_length) {
  expect_refusal(with("llama.context_length", u32(0)), "= 0 must be from 1 to");
  expect_refusal(with("llama.context_length", u32(0xffffffff)), "= 4294967295 must be from 1 to");
}

TEST(GgufHostile, G39_vocabulary_smaller_than_the_tokenizer) {
  expect_refusal(with("llama.vocab_size", u32(15)), "is less than the tokenizer's 16 tokens");
  EXPECT_EQ(open_bytes(with("llama.vocab_size", u32(17))).config().vocab, 17);
}

}  // namespace
}  // namespace ingot
