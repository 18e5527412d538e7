// KernelTable: one instruction set's kernels, chosen once at start.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/ops.h"
#include "base/inline.h"
#include "base/view.h"
#include "quant/group.h"

namespace ingot {

/// Rows whose quantised activations stand together.
inline constexpr int kTileRows = 4;

/// An integer sum that begins here, read as float, is kFloatBits plus the sum, which is below 2^22.
inline constexpr std::int32_t kIntBits = 0x4B400000;
inline constexpr float kFloatBits = 12582912.0f;  // 1.5 * 2^23

/// One group of 32 activations of a tile of rows, as `KernelTable::quantise` leaves them: laid out
/// as a product with a panel reads them, from one place for all rows.
/// Everything in it is four bytes a row.
struct QuantisedGroup {
  std::int8_t q[8][kTileRows][4];              ///< within [-127, 127], by quads along K
  float d[kTileRows];                          ///< their scale
  float minus_sum_float[kTileRows];            ///< of the 32 integers
  std::int32_t bits_minus_8_sum[kTileRows];    ///< kIntBits and 8 times it
  std::int32_t bits_minus_128_sum[kTileRows];  ///< kIntBits and 128 times it
  std::int32_t minus_half[2][kTileRows];       ///< of each 16
  /// 128 times it, the first with kIntBits.
  std::int32_t bits_minus_128_half[2][kTileRows];
};

/// Rows that a unit multiplies as one matrix.
inline constexpr int kMatrixRows = 16;

/// One group of 32 activations of 16 rows, as such a unit reads them: what QuantisedGroup holds.
struct MatrixGroup {
  alignas(64) std::int8_t q[kMatrixRows][kGroup];
  float d[kMatrixRows];
  float minus_sum_float[kMatrixRows];
  std::int32_t bits_minus_128_sum[kMatrixRows];
};

/// Rows times one panel of 16 outputs, or several neighbours.
struct PanelArgs {
  const std::byte* panel = nullptr;
  std::int64_t panel_bytes = 0;  ///< from a panel to the next
  std::int64_t cols = 0;         ///< K
  std::int64_t rows = 0;         ///< T
  View x;                        ///< [T, K] float32, for dense formats
  /// [tiles of T, K / 32], for block formats; may be null for a kernel with `matrix_rows`.
  const QuantisedGroup* q = nullptr;
  const MatrixGroup* matrix = nullptr;  ///< [T / 16, K / 32], the same, or null
  const float* bias = nullptr;          ///< [columns], or none
  float* out = nullptr;                 ///< [T, columns], the first panel's first column
  std::int64_t out_stride = 0;          ///< floats from a row to the next
  int columns = 0;                      ///< outputs of these panels
  std::byte* scratch = nullptr;  ///< LinearKernel::scratch bytes, at an address aligned to 64
};

/// The product with panels of one format.
struct LinearKernel {
  void (*run)(const PanelArgs&) = nullptr;
  /// Neighbours that a call had best take with `many_rows` rows or more; any number is right.
  int panels = 1;
  std::int64_t many_rows = 64;
  int few_panels = 1;  ///< the same with fewer rows
  /// Bytes of quantised rows that had best pass all panels before the next rows do, for each panel
  /// of a call, where it reads its rows once for all of them; at least what a second cache holds.
  std::int64_t panel_rows_bytes = 0;
  std::int64_t scratch = 0;  ///< bytes that a call needs, each thread its own
  /// Rows from which it reads PanelArgs::matrix alone, where there is one; 0: it always reads `q`.
  /// Fewer rows too, where `q` is null.
  std::int64_t matrix_rows = 0;
};

/// By the value of Format; null where there is no such format.
using LinearKernels = std::array<LinearKernel, 64>;

/// Queries (rows times query heads, of all its kv heads) that one call of an attention kernel
/// takes.
inline constexpr int kQueriesLimit = 24;

/// Keys or values of one kv head in a block of KvType::kInt8: scales [groups][16 tokens], then
/// bytes: of keys q + 128 as [cols / 4][16 tokens][4], of values q as [4][cols][4 tokens].
struct Int8Page {
  int groups;                ///< of 32 elements; the last one may be longer than the head
  std::int64_t cols;         ///< elements in all groups
  std::int64_t scale_bytes;  ///< before the integers

  INGOT_INLINE explicit Int8Page(std::int64_t head_dim)
      : groups(static_cast<int>((head_dim + 31) / 32)),
        cols(32 * groups),
        scale_bytes(std::int64_t{4} * 16 * groups) {}
  INGOT_INLINE std::int64_t bytes() const { return scale_bytes + 16 * cols; }
  INGOT_INLINE const float* scales(const std::byte* head, int group) const {
    return reinterpret_cast<const float*>(head) + 16 * group;
  }
};

/// Keys that `attention` (backend.h) computes together.
inline constexpr std::int32_t kChunk = 64;

/// Keys of a split of it: what it makes of one depends on no other.
inline constexpr std::int32_t kSplit = 1024;

/// Floats that the state of a query takes after a split: its weighted sum of values, then its
/// largest score and the sum of its weights.
constexpr std::int64_t attention_state_floats(std::int64_t head_dim) {
  return (head_dim + 31) / 32 * 32 + 16;
}

/// Attention of rows of one sequence, for the query heads of some neighbouring kv heads: keys and
/// values are read once for all that share them, chunk by chunk, in each one head after the other.
struct AttentionArgs {
  const float* q = nullptr;   ///< [rows, kv_heads * heads, D]
  float* out = nullptr;       ///< [rows, kv_heads * heads, D]
  std::int64_t q_stride = 0;  ///< floats from a row to the next
  std::int64_t out_stride = 0;
  std::int32_t rows = 0;
  std::int32_t heads = 0;     ///< that share a kv head
  std::int32_t kv_heads = 1;  ///< rows * heads * kv_heads is at most kQueriesLimit
  const std::byte* pages = nullptr;
  const std::int32_t* table = nullptr;  ///< blocks of the sequence
  std::int64_t block_bytes = 0;
  /// Of the first kv head's keys within a block, [D][16 tokens], and of its values, [16 tokens][D
  /// rounded up to 16]; of 8-bit integers see Int8Page.
  std::int64_t k_offset = 0;
  std::int64_t v_offset = 0;
  std::int64_t k_head = 0;  ///< bytes from a kv head's keys to the next one's
  std::int64_t v_head = 0;
  KvType type = KvType::kF16;
  std::int32_t head_dim = 0;
  const std::int32_t* first = nullptr;  ///< [rows]; keys seen: [first, last), at least one
  const std::int32_t* last = nullptr;
  float scale = 0;
  float score_cap = 0;
};

/// Elements of a row of logits that sampling looks at together.
inline constexpr std::int64_t kSpan = 256;

/// Spans of a row of n elements, the last one perhaps short.
constexpr std::int64_t spans_of(std::int64_t n) { return (n + kSpan - 1) / kSpan; }

/// What the peak kernels compute with. They cannot know it, so the work cannot be left out.
struct PeakOperands {
  alignas(64) std::uint8_t u[3 * 64] = {};  ///< bytes of weights, unsigned
  alignas(64) float w[3 * 16] = {};         ///< float weights
  std::int8_t x[5 * 4] = {};                ///< four bytes of activations a row
  float f[5] = {};                          ///< a float activation a row
};

/// `chains` accumulators of 16 lanes, each extended once a round; returns the sum of all lanes, so
/// that all of it has to be computed.
template <class Sum>
struct PeakKernel {
  int chains = 0;
  Sum (*run)(std::int64_t rounds, const PeakOperands& operands) = nullptr;
};

/// The kernels of one instruction set. Each evaluates the expression tree that backend.h declares
/// for its op, so all tables give the same bits.
struct KernelTable {
  const char* name = nullptr;  ///< as --cpu-isa spells it
  LinearKernels linear{};
  bool reads_matrix = false;  ///< whether some of them read PanelArgs::matrix
  /// [K] floats as row `row` of 16, into the [K / 32] groups of its tile and of the matrix; of both
  /// or of one, the other being null.
  void (*quantise)(const float* x, std::int64_t cols, int row, QuantisedGroup* groups,
                   MatrixGroup* matrix) = nullptr;
  /// The same bits for kTileRows rows at once, `stride` floats apart, into the groups of their
  /// tile; null where the table has nothing faster than one after the other.
  void (*quantise_tile)(const float* x, std::int64_t stride, std::int64_t cols,
                        QuantisedGroup* groups) = nullptr;
  /// x += add (where not null), then out = norm(x) (where out is not null).
  void (*norm)(float* x, const float* add, const Norm& n, std::int64_t cols, float* out) = nullptr;
  /// One head of D elements in place: normalised where there is a norm, rotated where there are
  /// angles.
  void (*rope)(float* head, std::int64_t head_dim, const Norm& n, bool adjacent_pairs,
               std::int64_t dims, const float* cos, const float* sin) = nullptr;
  void (*attention)(const AttentionArgs&) = nullptr;
  /// The same in two steps, between which threads may share the splits that rows see some of. First
  /// of split `split` (keys from kSplit * split on) the states of all queries, side by side by kv
  /// head, row and query head; of those that see nothing of it too.
  void (*attention_split)(const AttentionArgs&, std::int32_t split, float* states) = nullptr;
  /// Then the outputs, of the states of all such splits, `stride` floats from one's to the next's.
  void (*attention_join)(const AttentionArgs&, const float* states, std::int64_t stride) = nullptr;
  /// n half floats, rounded to nearest even; n is a multiple of 16.
  void (*to_half)(const float* x, std::int64_t n, std::uint16_t* out) = nullptr;
  /// out = act(in) * up; where `up` is null, out = act(in).
  void (*activate)(const float* in, const float* up, Act act, std::int64_t n, float* out) = nullptr;
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

  // What limits all of the above: kernels/peaks.inl.
  /// A dot product of 4 bytes a lane, chain and round: 8 operations.
  std::array<PeakKernel<std::int32_t>, 3> peak_int8{};
  /// A fused multiply-add a lane, chain and round: 2 operations.
  std::array<PeakKernel<float>, 3> peak_f32{};
  /// Reads a multiple of 512 bytes at an address aligned to 64; returns the sum of their words.
  std::int32_t (*peak_read)(const std::byte* data, std::int64_t bytes) = nullptr;
};

/// The table that every machine runs and all others are compared with.
const KernelTable& scalar_kernels();

// Tables for x86-64 processors that have the instructions; on others, calling a kernel is fatal.
const KernelTable& avx2_novnni_kernels();    ///< AVX2, FMA, F16C
const KernelTable& avx2_kernels();           ///< and AVX_VNNI
const KernelTable& avx512_novnni_kernels();  ///< AVX-512 F, BW, DQ, VL
const KernelTable& avx512_kernels();         ///< and AVX512_VNNI
const KernelTable& avx512_amx_kernels();     ///< and AMX-INT8
/// The table for 64-bit Arm with the dot products of Armv8.2.
const KernelTable& neon_kernels();

/// The tables that this machine can run, scalar first, the fastest last. The first call asks Linux
/// for the tiles of AMX where the processor has them; an alternate signal stack then needs 11 KiB.
std::span<const KernelTable* const> kernel_tables();

}  // namespace ingot
