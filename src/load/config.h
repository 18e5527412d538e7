// Config: a model's hyper-parameters, read from GGUF metadata or a Hugging Face config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "load/json.h"

namespace ingot {

/// The spelling of a checkpoint's tensor names.
enum class Naming {
  kGguf,         ///< blk.3.attn_q.weight
  kHuggingFace,  ///< model.layers.3.self_attn.q_proj.weight
};

/// Which two elements of a head a rotary embedding rotates together.
enum class RopeStyle {
  kAdjacent,   ///< (0, 1), (2, 3), ...: GGUF files of architecture llama
  kHalfSplit,  ///< (0, D/2), (1, D/2 + 1), ...: all other models here
};

/// How rotary frequencies are scaled for contexts longer than the trained one.
struct RopeScaling {
  enum class Kind { kNone, kLinear, kLlama3, kYarn };
  Kind kind = Kind::kNone;
  double factor = 1;            ///< divides frequencies (linear, llama3 and yarn); above 0
  double low_freq_factor = 1;   ///< llama3: full scaling below this many turns in original_context
  double high_freq_factor = 4;  ///< llama3: no scaling above this many turns in original_context
  double original_context = 0;  ///< llama3 and yarn: trained context in tokens
  double beta_fast = 32;        ///< yarn: no scaling above this many turns in original_context
  double beta_slow = 1;         ///< yarn: full scaling below this many turns in original_context
  bool truncate = true;         ///< yarn: rounds the correction range to whole dimensions
  std::optional<double> attention_factor;  ///< yarn: scales cos and sin; absent: 0.1 ln(factor) + 1
};

/// The activation function of the feed-forward layers.
enum class Activation { kSilu, kGeluTanh, kGeluErf };

/// A model's hyper-parameters as its file states them, checked by `validate_config`.
///
/// GGUF and Hugging Face files have different names and defaults for these values. Code in load/
/// hides the differences, so all other code reads plain fields.
struct Config {
  Naming naming = Naming::kGguf;
  std::string architecture;  ///< GGUF's spelling: "llama", "qwen2", "qwen3", "qwen3moe", ...
  std::string model_type;    ///< as the file writes it, printable: "mistral", "llama"

  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  ///< elements of a head; default: hidden / heads
  std::int64_t ffn = 0;       ///< width of dense feed-forward layers
  std::int64_t context = 0;   ///< trained context in tokens
  std::int64_t vocab = 0;     ///< number of tokens; 0: number of rows of the embedding matrix
  double norm_eps = 0;
  Activation activation = Activation::kSilu;

  RopeStyle rope_style = RopeStyle::kHalfSplit;
  double rope_theta = 10000;
  std::int64_t rope_dims = 0;  ///< rotated elements of a head; default: head_dim
  RopeScaling rope_scaling;

  /// Sliding window of each layer in tokens; 0 is no window. Empty: no layer has a window.
  std::vector<std::int64_t> window;

  /// Whether the output head shares the embedding matrix. Absent (GGUF): shared if there is no
  /// tensor for the head.
  std::optional<bool> tied;
  /// Whether linear layers have biases (Hugging Face's attention_bias, mlp_bias). Absent: they have
  /// biases if there are tensors for biases.
  std::optional<bool> attention_bias;
  std::optional<bool> mlp_bias;

  std::int64_t experts = 0;  ///< number of experts of a layer; 0: dense model
  std::int64_t experts_used = 0;
  std::int64_t expert_ffn = 0;
  bool renormalise_experts = true;  ///< divides the chosen experts' weights by their sum
  /// For a mixture of experts: true for each layer without experts (dense). Empty: no such layer.
  std::vector<bool> dense_layer;

  std::vector<std::int32_t> eos_ids;  ///< tokens that end a text; may be empty
  std::optional<std::int32_t> bos_id;
  /// Sampling parameters that the model's authors recommend, unchecked. They are the contents of
  /// generation_config.json, or GGUF's keys that begin with "general.sampling.".
  Json sampling = Json::object();
};

/// Checks that sizes are within limits, kv heads divide heads, lists have one entry per layer, and
/// window and rope values are usable.
///
/// Errors: model_error(file, "config", 0, reason) that names the field and its value.
void validate_config(const Config& config, const std::string& file);

/// Limits on accepted models, far above real models. With larger values, products of sizes could
/// overflow, and a hostile file could demand any amount of memory.
inline constexpr std::int64_t kLayersMax = 512;
inline constexpr std::int64_t kHiddenMax = 1 << 20;
inline constexpr std::int64_t kHeadsMax = 4096;
inline constexpr std::int64_t kHeadDimMax = 512;
inline constexpr std::int64_t kFfnMax = 1 << 22;
inline constexpr std::int64_t kVocabMax = 1 << 24;
inline constexpr std::int64_t kContextMax = 1 << 27;
inline constexpr std::int64_t kExpertsMax = 4096;
inline constexpr std::int64_t kExpertsInAllMax = 1 << 17;  ///< layers times experts

}  // namespace ingot
