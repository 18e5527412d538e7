// Parameters of the backend's ops: plain data, the same for every device.
#pragma once

#include <cstdint>
#include <span>

#include "backend/weight.h"
#include "base/view.h"

namespace ingot {

/// Division by the root of the mean square, or by the standard deviation after taking the mean off.
enum class NormKind { kRms, kLayer };

/// Weights of a normalisation; without `weight` there is none.
struct Norm {
  NormKind kind = NormKind::kRms;
  float eps = 0;
  View weight{};  ///< [1, n] float32
  View bias{};    ///< [1, n] float32, or none
  explicit operator bool() const { return static_cast<bool>(weight); }
};

/// Cosines and sines by position, times the scaling's attention factor.
struct RopeTable {
  bool adjacent_pairs = false;  ///< pairs (0, 1), (2, 3), ... of a head; else (i, i + dims/2)
  std::int32_t dims = 0;        ///< rotated elements of a head, even; the rest passes through
  View cos{};                   ///< [positions, dims / 2] float32
  View sin{};                   ///< the same
};

/// Who reads the rows that an op writes: a hint, which changes no bit of a result.
enum class Next {
  kAnyone,
  /// Linears and mixtures of experts above all: a backend may keep the rows in the form that these
  /// read as well. Until the step's end only ops may write there.
  kLinears,
};

/// One layer's attention, without weights.
struct Attention {
  std::int32_t heads = 0;     ///< N
  std::int32_t kv_heads = 0;  ///< G, divides N
  std::int32_t head_dim = 0;  ///< D, at most kHeadDimLimit
  float scale = 0;            ///< on the query, before the scores
  float score_cap = 0;        ///< s = cap * tanh(s / cap); 0 = none
  bool causal = true;
  /// 0 = none; else a row sees keys at a distance below it (to both sides when not causal).
  std::int32_t window = 0;
  const RopeTable* rope = nullptr;  ///< null = no rotary embedding

  std::int64_t q_cols() const { return std::int64_t{heads} * head_dim; }
  std::int64_t kv_cols() const { return std::int64_t{kv_heads} * head_dim; }
  std::int64_t qkv_cols() const { return q_cols() + 2 * kv_cols(); }
};

inline constexpr std::int32_t kHeadDimLimit = 512;

/// How cached keys and values are stored. kInt8: by token, kv head and group of 32 elements a float
/// scale and 8-bit integers, quantised as `Backend::linear` does it with its rows.
enum class KvType { kF32, kF16, kBF16, kInt8 };

/// One layer's pages of keys and values; their layout is the backend's.
struct KvLayer {
  std::byte* pages = nullptr;
  KvType type = KvType::kF16;
  std::int32_t blocks = 0;       ///< in the pool
  std::int64_t block_bytes = 0;  ///< of this layer: Backend::kv_block_bytes
  std::int32_t group = 0;        ///< which of Batch::groups maps its blocks
};

/// Activation functions of feed-forward layers; `Backend::activate` defines them.
enum class Act { kSilu, kGeluTanh, kGeluErf };

/// A mixture of experts: softmax router, the best `used` of `experts`.
struct Moe {
  std::int32_t experts = 0;
  std::int32_t used = 0;
  std::int32_t ffn = 0;  ///< F of one expert
  bool renormalise = true;
  Act act = Act::kSilu;

  bool operator==(const Moe&) const = default;
};

/// Its weights; every expert is a gated feed-forward.
struct MoeWeights {
  const Weight* router = nullptr;     ///< [E, H]
  std::span<const Weight> gate_up{};  ///< E of [2F, H], gate above up
  std::span<const Weight> down{};     ///< E of [H, F]
};

/// A token with its log-probability.
struct TokenScore {
  std::int32_t id = 0;
  float logprob = 0;
};

/// What `logits` makes of its rows; whatever is not empty is filled. Only the rows of `full` take
/// memory for all their logits, so a long prompt never needs [T, V].
struct LogitsReduce {
  View full{};                          ///< [F, V] float32, F <= R: logits of the first F rows
  std::span<std::int32_t> argmax{};     ///< [R]; ties to the lower id; -1 for a row that holds NaN
  std::int32_t ids_per_row = 0;         ///< tokens whose log-probability is wanted
  std::span<const std::int32_t> ids{};  ///< [R, ids_per_row]
  std::span<float> id_logprobs{};       ///< [R, ids_per_row]
  std::int32_t top_k = 0;               ///< best tokens wanted, at most as many as are ranked
  std::int64_t ranked = 0;              ///< only ids below it are among the best; 0 = all
  std::span<TokenScore> top{};          ///< [R, top_k], falling, ties to the lower id
};

/// The largest step that a backend's scratch memory has to serve.
struct StepLimits {
  std::int32_t rows = 0;      ///< T
  std::int32_t out_rows = 0;  ///< R
  std::int64_t cols = 0;      ///< widest input of a linear
  std::int64_t hidden = 0;    ///< H
  std::int64_t vocab = 0;     ///< V, 0 without a head
  Moe moe{};                  ///< experts = 0 without
};

}  // namespace ingot
