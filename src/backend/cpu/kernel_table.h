// KernelTable: the CPU backend's kernels of one instruction set, chosen once at start.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/host_kernels.h"
#include "backend/ops.h"
#include "base/inline.h"
#include "base/view.h"
#include "quant/group.h"

namespace ingot {

/// Rows of a tile: their quantised activations lie together.
inline constexpr int kTileRows = 4;

/// The bits of kFloatBits. An integer sum below 2^22 that begins with it, read as float, is
/// kFloatBits plus the sum: no conversion is needed.
inline constexpr std::int32_t kIntBits = 0x4B400000;
inline constexpr float kFloatBits = 12582912.0f;  // 1.5 * 2^23

/// One group of 32 activations of a row tile, as `KernelTable::quantise` writes and products with
/// panels read it: all rows from one address. Each member takes four bytes a row.
struct QuantisedGroup {
  std::int8_t q[8][kTileRows][4];              ///< within [-127, 127], by quads along K
  float d[kTileRows];                          ///< scale
  float minus_sum_float[kTileRows];            ///< minus the sum of the 32 integers
  std::int32_t bits_minus_8_sum[kTileRows];    ///< kIntBits plus 8 times that
  std::int32_t bits_minus_128_sum[kTileRows];  ///< kIntBits plus 128 times that
  std::int32_t minus_half[2][kTileRows];       ///< minus the sum of each 16
  /// 128 times minus_half, the first plus kIntBits.
  std::int32_t bits_minus_128_half[2][kTileRows];
};

/// Rows that a matrix unit (AMX) multiplies at once.
inline constexpr int kMatrixRows = 16;

/// One group of 32 activations of 16 rows, as a matrix unit reads it; the values of QuantisedGroup.
struct MatrixGroup {
  alignas(64) std::int8_t q[kMatrixRows][kGroup];
  float d[kMatrixRows];
  float minus_sum_float[kMatrixRows];
  std::int32_t bits_minus_128_sum[kMatrixRows];
};

/// Arguments of a linear kernel: rows times one panel of 16 outputs, or several neighbours.
struct PanelArgs {
  const std::byte* panel = nullptr;
  std::int64_t panel_bytes = 0;  ///< distance of neighbouring panels
  std::int64_t cols = 0;         ///< K
  std::int64_t rows = 0;         ///< T
  View x;                        ///< [T, K] float32, for dense formats
  /// [tiles of T, K / 32], for block formats; may be null for a kernel with `matrix_rows`.
  const QuantisedGroup* q = nullptr;
  const MatrixGroup* matrix = nullptr;  ///< [T / 16, K / 32], equal values, or null
  const float* bias = nullptr;          ///< [columns], or none
  float* out = nullptr;                 ///< [T, columns], the first panel's first column
  std::int64_t out_stride = 0;          ///< floats between rows
  int columns = 0;                      ///< outputs of these panels
  std::byte* scratch = nullptr;  ///< LinearKernel::scratch bytes, at an address aligned to 64
};

/// The linear kernel of one format.
struct LinearKernel {
  void (*run)(const PanelArgs&) = nullptr;
  /// Panels of the fastest calls with `many_rows` rows or more; any number gives equal bits.
  int panels = 1;
  std::int64_t many_rows = 64;
  int few_panels = 1;  ///< panels of the fastest calls with fewer rows
  /// Bytes of quantised rows that should pass all panels before the next rows do, for each panel of
  /// a call, where it reads its rows once for all panels; at least the size of a second cache.
  std::int64_t panel_rows_bytes = 0;
  std::int64_t scratch = 0;  ///< bytes that a call needs in its thread
  /// Rows from which it reads PanelArgs::matrix alone, where there is one; fewer rows too where `q`
  /// is null. 0: it always reads `q`.
  std::int64_t matrix_rows = 0;
};

/// Linear kernels, indexed by Format; null where a number is no format.
using LinearKernels = std::array<LinearKernel, 64>;

/// Queries (rows times query heads of all its kv heads) of an attention kernel's call at most. A
/// larger value lengthens its arrays on the stack, which have to stay in the first cache.
inline constexpr int kQueriesLimit = 24;

/// Layout of one kv head's keys or values in a block of KvType::kInt8: scales [groups][16 tokens],
/// then bytes: keys as q + 128 [cols / 4][16 tokens][4], values as q [4][cols][4 tokens].
struct Int8Page {
  int groups;                ///< groups of 32 elements; the last may reach past the head
  std::int64_t cols;         ///< elements of all groups
  std::int64_t scale_bytes;  ///< bytes before the integers

  INGOT_INLINE explicit Int8Page(std::int64_t head_dim)
      : groups(static_cast<int>((head_dim + 31) / 32)),
        cols(32 * groups),
        scale_bytes(std::int64_t{4} * 16 * groups) {}
  INGOT_INLINE std::int64_t bytes() const { return scale_bytes + 16 * cols; }
  INGOT_INLINE const float* scales(const std::byte* head, int group) const {
    return reinterpret_cast<const float*>(head) + 16 * group;
  }
};

/// Keys of a chunk, as `attention` in backend.h defines it.
inline constexpr std::int32_t kChunk = 64;

/// Keys of a split, as `attention` in backend.h defines it: splits are computed independently.
inline constexpr std::int32_t kSplit = 1024;

/// Floats of a query's state after a split: its weighted sum of values, then its largest score and
/// the sum of its weights.
constexpr std::int64_t attention_state_floats(std::int64_t head_dim) {
  return (head_dim + 31) / 32 * 32 + 16;
}

/// Arguments of an attention kernel: rows of one sequence and the query heads of neighbouring kv
/// heads. Each chunk's keys and values are read once for all queries that share them, head by head.
struct AttentionArgs {
  const float* q = nullptr;   ///< [rows, kv_heads * heads, D]
  float* out = nullptr;       ///< [rows, kv_heads * heads, D]
  std::int64_t q_stride = 0;  ///< floats between rows
  std::int64_t out_stride = 0;
  std::int32_t rows = 0;
  std::int32_t heads = 0;     ///< query heads that share a kv head
  std::int32_t kv_heads = 1;  ///< rows * heads * kv_heads is at most kQueriesLimit
  const std::byte* pages = nullptr;
  const std::int32_t* table = nullptr;  ///< the sequence's blocks
  std::int64_t block_bytes = 0;
  /// Bytes in a block before the first kv head's keys [D][16 tokens] and before its values [16
  /// tokens][D rounded up to 16]; for 8-bit integers see Int8Page.
  std::int64_t k_offset = 0;
  std::int64_t v_offset = 0;
  std::int64_t k_head = 0;  ///< bytes of a kv head's keys
  std::int64_t v_head = 0;
  KvType type = KvType::kF16;
  std::int32_t head_dim = 0;
  const std::int32_t* first = nullptr;  ///< [rows]; keys seen: [first, last), at least one
  const std::int32_t* last = nullptr;
  float scale = 0;
  float score_cap = 0;
};

/// The CPU backend's kernels of one instruction set. Each evaluates the expression tree that
/// backend.h declares for its op, so all tables give equal bits.
struct KernelTable : HostKernels {
  LinearKernels linear{};
  bool reads_matrix = false;  ///< whether some linear kernels read PanelArgs::matrix
  /// Quantises [K] floats as row `row` of 16, into the [K / 32] groups of its tile and of the
  /// matrix; either may be null.
  void (*quantise)(const float* x, std::int64_t cols, int row, QuantisedGroup* groups,
                   MatrixGroup* matrix) = nullptr;
  /// Quantises kTileRows rows at once, `stride` floats apart, into the groups of their tile, to
  /// equal bits; null where the table has no faster way than row by row.
  void (*quantise_tile)(const float* x, std::int64_t stride, std::int64_t cols,
                        QuantisedGroup* groups) = nullptr;
  /// x += add (where not null), then out = norm(x) (where out is not null).
  void (*norm)(float* x, const float* add, const Norm& n, std::int64_t cols, float* out) = nullptr;
  /// Normalises and rotates one head of D elements in place, where there are a norm and angles.
  void (*rope)(float* head, std::int64_t head_dim, const Norm& n, bool adjacent_pairs,
               std::int64_t dims, const float* cos, const float* sin) = nullptr;
  void (*attention)(const AttentionArgs&) = nullptr;
  /// First of two steps that give the bits of `attention`, so that threads can share the splits:
  /// the states of all queries after split `split` (keys from kSplit * split on), side by side by
  /// kv head, row and query head. Queries that see no key of it have a state too.
  void (*attention_split)(const AttentionArgs&, std::int32_t split, float* states) = nullptr;
  /// Second step: the outputs, from the states of all splits, `stride` floats apart.
  void (*attention_join)(const AttentionArgs&, const float* states, std::int64_t stride) = nullptr;
  /// n half floats, rounded to nearest even; n is a multiple of 16.
  void (*to_half)(const float* x, std::int64_t n, std::uint16_t* out) = nullptr;
  /// out = act(in) * up; where `up` is null, out = act(in).
  void (*activate)(const float* in, const float* up, Act act, std::int64_t n, float* out) = nullptr;
  /// x = softmax(x) in place.
  void (*softmax)(float* x, std::int64_t n) = nullptr;
  /// Writes the largest element, and the sum of exp(x - largest).
  void (*log_sum)(const float* x, std::int64_t n, float* largest, float* sum) = nullptr;
  /// The index of the largest element, the lowest of equals; -1 when one is NaN.
  std::int32_t (*argmax)(const float* x, std::int64_t n) = nullptr;
  /// y = fma(w, x, y).
  void (*add_scaled)(float w, const float* x, std::int64_t n, float* y) = nullptr;
};

/// The table that every machine runs and all others are compared with.
const KernelTable& scalar_kernels();

// Tables for x86-64 processors with these instructions; on others, a call of a kernel is fatal.
const KernelTable& avx2_novnni_kernels();    ///< AVX2, FMA, F16C
const KernelTable& avx2_kernels();           ///< plus AVX_VNNI
const KernelTable& avx512_novnni_kernels();  ///< AVX-512 F, BW, DQ, VL
const KernelTable& avx512_kernels();         ///< plus AVX512_VNNI
const KernelTable& avx512_amx_kernels();     ///< plus AMX-INT8
/// The table for 64-bit Arm with the dot products of Armv8.2.
const KernelTable& neon_kernels();

/// The tables that this machine can run, scalar first, the fastest last. The first call asks Linux
/// for the tiles of AMX where the processor has them; an alternate signal stack then needs 11 KiB.
std::span<const KernelTable* const> kernel_tables();

}  // namespace ingot
