// KernelTable: one instruction set's kernels, chosen once at start.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "backend/ops.h"
#include "base/view.h"

namespace ingot {

/// Rows of activations as `KernelTable::quantise` leaves them: per row and group of 32 a scale d,
/// integers in [-127, 127], and the integers' sums per 16.
struct QuantisedRows {
  std::int8_t* q = nullptr;      ///< [T, K]
  float* d = nullptr;            ///< [T, K / 32]
  std::int32_t* sums = nullptr;  ///< [T, K / 16]
  std::int64_t cols = 0;         ///< K
};

/// Rows times one panel of 16 outputs.
struct PanelArgs {
  const std::byte* panel = nullptr;
  std::int64_t cols = 0;        ///< K
  std::int64_t rows = 0;        ///< T
  View x;                       ///< [T, K] float32, for dense formats
  QuantisedRows q;              ///< for block formats
  const float* bias = nullptr;  ///< [columns], or none
  float* out = nullptr;         ///< [T, columns], the panel's first column
  std::int64_t out_stride = 0;  ///< floats from a row to the next
  int columns = 0;              ///< outputs of this panel, 1 to 16
};

/// Attention for one row of the query heads that share a kv head, so that a kernel may read keys
/// and values once for all of them.
struct AttentionArgs {
  const float* q = nullptr;  ///< [heads, D]
  float* out = nullptr;      ///< [heads, D]
  std::int32_t heads = 0;
  const std::byte* pages = nullptr;
  const std::int32_t* table = nullptr;  ///< blocks of the sequence
  std::int64_t block_bytes = 0;
  std::int64_t k_offset = 0;  ///< of this kv head's keys within a block: [D][16 tokens]
  std::int64_t v_offset = 0;  ///< of its values: [16 tokens][D rounded up to 16]
  KvType type = KvType::kF16;
  std::int32_t head_dim = 0;
  std::int32_t first = 0;  ///< keys seen: [first, last)
  std::int32_t last = 0;
  float scale = 0;
  float score_cap = 0;
};

/// Elements of a row of logits that sampling looks at together.
inline constexpr std::int64_t kSpan = 256;

/// Spans of a row of n elements, the last one perhaps short.
constexpr std::int64_t spans_of(std::int64_t n) { return (n + kSpan - 1) / kSpan; }

/// The kernels of one instruction set. Each evaluates the expression tree that backend.h declares
/// for its op, so all tables give the same bits.
struct KernelTable {
  using Linear = void (*)(const PanelArgs&);

  const char* name = nullptr;  ///< as --cpu-isa spells it
  /// By the value of Format; null where there is no such format.
  std::array<Linear, 64> linear{};
  void (*quantise)(const float* x, std::int64_t cols, std::int8_t* q, float* d,
                   std::int32_t* sums) = nullptr;
  /// x += add (where not null), then out = norm(x) (where out is not null).
  void (*norm)(float* x, const float* add, const Norm& n, std::int64_t cols, float* out) = nullptr;
  /// One head of D elements in place: normalised where there is a norm, rotated where there are
  /// angles.
  void (*rope)(float* head, std::int64_t head_dim, const Norm& n, bool adjacent_pairs,
               std::int64_t dims, const float* cos, const float* sin) = nullptr;
  void (*attention)(const AttentionArgs&) = nullptr;
  /// Gated: out = act(in[0, n)) * in[n, 2n); else out = act(in[0, n)).
  void (*activate)(const float* in, Act act, bool gated, std::int64_t n, float* out) = nullptr;
  /// x = softmax(x) in place.
  void (*softmax)(float* x, std::int64_t n) = nullptr;
  /// The largest element, and the sum of exp(x - largest).
  void (*log_sum)(const float* x, std::int64_t n, float* largest, float* sum) = nullptr;
  /// The index of the largest element, the lowest of equals; -1 when one is NaN.
  std::int32_t (*argmax)(const float* x, std::int64_t n) = nullptr;
  /// The largest of n elements, or NaN when one is NaN. tops [spans, 16]: in column l of span s the
  /// largest of x[kSpan s + l + 16 j] over j, -Inf where there is none.
  float (*scan)(const float* x, std::int64_t n, float* tops) = nullptr;
  /// The elements that are at least `least`, by rising index, into `found` and `ids` (each with
  /// room for n); returns how many. `tops` are those of `scan`.
  std::int64_t (*collect)(const float* x, const float* tops, std::int64_t n, float least,
                          float* found, std::int32_t* ids) = nullptr;
  /// w = exp((x - largest) * scale) into `weights`; into sums [spans] the tree of each span's 16
  /// lane sums. Either may be null.
  void (*weigh)(const float* x, std::int64_t n, float largest, float scale, float* weights,
                float* sums) = nullptr;
  /// y = fma(w, x, y).
  void (*add_scaled)(float w, const float* x, std::int64_t n, float* y) = nullptr;
};

/// The table that every machine runs and all others are compared with.
const KernelTable& scalar_kernels();

/// The tables that this machine can run, scalar first, the fastest last.
std::span<const KernelTable* const> kernel_tables();

}  // namespace ingot
