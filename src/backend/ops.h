// Parameters of the backend's ops: plain data, equal for every device.
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
  View sin{};                   ///< [positions, dims / 2] float32
};

/// Readers of the rows that an op writes: a hint, which changes no bit of a result.
enum class Next {
  kAnyone,
  /// Mostly linears and mixtures of experts: a backend may also keep the rows in the form that
  /// these read. Until the step's end only ops may write there.
  kLinears,
};

/// One layer's attention, without weights.
struct Attention {
  std::int32_t heads = 0;     ///< N
  std::int32_t kv_heads = 0;  ///< G, divides N
  std::int32_t head_dim = 0;  ///< D, at most kHeadDimLimit
  float scale = 0;            ///< multiplies the query before the scores
  float score_cap = 0;        ///< s = cap * tanh(s / cap); 0 = none
  bool causal = true;
  /// 0 = none; else a row sees keys at a smaller distance (on both sides when not causal).
  std::int32_t window = 0;
  const RopeTable* rope = nullptr;  ///< null = no rotary embedding

  std::int64_t q_cols() const { return std::int64_t{heads} * head_dim; }
  std::int64_t kv_cols() const { return std::int64_t{kv_heads} * head_dim; }
  std::int64_t qkv_cols() const { return q_cols() + 2 * kv_cols(); }
};

/// Elements of a head at most: the largest of supported models. Attention kernels have arrays of
/// this size on the stack.
inline constexpr std::int32_t kHeadDimLimit = 512;

/// The format of cached keys and values. kInt8: 8-bit integers with a float scale for each token,
/// kv head and group of 32 elements, quantised as `Backend::linear` quantises its rows.
enum class KvType { kF32, kF16, kBF16, kInt8 };

/// One layer's pages of keys and values; their layout is the backend's.
struct KvLayer {
  std::byte* pages = nullptr;  ///< device memory
  KvType type = KvType::kF16;
  std::int32_t blocks = 0;       ///< blocks in the pool
  std::int64_t block_bytes = 0;  ///< Backend::kv_block_bytes
  std::int32_t group = 0;        ///< index in Batch::groups, which maps its blocks
};

/// Activation functions of feed-forward layers; `Backend::activate` defines them.
enum class Act { kSilu, kGeluTanh, kGeluErf };

/// A mixture of experts: a softmax router chooses the best `used` of `experts`.
struct Moe {
  std::int32_t experts = 0;
  std::int32_t used = 0;
  std::int32_t ffn = 0;  ///< F of one expert
  bool renormalise = true;
  Act act = Act::kSilu;

  bool operator==(const Moe&) const = default;
};

/// Weights of a mixture of experts; every expert is a gated feed-forward.
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

/// Results that `logits` computes of its rows; every view and span that is not empty is filled.
/// Only the rows of `full` take memory for all their logits, so a long prompt never needs [T, V].
struct LogitsReduce {
  View full{};  ///< [F, V] float32, F <= R: logits of the first F rows, device memory
  std::span<std::int32_t> argmax{};     ///< [R]; ties to the lower id; -1 for a row that holds NaN
  std::int32_t ids_per_row = 0;         ///< tokens to compute the log-probability for
  std::span<const std::int32_t> ids{};  ///< [R, ids_per_row]
  std::span<float> id_logprobs{};       ///< [R, ids_per_row]
  std::int32_t top_k = 0;               ///< best tokens to find, at most the ranked ones
  std::int64_t ranked = 0;              ///< only lower ids are ranked; 0 = all
  std::span<TokenScore> top{};          ///< [R, top_k], falling, ties to the lower id
};

/// The largest step that a backend plans its scratch memory for.
struct StepLimits {
  std::int32_t rows = 0;      ///< T
  std::int32_t out_rows = 0;  ///< R
  std::int64_t cols = 0;      ///< widest input of a linear
  std::int64_t hidden = 0;    ///< H
  std::int64_t vocab = 0;     ///< V, 0 without a head
  Moe moe{};                  ///< experts = 0 without
};

}  // namespace ingot
