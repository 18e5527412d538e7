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
///
/// kLongrope divides each pair's frequency by a factor of a list: `short_factors` up to the
/// original context, `long_factors` above. kProportional rotates only the first `pairs` pairs of a
/// head.
struct RopeScaling {
  enum class Kind { kNone, kLinear, kLlama3, kYarn, kLongrope, kProportional };
  Kind kind = Kind::kNone;
  double factor = 1;            ///< divisor of frequencies (linear, llama3 and yarn); above 0
  double low_freq_factor = 1;   ///< llama3: full scaling if rotations per original_context < this
  double high_freq_factor = 4;  ///< llama3: no scaling if rotations per original_context > this
  double original_context = 0;  ///< llama3, yarn and longrope: trained context in tokens
  double beta_fast = 32;        ///< yarn: no scaling if rotations per original_context > this
  double beta_slow = 1;         ///< yarn: full scaling if rotations per original_context < this
  bool truncate = true;         ///< yarn: whether to round the correction range to whole pairs
  /// yarn and longrope: scales cos and sin. Absent: 0.1 ln(factor) + 1 for yarn, and
  /// sqrt(1 + ln(factor) / ln(original_context)) for longrope.
  std::optional<double> attention_factor;
  std::vector<double> short_factors;  ///< longrope: [dims / 2]
  std::vector<double> long_factors;   ///< longrope: [dims / 2]
  std::int64_t pairs = 0;             ///< proportional: number of pairs that rotate
};

/// One rotary embedding. Layers choose one of Config::ropes.
struct RopeConfig {
  RopeStyle style = RopeStyle::kHalfSplit;
  double theta = 10000;
  std::int64_t dims = 0;  ///< rotated elements of a head
  RopeScaling scaling;
};

/// The activation function of the feed-forward layers. kGptOss: the clamped one of GPT-OSS.
enum class Activation { kSilu, kGeluTanh, kGeluErf, kGptOss };

/// kRms: x / root mean square. kLayer: (x - mean) / standard deviation.
enum class Normalisation { kRms, kLayer };

/// How hidden states of a text become one vector. kNone: the model is no embedder.
enum class PoolingKind { kNone, kMean, kCls, kLast };

/// Sizes of one layer.
struct LayerSizes {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;
};

/// Sizes of multi-head latent attention (MLA, of DeepSeek); `kv_rank` 0: another attention.
///
/// Source: DeepSeek-V2, arXiv:2405.04434, section 2.1.
struct MlaSizes {
  std::int64_t q_rank = 0;   ///< width of the queries' latent; 0: queries have no latent
  std::int64_t kv_rank = 0;  ///< width of the latent of keys and values
  std::int64_t nope = 0;     ///< elements of a query or key that do not rotate
  std::int64_t rope = 0;     ///< elements that rotate
  std::int64_t value = 0;    ///< elements of a value
  /// Epsilon of the latents' norms. Absent: that of the model's other norms.
  std::optional<double> norm_eps{};
};

/// How a router scores experts and chooses some of them for a row.
struct RouterRules {
  bool sigmoid = false;          ///< scores are sigmoids of the router's logits; else their softmax
  bool renormalise = true;       ///< whether to divide the chosen experts' weights by their sum
  double scale = 1;              ///< factor of the chosen experts' weights
  std::int64_t groups = 1;       ///< number of groups of equal size that experts form
  std::int64_t groups_used = 1;  ///< groups of which experts can be chosen
  bool groups_by_two_best = false;  ///< ranks a group by the sum of its two best scores, not one
};

/// A layer of an embedder or cross-encoder that follows pooling: y = activation(W x + b).
struct DenseLayer {
  std::string weight;  ///< tensor name
  std::string bias;    ///< tensor name; empty: no bias
  bool tanh = false;   ///< whether tanh is the activation; else none
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

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
  /// [layers] sizes, if layers differ; they replace `heads`, `kv_heads`, `head_dim` and `ffn`.
  /// Empty: all layers have these.
  std::vector<LayerSizes> sizes;

  Normalisation norm = Normalisation::kRms;
  double norm_eps = 0;
  bool norm_plus_one = false;  ///< norms multiply by 1 + weight (Hugging Face's Gemma)
  Activation activation = Activation::kSilu;
  bool gated = true;  ///< whether feed-forward layers have a gate
  /// Whether attention and feed-forward layer read the same normalised input, and are both added.
  bool parallel_residual = false;
  double residual_scale = 1;  ///< factor of each sublayer's output
  double embed_scale = 1;     ///< factor of token embeddings
  double logit_scale = 1;     ///< factor of logits
  double logit_cap = 0;       ///< a logit y becomes cap * tanh(y / cap); 0: no cap

  bool causal = true;                     ///< false: a token also sees later tokens (encoders)
  std::optional<double> attention_scale;  ///< factor of scores; absent: 1 / sqrt(head_dim)
  double score_cap = 0;                   ///< a score s becomes cap * tanh(s / cap); 0: no cap
  bool qk_norm_after_rope = false;        ///< whether query and key norms follow the rotation
  bool v_norm = false;  ///< whether each value head is normalised (RMS without weight; Gemma 4)
  MlaSizes mla;

  std::vector<RopeConfig> ropes{1};  ///< rotary embeddings; not empty
  /// [layers] index in `ropes`, -1: no rotation. Empty: all layers have the first.
  std::vector<std::int32_t> rope_layer;

  /// Each layer's sliding window in tokens; 0: no window. Empty vector: no layer has a window.
  std::vector<std::int64_t> window;
  /// [layers] layer whose keys and values the layer reads, -1: its own. Empty: all their own.
  std::vector<std::int32_t> kv_source;
  /// [layers] whether the key projection also gives the values (Gemma 4). Empty: in no layer.
  std::vector<bool> values_from_keys;

  /// Whether the output head is the embedding matrix. Absent (GGUF): yes if the checkpoint has no
  /// tensor for the head.
  std::optional<bool> tied;
  /// Whether queries and keys have norms. Absent: if the checkpoint has tensors for them.
  std::optional<bool> qk_norm;
  /// Whether linear layers have biases: projections of queries, keys and values; the attention's
  /// output; the feed-forward layers. Absent: if the checkpoint has tensors for them.
  std::optional<bool> attention_bias;
  std::optional<bool> attention_out_bias;
  std::optional<bool> mlp_bias;

  std::int64_t experts = 0;  ///< number of experts of a layer; 0: dense model
  std::int64_t experts_used = 0;
  std::int64_t expert_ffn = 0;
  std::int64_t shared_ffn = 0;  ///< width of the shared experts together; 0: none
  RouterRules router;
  /// For a mixture of experts: whether each layer is dense (no experts). Empty: no layer is dense.
  std::vector<bool> dense_layer;
  std::int64_t mtp_layers = 0;  ///< layers for multi-token prediction, which are not used

  std::int64_t layer_input = 0;  ///< width of each layer's own token embedding (Gemma 4); 0: none

  // Encoders and embedders.
  std::int64_t token_types = 0;       ///< number of token types; 0: count the rows of their table
  std::int64_t position_offset = 0;   ///< row of the learned position table for position 0
  std::int64_t relative_buckets = 0;  ///< buckets of relative positions (MPNet); 0: none
  PoolingKind pooling = PoolingKind::kNone;
  bool normalise = false;         ///< whether embeddings are scaled to length 1
  std::vector<DenseLayer> dense;  ///< layers after pooling, in order
  std::int64_t labels = 0;        ///< outputs of a cross-encoder's head; 0: no cross-encoder
  /// Tokens whose rows of the output head form the head of a reranker that is a decoder: the token
  /// for yes, and maybe the token for no. Empty: the model has another head, or none.
  std::vector<std::int32_t> label_tokens;
  /// Whether a head of two labels answers yes (the first) or no.
  bool yes_or_no = false;

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
inline constexpr std::int64_t kLabelsMax = 1 << 16;

}  // namespace ingot
