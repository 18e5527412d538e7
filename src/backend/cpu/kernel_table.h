// KernelTable: the CPU kernels for one instruction set. The program picks a table when it starts.
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

/// Number of rows in a row tile; these rows share a QuantisedGroup. All kernels assume this number.
inline constexpr int kTileRows = 4;

/// The bit pattern of kFloatBits. Kernels add an integer sum below 2^22 to kIntBits. The result,
/// read as a float, is kFloatBits plus the sum, so no integer needs a conversion to float.
inline constexpr std::int32_t kIntBits = 0x4B400000;
inline constexpr float kFloatBits = 12582912.0f;  // 1.5 * 2^23: floats near it are integers

/// A group of 32 quantised activations for each row of a row tile. `KernelTable::quantise` writes
/// the group, and linear kernels read it.
struct QuantisedGroup {
  std::int8_t q[8][kTileRows][4];              ///< [quad along K][row][4] integers in [-127, 127]
  float d[kTileRows];                          ///< scale of each row
  float minus_sum_float[kTileRows];            ///< minus the sum of a row's 32 integers
  std::int32_t bits_minus_8_sum[kTileRows];    ///< kIntBits - 8 * sum of the 32 integers
  std::int32_t bits_minus_128_sum[kTileRows];  ///< kIntBits - 128 * sum of the 32 integers
  std::int32_t minus_half[2][kTileRows];       ///< minus sums of the first and last 16 integers
  /// 128 * minus_half. The values for the first 16 integers also include kIntBits.
  std::int32_t bits_minus_128_half[2][kTileRows];
};

/// Number of rows that a matrix unit (AMX) multiplies at once: an AMX tile has 16 rows.
inline constexpr int kMatrixRows = 16;

/// The values of QuantisedGroup for 16 rows, in the layout that a matrix unit reads.
struct MatrixGroup {
  alignas(64) std::int8_t q[kMatrixRows][kGroup];
  float d[kMatrixRows];
  float minus_sum_float[kMatrixRows];
  std::int32_t bits_minus_128_sum[kMatrixRows];
};

/// 16 rows of 32 activations, rounded to bfloat16: a tile of a matrix unit.
struct RoundedTile {
  alignas(64) std::uint16_t x[kMatrixRows][kGroup];
};

/// Arguments of a linear kernel, which multiplies rows with one or several consecutive panels.
struct PanelArgs {
  const std::byte* panel = nullptr;
  std::int64_t panel_bytes = 0;  ///< bytes from one panel to the next panel
  std::int64_t cols = 0;         ///< K, number of inputs
  std::int64_t rows = 0;         ///< T, number of rows
  View x;                        ///< [T, K] float32 rows, for dense formats
  /// [row tiles, K / 32] quantised rows, for block formats; null if kernels read only `matrix`.
  const QuantisedGroup* q = nullptr;
  const MatrixGroup* matrix = nullptr;   ///< [T / 16, K / 32], the values of `q`, or null
  const RoundedTile* rounded = nullptr;  ///< [T / 16, K / 32], the values of `x`, rounded; or null
  const float* bias = nullptr;           ///< [columns] bias, or null
  float* out = nullptr;                  ///< [T, columns] results of the panels' columns
  std::int64_t out_stride = 0;           ///< floats from one row of `out` to the next row
  int columns = 0;                       ///< number of outputs of all panels in the call
  std::byte* scratch = nullptr;          ///< memory of LinearKernel::scratch bytes, aligned to 64
};

/// The linear kernel for one weight format, and how to call it.
struct LinearKernel {
  void (*run)(const PanelArgs&) = nullptr;
  /// Number of panels in the fastest call with `many_rows` rows or more. It never changes results.
  int panels = 1;
  std::int64_t many_rows = 64;
  int few_panels = 1;  ///< number of panels in the fastest call with fewer rows
  /// Size that the kernel wants for a row block: bytes of quantised rows for each panel of a call.
  /// 0: the size of the second-level cache.
  std::int64_t panel_rows_bytes = 0;
  std::int64_t scratch = 0;  ///< size of PanelArgs::scratch in bytes
  /// Smallest number of rows for which the kernel prefers PanelArgs::matrix; for fewer rows it
  /// prefers PanelArgs::q. If the preferred input is null, the kernel reads the other. 0: only `q`.
  std::int64_t matrix_rows = 0;
  /// Smallest number of rows for which the kernel reads PanelArgs::rounded, if that is not null, in
  /// place of PanelArgs::x. 0: it never reads it.
  std::int64_t rounded_rows = 0;
};

/// Linear kernels, indexed by Format. `run` is null if no format has this index.
using LinearKernels = std::array<LinearKernel, 64>;

/// Index of the linear kernel for BF16 segments without Segment::rounds_rows.
inline constexpr std::size_t kExactBf16 = 63;

/// Largest number of queries (rows times query heads) in a call of an attention kernel: two row
/// tiles of a matrix unit. A larger value lengthens the kernel's arrays on the stack.
inline constexpr int kQueriesLimit = 2 * kMatrixRows;

/// Largest number of elements in the queries of a call, and in its sums of values, with the padding
/// of heads to a multiple of 32. Three such arrays, on tiles three and a half, lie on a stack,
/// which may have only 256 KiB.
inline constexpr int kQueryElements = 12 * 1024;

/// Most queries that share a read of keys in the fastest call of an attention kernel with vectors.
/// The scores and sums of more queries leave the first-level cache.
inline constexpr int kVectorQueries = 24;

/// Layout of one kv head's keys or values in a page of KvType::kInt8: scales [groups][16 tokens],
/// then bytes. Keys are q + 128 in [cols / 4][16 tokens][4]; values are q in [4][cols][4 tokens]. A
/// head is a key of D or a value of Dv elements.
struct Int8Page {
  int groups;                ///< number of groups of 32 elements; the last may have padding
  std::int64_t cols;         ///< number of elements in all groups, with padding
  std::int64_t scale_bytes;  ///< bytes of all scales

  INGOT_INLINE explicit Int8Page(std::int64_t head_dim)
      : groups(static_cast<int>((head_dim + 31) / 32)),
        cols(32 * groups),
        scale_bytes(std::int64_t{4} * 16 * groups) {}
  INGOT_INLINE std::int64_t bytes() const { return scale_bytes + 16 * cols; }
  INGOT_INLINE const float* scales(const std::byte* head, int group) const {
    return reinterpret_cast<const float*>(head) + 16 * group;
  }
};

/// Number of keys in a chunk, as `Backend::attention` defines it. Another value changes results.
inline constexpr std::int32_t kChunk = 64;

/// Number of keys in a split, as `Backend::attention` defines it. Another value changes results.
inline constexpr std::int32_t kSplit = 1024;

/// Returns the number of floats in a query's state after a split: the weighted sum of values, then
/// the largest score and the sum of weights.
constexpr std::int64_t attention_state_floats(std::int64_t value_dim) {
  return (value_dim + 31) / 32 * 32 + 16;
}

/// Arguments of an attention kernel: rows of one sequence, and the query heads of consecutive kv
/// heads. The kernel reads each chunk's keys and values once for all queries that share them.
struct AttentionArgs {
  const float* q = nullptr;   ///< [rows, kv_heads * heads, D] queries
  float* out = nullptr;       ///< [rows, kv_heads * heads, Dv] results
  std::int64_t q_stride = 0;  ///< floats from one row of `q` to the next row
  std::int64_t out_stride = 0;
  std::int32_t rows = 0;
  std::int32_t heads = 0;  ///< number of query heads for each kv head
  /// Number of kv heads. rows * heads * kv_heads is at most kQueriesLimit; its product with D or
  /// Dv, padded to a multiple of 32, is at most kQueryElements.
  std::int32_t kv_heads = 1;
  const std::byte* pages = nullptr;
  const std::int32_t* table = nullptr;  ///< the sequence's block table
  std::int64_t block_bytes = 0;
  /// Offsets of the first kv head's keys and values in a block, in bytes. PageLayout and Int8Page
  /// describe the layout.
  std::int64_t k_offset = 0;
  std::int64_t v_offset = 0;
  std::int64_t k_head = 0;  ///< bytes of a kv head's keys
  std::int64_t v_head = 0;
  KvType type = KvType::kF16;
  std::int32_t head_dim = 0;            ///< D
  std::int32_t value_dim = 0;           ///< Dv
  const std::int32_t* key = nullptr;    ///< [rows] the row's own key number
  const std::int32_t* first = nullptr;  ///< [rows] each row sees keys [first, last), at least one
  const std::int32_t* last = nullptr;
  float scale = 0;
  float score_cap = 0;
  const float* sinks = nullptr;  ///< [kv_heads * heads], or null
  /// [kv_heads * heads, 2 * bias_reach + 1] position biases, `bias_stride` floats apart; or null.
  const float* bias = nullptr;
  std::int64_t bias_stride = 0;
  std::int32_t bias_reach = 0;  ///< R of Attention::position_bias
};

/// The CPU backend's kernels for one instruction set. Each kernel evaluates the expression tree of
/// its op in backend.h, so all tables give equal bits.
struct KernelTable : HostKernels {
  LinearKernels linear{};
  bool reads_matrix = false;  ///< whether any linear kernel reads PanelArgs::matrix
  /// Writes rounded_bfloat16 of n floats, a multiple of 16.
  void (*round)(const float* x, std::int64_t n, std::uint16_t* out) = nullptr;
  /// Quantises x [cols], which is row `row` of 16 rows. Writes x to `groups`, the groups of its row
  /// tile, and to `matrix`, the groups of all 16 rows; both are [cols / 32]. Skips a null output.
  void (*quantise)(const float* x, std::int64_t cols, int row, QuantisedGroup* groups,
                   MatrixGroup* matrix) = nullptr;
  /// Quantises kTileRows rows, `stride` floats apart, into the groups of their row tile. Results
  /// are bit-equal to those of `quantise`. Null if `quantise` is at least as fast.
  void (*quantise_tile)(const float* x, std::int64_t stride, std::int64_t cols,
                        QuantisedGroup* groups) = nullptr;
  /// x = fma(factor, add, x) if `add` is not null. Then out = norm(x) if `out` is not null. `out`
  /// may be `x`.
  void (*norm)(float* x, const float* add, float factor, const Norm& n, std::int64_t cols,
               float* out) = nullptr;
  /// Rotates the pairs of x [dims].
  void (*rotate)(float* x, bool adjacent_pairs, std::int64_t dims, const float* cos,
                 const float* sin) = nullptr;
  /// x = x * factor.
  void (*scale)(float* x, float factor, std::int64_t n) = nullptr;
  /// x = cap * tanh(x / cap).
  void (*cap)(float* x, float cap, std::int64_t n) = nullptr;
  /// Divides x by its length, as `Backend::normalise`.
  void (*normalise)(float* x, std::int64_t n) = nullptr;
  void (*attention)(const AttentionArgs&) = nullptr;
  /// Most queries in the fastest call of `attention` over KvType::kBF16, at most kQueriesLimit. It
  /// never changes results.
  int bf16_queries = kVectorQueries;
  /// First half of `attention`, if threads share splits. Both halves give the bits of `attention`.
  /// Writes the states of all queries after split `split`, which begins at key kSplit * split. The
  /// order is kv head, row, query head. Queries that see no key of the split also have a state.
  void (*attention_split)(const AttentionArgs&, std::int32_t split, float* states) = nullptr;
  /// Second half of `attention`: computes outputs. The states of splits lie `stride` floats apart.
  void (*attention_join)(const AttentionArgs&, const float* states, std::int64_t stride) = nullptr;
  /// Rounds n floats to half floats, to nearest even. n is a multiple of 16.
  void (*to_half)(const float* x, std::int64_t n, std::uint16_t* out) = nullptr;
  /// out = act(in) * up, or out = act(in) if `up` is null. Act::kGptOss needs `up`.
  void (*activate)(const float* in, const float* up, Act act, std::int64_t n, float* out) = nullptr;
  /// x = softmax(x) in place.
  void (*softmax)(float* x, std::int64_t n) = nullptr;
  /// x = sigmoid(x) in place.
  void (*sigmoid)(float* x, std::int64_t n) = nullptr;
  /// Writes the largest element of x to `largest`, and the sum of exp(x - largest) to `sum`.
  void (*log_sum)(const float* x, std::int64_t n, float* largest, float* sum) = nullptr;
  /// Returns the index of the largest element (the first of equal ones), or -1 if one is NaN.
  std::int32_t (*argmax)(const float* x, std::int64_t n) = nullptr;
  /// y = fma(w, x, y) for n elements.
  void (*add_scaled)(float w, const float* x, std::int64_t n, float* y) = nullptr;
};

/// Returns the table in plain C++, which every machine can run. Tests compare all tables with it.
const KernelTable& scalar_kernels();

// Tables for x86-64 processors with these instructions. On other processors these functions crash,
// and so does a kernel call.
const KernelTable& avx2_novnni_kernels();    ///< for AVX2, FMA, F16C
const KernelTable& avx2_kernels();           ///< for AVX2, FMA, F16C, AVX_VNNI
const KernelTable& avx512_novnni_kernels();  ///< for AVX-512 F, BW, DQ, VL
const KernelTable& avx512_kernels();         ///< for AVX-512 F, BW, DQ, VL, VNNI
const KernelTable& avx512_bf16_kernels();    ///< for AVX-512 F, BW, DQ, VL, VNNI, BF16
const KernelTable&
avx512_amx_kernels();  ///< for AVX-512 F, BW, DQ, VL, VNNI, AMX-INT8 and AMX-BF16
/// Returns the table for 64-bit Arm processors with the dot product instructions of Armv8.2.
const KernelTable& neon_kernels();

/// Returns the tables that this machine can run: scalar first, fastest last. If the processor has
/// AMX, the first call asks Linux to enable AMX; an alternate signal stack then needs 11 KiB.
/// A table whose products of bfloat16 do not give the bits of the others is left out.
std::span<const KernelTable* const> kernel_tables();
/// Returns why a table is left out, for users; null if none is.
const char* kernel_warning();

}  // namespace ingot
