// Every key that loading looks for, in every architecture, with hostile values; and values that
// contradict each other.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "load/gguf/gguf_config.h"
#include "load/gguf/gguf_metadata.h"
#include "load/gguf/gguf_model_test_util.h"
#include "load/gguf/gguf_tokenizer.h"
#include "load/hf/hf_fuzz_checks.h"

namespace ingot {
namespace {

using namespace testing_gguf;

constexpr std::uint32_t kArray = 9;
constexpr float kHostileNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kHostileInf = std::numeric_limits<float>::infinity();

/// The tiny models of an architecture, which together make the loader look for all its keys.
std::vector<Model> variants(const std::string& name) {
  const GgufFamily& family = gguf_family(name);
  std::vector<Model> all = {Model(name)};
  if (find_architecture(name)->rotation != Rotation::kNone) {
    Model yarn(name);
    yarn.set("rope.scaling.type", text("yarn")).set("rope.scaling.factor", f32(4));
    all.push_back(yarn);
  }
  if (family.classifier) all.push_back(Model(name).set("pooling_type", u32(4)));
  if (find_architecture(name)->experts && !family.needs_experts) {
    Model experts(name);
    experts.set("expert_count", u32(4)).set("expert_used_count", u32(2));
    experts.set("expert_feed_forward_length", u32(12));
    all.push_back(experts);
  }
  return all;
}

/// The keys that loading a model looks for. The last four are read before all others.
GgufKeys::KeySet wanted_keys(const Model& model) {
  const std::vector<std::byte> bytes = exact(model.bytes());
  const GgufFile file = parse_gguf(bytes, "test.gguf");
  GgufKeys::KeySet wanted;
  GgufKeys keys(file, &wanted);
  const auto tokenizer = gguf_tokenizer(keys);
  LoadNotes notes;
  gguf_config(
      keys, tokenizer.get(),
      [&](std::string_view tensor) {
        return std::any_of(file.tensors.begin(), file.tensors.end(),
                           [&](const TensorInfo& t) { return t.name == tensor; });
      },
      notes);
  wanted.insert({"general.alignment", "split.no", "split.count", "split.tensors.count"});
  return wanted;
}

/// Values at the edges of each type, and arrays of no, one, and four elements.
std::vector<Value> hostile_values() {
  std::vector<Value> values = one_of_each_type();
  for (const std::uint32_t v : {0u, 2u, 0x7fffffffu, 0xffffffffu}) values.push_back(u32(v));
  for (const float v : {0.0f, -1.0f, 1e38f, kHostileNan, kHostileInf}) {
    values.push_back(f32(v));
  }
  for (const Value& value :
       {u64(std::uint64_t{1} << 63), i64(-1), f64(1e308), boolean(0), text(""), text("\x1b[31m\n"),
        ints({}), strings({}), strings({"a", "a"}), bools({1, 1, 1, 1}), uints({0, 1, 1, 1}),
        uints(std::vector<std::uint32_t>(4, 0xffffffff)), ints({1, 1, 1, -1}),
        floats(std::vector<float>(16, kHostileNan))}) {
    values.push_back(value);
  }
  return values;
}

bool is_not_finite(const Value& value) {
  float number = 0;
  if (value.type != 6) return false;
  __builtin_memcpy(&number, value.bytes.data(), sizeof number);
  return !std::isfinite(number);
}

/// Keys without an effect on the arithmetic, whose values nothing reads.
bool may_be_anything(std::string_view key) {
  return key.ends_with(".rope.scaling.finetuned") || key.ends_with(".tensor_data_layout") ||
         key.ends_with(".mm.tokens_per_image");
}

/// Opens a model with one key replaced. What opens has a usable configuration. Returns the message
/// of the error, or "".
std::string message_with(const Model& model, const std::string& key, const Value& value) {
  Model changed = model;
  const std::vector<std::byte> bytes = exact(changed.set_key(key, value).bytes());
  try {
    Config config = open_gguf_bytes(bytes, "test.gguf")->config();
    config.vocab = std::max<std::int64_t>(config.vocab, 16);  // 0: the rows of the embedding
    testing_hf::check_accepted(config);
    return "";
  } catch (const Error& error) {
    EXPECT_TRUE(is_model_error(error, "test.gguf")) << key;
    return error.message();
  }
}

/// The most types of numbers and texts that a key may have.
std::size_t types_max(std::string_view key) {
  if (may_be_anything(key)) return 12;
  // These are read apart, and their messages have other words.
  if (key == "general.alignment" || key.ends_with("precompiled_charsmap")) return 12;
  // Converters write ids of both signs.
  return key.starts_with("tokenizer.ggml.") && key.ends_with("_token_id") ? 2 : 1;
}

/// Tries every value for a key. Values of other types than the key's are refused by the key's name,
/// and so are NaN and infinities.
void check_key(const Model& model, const std::string& key) {
  static const std::vector<Value> values = hostile_values();
  std::set<std::uint32_t> right_types;
  for (const Value& value : values) {
    const std::string message = message_with(model, key, value);
    const bool wrong_type = message.find(cat(key, " is of type ")) != std::string::npos;
    if (value.type != kArray && !wrong_type) right_types.insert(value.type);
    if (is_not_finite(value) && !may_be_anything(key)) {
      EXPECT_NE(message.find(key), std::string::npos) << key << ": " << message;
    }
  }
  EXPECT_LE(right_types.size(), types_max(key)) << key;
}

/// Architectures are tried in parts, so that each test is short.
class GgufHostileKeys : public ::testing::TestWithParam<std::size_t> {
 protected:
  static constexpr std::size_t kParts = 5;
};

TEST_P(GgufHostileKeys, G47_every_key_that_loading_looks_for) {
  GgufKeys::KeySet tried;
  const std::vector<std::string> names = all_architectures();
  for (std::size_t i = GetParam(); i < names.size(); i += kParts) {
    const std::size_t before = tried.size();
    for (const Model& model : variants(names[i])) {
      ASSERT_EQ(model.config().architecture, names[i]);
      for (const std::string& key : wanted_keys(model)) {
        if (tried.insert(key).second) check_key(model, key);
      }
    }
    EXPECT_GE(tried.size() - before, 30u) << names[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, GgufHostileKeys, ::testing::Range<std::size_t>(0, 5));

/// A value that contradicts another key or the architecture, and a part of the message.
struct Contradiction {
  const char* architecture;
  const char* key;
  Value value;
  const char* message;
};

TEST(GgufHostile, values_that_contradict_the_model) {
  const Contradiction all[] = {
      {"llama", "expert_used_count", u32(1), "must be from 0 to 0"},
      {"qwen3moe", "expert_used_count", u32(5), "must be from 0 to 4"},
      {"qwen3moe", "expert_count", u32(4097), "must be from 0 to 4096"},
      {"glm4moe", "leading_dense_block_count", u32(5), "must be from 0 to 4"},
      {"glm4moe", "expert_shared_count", u32(4096), "" /* 4096 x 12 is a width */},
      {"glm4moe", "expert_shared_count", u32(4097), "must be from 0 to 4096"},
      {"glm4moe", "expert_group_count", u32(5), "must be from 0 to 4"},
      {"glm4moe", "expert_weights_scale", f32(-1), "must be greater than 0"},
      {"glm4moe", "expert_weights_scale", f32(1e30f), "the factor of experts is 1.0"},
      {"glm4moe", "nextn_predict_layers", u32(4), "must be from 0 to 3"},
      {"deepseek2", "attention.kv_lora_rank", u32(0), "must be from 1 to"},
      {"deepseek2", "attention.kv_lora_rank", u32(573), "rotated part is 4, accepted are 2 to 3"},
      {"deepseek2", "attention.value_length", u32(513), "is over 512"},
      {"deepseek2", "attention.key_length", u32(513), "is over 512"},
      {"deepseek2", "attention.key_length_mla", u32(4), "attention.key_length = 12 is not the sum"},
      {"deepseek2", "attention.value_length_mla", u32(6), "is not the latent's 16 elements"},
      {"deepseek2", "rope.dimension_count", u32(3), "3 elements: must be even"},
      {"deepseek2", "rope.scaling.yarn_log_multiplier", f32(-1), "for yarn scaling only"},
      {"gemma3", "attention.sliding_window_pattern", u32(513), "must be from 1 to 512"},
      {"gemma3", "attention.sliding_window_pattern", bools({1, 1, 1}), "each of the 4 layers"},
      {"gemma3", "attention.sliding_window", u32(0x08000001), "must be from 0 to 134217728"},
      {"gemma3", "rope.freq_base_swa", f32(-1), "must be from 1 to 1e12"},
      {"gemma3", "attention.key_length_swa", u32(8), "keys of 8 and values of 4"},
      {"gemma4", "attention.shared_kv_layers", u32(4), "must be from 0 to 3"},
      {"gemma4", "embedding_length_per_layer_input", u32(1u << 21), "must be from 0 to 1048576"},
      {"gemma4", "rope.dimension_count_swa", u32(3), "3 elements: must be even"},
      {"gemma4", "feed_forward_length", uints({16, 16, 16}), "each of the 4 layers"},
      {"gemma4", "attention.head_count_kv", uints({1, 1, 1, 3}), "must be from 1 to 2"},
      {"gemma2", "final_logit_softcapping", f32(-30), "must not be negative"},
      {"gemma2", "final_logit_softcapping", f32(1e-30f), "the cap of logits is 1.0"},
      {"gemma2", "attn_logit_softcapping", f32(1e30f), "the cap of attention scores is 1.0"},
      {"granite", "logit_scale", f32(0), "must be greater than 0"},
      {"granite", "embedding_scale", f32(1e30f), "the factor of embeddings is 1.0"},
      {"granite", "residual_scale", f32(1e-30f), "the factor of sublayers is 1.0"},
      {"granite", "attention.scale", f32(-0.1f), "must be greater than 0"},
      {"phi3", "rope.scaling.type", text("longrope"), "needs the tensors"},
      {"phi3", "rope.scaling.type", text("dynamic"), "is not supported"},
      {"starcoder2", "attention.layer_norm_epsilon", f32(0), "must be greater than 0"},
      {"bert", "pooling_type", u32(0xffffffff), "must be from 0 to 4"},
      {"qwen3", "pooling_type", u32(5), "must be from 0 to 4"},
      {"modern-bert", "attention.causal", boolean(1), "is not supported"},
      {"gemma-embedding", "dense_2_feat_in", u32(8), "dense_2_feat_out is missing"},
      {"gemma-embedding", "dense_2_feat_out", u32(0), "must be from 1 to"},
  };
  for (const Contradiction& c : all) {
    const std::string key = cat(c.architecture, ".", c.key);
    const std::string message = message_with(Model(c.architecture), key, c.value);
    EXPECT_NE(message.find(c.message), std::string::npos) << key << ": " << message;
    EXPECT_EQ(message.empty(), std::string_view(c.message).empty()) << key << ": " << message;
  }
}

TEST(GgufHostile, keys_of_encoders) {
  constexpr const char* kTypes = "tokenizer.ggml.token_type_count";
  EXPECT_EQ(Model("bert").set_key(kTypes, u32(2)).config().token_types, 2);
  EXPECT_EQ(Model("llama").set_key(kTypes, u32(2)).config().token_types, 0);
  Model("bert").set_key(kTypes, u32(0)).expect_refusal_of(cat(kTypes, " = 0 must be from 1 to"));
  Model ranked("bert");
  ranked.set("pooling_type", u32(4));
  ranked.set("classifier.output_labels", strings(std::vector<std::string>(65'537, "x")));
  ranked.expect_refused("classifier.output_labels = [string x 65537] must have 1 to 65536");
}

}  // namespace
}  // namespace ingot
