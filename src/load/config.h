// Config: a model's hyper-parameters, in one spelling for every container.
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

/// How rotary embeddings pair the elements of a head.
enum class RopeStyle {
  kAdjacent,   ///< (0, 1), (2, 3), ...: GGUF files of architecture llama
  kHalfSplit,  ///< (0, D/2), (1, D/2 + 1), ...: everything else here
};

/// How rotary frequencies are scaled for contexts longer than the trained one.
struct RopeScaling {
  enum class Kind { kNone, kLinear, kLlama3, kYarn };
  Kind kind = Kind::kNone;
  double factor = 1;            ///< > 0; linear, llama3, yarn
  double low_freq_factor = 1;   ///< llama3
  double high_freq_factor = 4;  ///< llama3
  double original_context = 0;  ///< llama3, yarn: the context trained on, in tokens
  double beta_fast = 32;        ///< yarn
  double beta_slow = 1;         ///< yarn
  bool truncate = true;         ///< yarn: round the correction range to whole dimensions
  std::optional<double>
      attention_factor;  ///< yarn: factor on cos and sin; absent = 0.1 ln(factor) + 1
};

/// The non-linearity of the feed-forward layers.
enum class Activation { kSilu, kGeluTanh, kGeluErf };

/// A model's hyper-parameters as the file states them, after each value's own range check and
/// `validate_config`.
///
/// Both containers are read into this struct; load/ settles their differences in spelling and
/// defaults. Code above load/ reads plain fields.
struct Config {
  Naming naming = Naming::kGguf;
  std::string architecture;  ///< GGUF's spelling: "llama", "qwen2", "qwen3", "qwen3moe", ...
  std::string model_type;    ///< as the file writes it, printable: "mistral", "llama"

  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  ///< hidden / heads where the file is silent
  std::int64_t ffn = 0;       ///< width of dense feed-forward layers
  std::int64_t context = 0;   ///< tokens the model was trained for
  std::int64_t vocab = 0;     ///< 0 where the file is silent: the embedding matrix decides
  double norm_eps = 0;
  Activation activation = Activation::kSilu;

  RopeStyle rope_style = RopeStyle::kHalfSplit;
  double rope_theta = 10000;
  std::int64_t rope_dims = 0;  ///< rotated elements of a head; head_dim where the file is silent
  RopeScaling rope_scaling;

  /// Sliding window per layer in tokens, 0 = none; empty = none anywhere.
  std::vector<std::int64_t> window;

  /// Whether the head shares the embedding matrix. Absent (GGUF): shared when no head tensor
  /// exists.
  std::optional<bool> tied;
  /// Whether linears have biases (Hugging Face's attention_bias, mlp_bias); absent = the tensors
  /// decide.
  std::optional<bool> attention_bias;
  std::optional<bool> mlp_bias;

  std::int64_t experts = 0;  ///< 0 = dense model
  std::int64_t experts_used = 0;
  std::int64_t expert_ffn = 0;
  bool renormalise_experts = true;  ///< divide the chosen experts' weights by their sum
  /// Layers of a mixture-of-experts model that have a dense feed-forward instead; empty = none.
  std::vector<bool> dense_layer;

  std::vector<std::int32_t> eos_ids;  ///< from config and generation config or GGUF; may be empty
  std::optional<std::int32_t> bos_id;
  /// How the model's makers want its tokens drawn, unchecked: generation_config.json, or the keys
  /// of GGUF behind "general.sampling.".
  Json sampling = Json::object();
};

/// Checks the relations between the fields: heads divide, sizes are positive and within limits,
/// layer lists have one entry a layer, window and rope values are usable.
///
/// Errors: model_error for `file`, section "config", that names the field and the values.
void validate_config(const Config& config, const std::string& file);

/// Limits on accepted models, far above real ones. Larger values would overflow products of sizes
/// or reserve absurd amounts of memory.
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
