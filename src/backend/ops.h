// Parameters of the backend's ops (norm, attention, experts, logits), as plain data for any device.
#pragma once

#include <cstdint>
#include <span>

#include "backend/weight.h"
#include "base/view.h"
#include "quant/bf16.h"

namespace ingot {

/// kRms: x / root mean square. kLayer: (x - mean) / standard deviation.
enum class NormKind { kRms, kLayer };

/// Parameters of a normalisation. If `weight` is null, an op does not normalise.
struct Norm {
  NormKind kind = NormKind::kRms;
  float eps = 0;
  View weight{};  ///< [1, n] float32 factors, or null
  View bias{};    ///< [1, n] float32 terms, added after the factors; or null
  explicit operator bool() const { return static_cast<bool>(weight); }
};

/// Norms of the query, key and value heads, which `Backend::rope` applies.
///
/// A weight [1, D] belongs to every head, and a weight [heads, D] has a row for each head. With
/// more than one head, a weight [1, heads * D] normalises the full width of all heads together. A
/// bias has its weight's shape. The heads and D of `v` are kv heads and elements of a value.
struct HeadNorms {
  Norm q{};
  Norm k{};
  Norm v{};
  bool after_rope = false;  ///< true: `q` and `k` follow the rotation; false: they come before it
};

/// Rows that an op adds, multiplied by a factor. Null rows: the op adds nothing.
struct Term {
  View rows{};
  float factor = 1;

  Term() = default;
  Term(View added, float times = 1) : rows(added), factor(times) {}  // NOLINT(*-explicit-*)
};

/// What `Backend::embed` adds up for each row. Null parts are absent.
struct Embedding {
  const Weight* tokens = nullptr;    ///< [V, H]; null: all rows of the batch have embeddings
  float scale = 1;                   ///< factor of the token's row
  View positions{};                  ///< [P, H] float32 rows, or null
  std::int32_t position_offset = 0;  ///< row of `positions` at position 0
  View types{};                      ///< [types, H] float32 rows, or null
};

/// The output head. A logit y of the matrix becomes y * scale, then cap * tanh(y / cap).
struct Head {
  const Weight* weight = nullptr;  ///< [V, H]
  float scale = 1;
  float cap = 0;  ///< 0: no cap
};

/// How `Backend::pool` makes one row of a sequence's rows.
enum class Pooling {
  kNone,
  kMean,  ///< the mean of all rows
  kCls,   ///< the first row
  kLast,  ///< the last row
};

/// Cosines and sines of a rotary embedding, multiplied by the attention factor of RoPE scaling.
struct RopeTable {
  bool adjacent_pairs = false;  ///< true: pairs (0, 1), (2, 3), ... in a head; else (i, i + dims/2)
  std::int32_t dims = 0;        ///< number of a head's elements that rotate (even); 0: none
  View cos{};                   ///< [positions, dims / 2] float32
  View sin{};                   ///< [positions, dims / 2] float32
};

/// Which ops read the rows that an op writes. This hint does not change any bit of a result.
enum class Next {
  kAnyone,
  /// Only `linear`, `linear_activate`, `moe` and `logits`, which can read quantised rows. A backend
  /// may store the rows in another form, and leave `out` undefined. Only ops may write to the rows
  /// until the step ends.
  kLinears,
};

/// Shape and settings of one layer's attention, with its sinks and position biases.
struct Attention {
  std::int32_t heads = 0;      ///< N, query heads
  std::int32_t kv_heads = 0;   ///< G, kv heads; divides N
  std::int32_t head_dim = 0;   ///< D, elements of a query and of a key; at most kHeadDimLimit
  std::int32_t value_dim = 0;  ///< Dv, elements of a value, at most kHeadDimLimit; 0: as many as D
  float scale = 0;             ///< factor by which each query is multiplied
  float score_cap = 0;         ///< scores become cap * tanh(s / cap); 0: no cap
  bool causal = true;
  /// A row sees only keys less than `window` tokens away, on both sides if not causal. 0: no limit.
  std::int32_t window = 0;
  const RopeTable* rope = nullptr;  ///< rotary embedding; null: none
  /// The head's first rotated element: the elements [rope_first, rope_first + rope->dims) rotate.
  std::int32_t rope_first = 0;
  /// Whether a key's first Dv elements are its value (multi-head latent attention). Then qkv has no
  /// value columns. With KvType::kInt8, Dv is a multiple of 32.
  bool values_in_keys = false;
  /// false: the layer reads keys and values that an earlier layer wrote, and qkv has only queries.
  bool writes_kv = true;
  /// [1, N] float32, a logit for each query head that joins the softmax's denominator; or null.
  View sinks{};
  /// [N, 2R + 1] float32, or null: column R + clamp(key - query, -R, R), of key numbers, is added
  /// to the head's score after the cap.
  View position_bias{};

  std::int32_t v_dim() const { return value_dim == 0 ? head_dim : value_dim; }
  std::int64_t q_cols() const { return std::int64_t{heads} * head_dim; }
  std::int64_t k_cols() const { return std::int64_t{kv_heads} * head_dim; }
  std::int64_t v_cols() const { return values_in_keys ? 0 : std::int64_t{kv_heads} * v_dim(); }
  /// Columns of a row of queries, keys and values.
  std::int64_t qkv_cols() const { return q_cols() + (writes_kv ? k_cols() + v_cols() : 0); }
  /// Columns of a row of the attention's results.
  std::int64_t out_cols() const { return std::int64_t{heads} * v_dim(); }
};

/// The largest head_dim of supported models, in elements: DeepSeek's latents of 512 with rotary
/// keys of 64. Attention kernels have arrays of this size on the stack.
inline constexpr std::int32_t kHeadDimLimit = 576;

/// How linears read a matrix that `Backend::prepare` packs.
enum class Use {
  kPlain,
  kGated,       ///< gate rows above as many up rows, which `Backend::linear_activate` reads
  kExact,       ///< `linear` does not round its rows to bfloat16: routers, models that embed
  kGatedExact,  ///< kGated and kExact
  /// A small dense matrix of an adapter, whose rows are not rounded either. Packing it does not
  /// wait for steps, and its memory is its own, so that adapters can come and go.
  kAdapter,
};

/// Returns whether `Backend::linear` rounds the rows of a matrix to bfloat16.
constexpr bool rounds_rows(Format format, Use use) {
  return format == BF16::kFormat && use != Use::kExact && use != Use::kGatedExact &&
         use != Use::kAdapter;
}

/// The format of cached keys and values. kInt8: 8-bit integers with a float scale for each token,
/// kv head and group of 32 elements, rounded as `Backend::linear` rounds activations.
enum class KvType { kF32, kF16, kBF16, kInt8 };

/// One layer's pages of keys and values. Each backend has its own layout.
struct KvLayer {
  std::byte* pages = nullptr;  ///< a page for each block of the pool, in device memory
  KvType type = KvType::kF16;
  std::int32_t blocks = 0;       ///< number of blocks in the pool
  std::int64_t block_bytes = 0;  ///< bytes of a block: Backend::kv_block_bytes
  std::int32_t group = 0;        ///< index of the layer's KV group in Batch::groups
};

/// Activation functions of feed-forward layers; `Backend::activate` defines them. kGptOss is only
/// for gated layers.
enum class Act { kSilu, kGeluTanh, kGeluErf, kTanh, kGptOss };

/// A mixture of experts: a router chooses the best `used` of `experts` experts for a row.
struct Moe {
  /// How logits of the router become scores.
  enum class Score { kSoftmax, kSigmoid };
  /// The score of a group of experts: its best choice score, or the sum of its two best ones.
  enum class GroupScore { kBest, kSumOfTwo };

  std::int32_t experts = 0;
  std::int32_t used = 0;
  std::int32_t ffn = 0;  ///< F, width of one expert's feed-forward layer
  bool renormalise = true;
  Act act = Act::kSilu;
  Score score = Score::kSoftmax;
  float scale = 1;               ///< factor of the chosen experts' weights
  std::int32_t groups = 1;       ///< groups of equally many consecutive experts; divides `experts`
  std::int32_t groups_used = 1;  ///< a row's experts are in this number of groups
  GroupScore group_score = GroupScore::kBest;

  bool operator==(const Moe&) const = default;
};

/// Weights of a mixture of experts. Every expert is a gated feed-forward layer. Weights may have
/// biases.
struct MoeWeights {
  const Weight* router = nullptr;     ///< [E, H] matrix that gives the experts' logits
  std::span<const Weight> gate_up{};  ///< E matrices [2F, H]: rows of gate, then rows of up
  std::span<const Weight> down{};     ///< E matrices [H, F]
  /// [1, E] float32 terms of the scores by which experts are chosen, but not weighted; or null.
  View selection_bias{};
};

/// A token with its log-probability.
struct TokenScore {
  std::int32_t id = 0;
  float logprob = 0;
};

/// How to draw a token from a row of logits on the device, as plain data. Sampler defines the draw
/// of a choice with these parameters; the other ones of SamplingParams have their defaults.
struct DrawRow {
  float temperature = 0;
  std::int32_t top_k = 0;
  float top_p = 1;
  float min_p = 0;
  std::uint64_t seed = 0;
  std::uint32_t choice = 0;
  std::uint64_t index = 0;      ///< index of the token in its choice, from 0
  std::int32_t bias_first = 0;  ///< the row's first entry in LogitsReduce::biases
  std::int32_t biases = 0;      ///< number of the row's entries in LogitsReduce::biases
  std::int32_t mask = -1;       ///< the row's entry in LogitsReduce::masks; -1: all ids are allowed
};

/// Results of a draw in place of a token. kNoToken: the row holds NaN or +Inf, or only -Inf.
/// kAllExcluded: the row allows tokens, but biases and mask exclude all.
inline constexpr std::int32_t kNoToken = -1, kAllExcluded = -2;

/// A number to add to one token's logit; -infinity bans the token.
struct LogitBias {
  std::int32_t id = 0;
  float bias = 0;
};

/// The results that a caller wants. `Backend::logits` fills each view and span that is not empty.
/// The caller keeps the result spans until `Backend::wait` returns for the step: they are filled
/// then. Only the rows of `full` take memory for all V logits, so a long prompt takes no [T, V]
/// matrix.
struct LogitsReduce {
  View full{};  ///< [F, V] float32, F <= R: logits of the first F rows, in device memory
  std::span<std::int32_t> argmax{};     ///< [R] best tokens (ties: lowest id); -1 if a row has NaN
  std::int32_t ids_per_row = 0;         ///< number of log-probabilities wanted for each row
  std::span<const std::int32_t> ids{};  ///< [R, ids_per_row] tokens for `id_logprobs`
  std::span<float> id_logprobs{};       ///< [R, ids_per_row] log-probabilities of `ids`
  std::int32_t top_k = 0;               ///< number of best tokens wanted for each row
  std::int64_t ranked = 0;              ///< `top` and draws have only ids below this; 0: all
  std::span<TokenScore> top{};          ///< [R, top_k] tokens, best first (ties: lower id first)
  /// How to draw from each row of `full`, which the draw does not change. Only for backends with
  /// `Backend::draws`. They draw ids below `ranked`.
  std::span<const DrawRow> draw{};         ///< [F], or empty
  std::span<const LogitBias> biases{};     ///< biases of all rows; those of a row by ascending id
  std::span<const std::uint32_t> masks{};  ///< [n, ceil(V / 32)] bit i of an entry: id i is allowed
  std::span<std::int32_t> drawn{};         ///< [F] drawn tokens, kNoToken or kAllExcluded
};

/// Upper limits of a step's sizes; a backend plans its scratch memory for them.
struct StepLimits {
  std::int32_t rows = 0;      ///< T, number of rows
  std::int32_t out_rows = 0;  ///< R, number of rows that give results
  /// Largest K: number of inputs of a linear. The inputs of all heads of a `linear_heads` count.
  std::int64_t cols = 0;
  std::int64_t hidden = 0;  ///< H, width of a hidden state
  std::int64_t vocab = 0;   ///< V, width of the logits; 0: the model has no output head
  Moe moe{};                ///< the mixture of experts; experts = 0: the model has none
  bool adapters = false;    ///< whether rows may have adapters
};

/// What a model asks of a backend's ops.
struct ModelOps {
  std::span<const Attention> attention{};  ///< attention of each layer, without rotary tables
  std::span<const Format> formats{};       ///< formats of the matrices, each once
  KvType kv_type = KvType::kF16;
  NormKind norm = NormKind::kRms;
  Act act = Act::kSilu;
  Moe moe{};  ///< the mixture of experts; experts = 0: the model has none
  Pooling pooling = Pooling::kNone;
};

}  // namespace ingot
