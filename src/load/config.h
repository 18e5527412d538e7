// Config: a model's hyper-parameters, read from GGUF metadata or a Hugging Face config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "load/json.h"

namespace ingot {

/// How a checkpoint spells its tensors' names.
enum class Naming {
  kGguf,         ///< for example blk.3.attn_q.weight
  kHuggingFace,  ///< for example model.layers.3.self_attn.q_proj.weight
};

/// Which elements of a head form the pairs that a rotary embedding rotates.
enum class RopeStyle {
  kAdjacent,   ///< pairs (0, 1), (2, 3), ...: in GGUF files of architecture llama
  kHalfSplit,  ///< pairs (0, n/2), (1, n/2 + 1), ... of n rotated elements: in all other models
};

/// How rotary frequencies are scaled for contexts longer than the trained context.
struct RopeScaling {
  enum class Kind { kNone, kLinear, kLlama3, kYarn };
  Kind kind = Kind::kNone;
  double factor = 1;            ///< divisor of frequencies (linear, llama3 and yarn); above 0
  double low_freq_factor = 1;   ///< llama3: full scaling if rotations per original_context < this
  double high_freq_factor = 4;  ///< llama3: no scaling if rotations per original_context > this
  double original_context = 0;  ///< llama3 and yarn: trained context in tokens
  double beta_fast = 32;        ///< yarn: no scaling if rotations per original_context > this
  double beta_slow = 1;         ///< yarn: full scaling if rotations per original_context < this
  bool truncate = true;         ///< yarn: whether to round the correction range to whole pairs
  std::optional<double> attention_factor;  ///< yarn: scales cos and sin; absent: 0.1 ln(factor) + 1
};

/// The activation function of the feed-forward layers.
enum class Activation { kSilu, kGeluTanh, kGeluErf };

/// A token that ends a text.
struct EndToken {
  std::int32_t id = 0;
  std::string source;  ///< what names the token, for users: "generation_config.json"

  bool operator==(const EndToken&) const = default;
};

/// Adds a token to `ends`, unless `ends` has its id.
void add_end(std::vector<EndToken>& ends, std::int32_t id, std::string_view source);
/// Returns the ids of `ends` in their order.
std::vector<std::int32_t> ids_of(std::span<const EndToken> ends);

/// A model's hyper-parameters as its file states them, checked by `validate_config`.
///
/// GGUF and Hugging Face files have different names and defaults for these values. Code in load/
/// hides the differences, so all other code reads plain fields.
struct Config {
  Naming naming = Naming::kGguf;
  std::string architecture;  ///< name in GGUF's spelling: "llama", "qwen3", "qwen3moe", ...
  std::string model_type;    ///< model type as the file spells it: "mistral", "llama"

  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  ///< elements of a head; default: hidden / heads
  std::int64_t ffn = 0;       ///< width of dense feed-forward layers
  std::int64_t context = 0;   ///< trained context in tokens
  std::int64_t vocab = 0;     ///< number of tokens; 0: count the rows of the embedding matrix
  double norm_eps = 0;
  Activation activation = Activation::kSilu;

  RopeStyle rope_style = RopeStyle::kHalfSplit;
  double rope_theta = 10000;
  std::int64_t rope_dims = 0;  ///< rotated elements of a head; default: head_dim
  RopeScaling rope_scaling;

  /// Each layer's sliding window in tokens; 0: no window. Empty vector: no layer has a window.
  std::vector<std::int64_t> window;

  /// Whether the output head is the embedding matrix. Absent (GGUF): yes if the checkpoint has no
  /// tensor for the head.
  std::optional<bool> tied;
  /// Whether linear layers have biases (Hugging Face's attention_bias, mlp_bias). Absent: a layer
  /// has a bias if the checkpoint has a bias tensor for this layer.
  std::optional<bool> attention_bias;
  std::optional<bool> mlp_bias;

  std::int64_t experts = 0;  ///< number of experts of a layer; 0: dense model
  std::int64_t experts_used = 0;
  std::int64_t expert_ffn = 0;
  bool renormalise_experts = true;  ///< whether to divide the chosen experts' weights by their sum
  /// For a mixture of experts: whether each layer is dense (no experts). Empty: no layer is dense.
  std::vector<bool> dense_layer;

  std::vector<EndToken> ends;  ///< tokens that end a text, no id twice; may be empty
  std::optional<std::int32_t> bos_id;
  /// Sampling parameters that the model's authors recommend, not yet validated: the contents of
  /// generation_config.json, or GGUF's keys that begin with "general.sampling.".
  Json sampling = Json::object();
};

/// Checks that sizes are within limits, that `kv_heads` divides `heads`, that lists have one entry
/// per layer, and that window and rope values are usable.
///
/// Errors: model_error(file, "config", reason) that names the field and its value.
void validate_config(const Config& config, const std::string& file);

/// Limits on a model's sizes, far above those of real models. With larger sizes, products could
/// overflow, and a hostile file could demand any amount of memory.
inline constexpr std::int64_t kLayersMax = 512;
inline constexpr std::int64_t kHiddenMax = 1 << 20;
inline constexpr std::int64_t kHeadsMax = 4096;
inline constexpr std::int64_t kHeadDimMax = 512;
inline constexpr std::int64_t kFfnMax = 1 << 22;
inline constexpr std::int64_t kVocabMax = 1 << 24;
inline constexpr std::int64_t kContextMax = 1 << 27;
inline constexpr std::int64_t kExpertsMax = 4096;
inline constexpr std::int64_t kExpertsInAllMax = 1 << 17;  ///< limit on layers * experts

}  // namespace ingot
