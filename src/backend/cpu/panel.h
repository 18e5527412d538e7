// Panel: the layout of packed weights on the CPU; a panel is 16 outputs with all their inputs.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/weight.h"
#include "quant/formats.h"

namespace ingot {

/// Number of outputs in a panel: one for each lane. All kernels and kPanelLayout assume 16.
inline constexpr int kPanelCols = 16;

/// Version of the packed layout, which files of packed weights store. Increase it if any byte of a
/// packed weight moves (panel_test.cpp checks a digest), or if encoders that run while a model
/// loads (quant/encode.h) give other codes. Otherwise new programs read old files wrongly.
inline constexpr std::uint32_t kPanelLayout = 3;

/// Offsets and sizes in a panel of block format F.
///
/// A panel is a list of blocks along K. A block is a header, then groups of 32 inputs. A header has
/// d of the 16 columns, then m if the format has minimums. A group has 16 integer scales (32 if a
/// column has two scales), the minimums, then the codes as bit planes.
///
/// The 32 x 16 codes of a group are eight "quads" of [16 columns][4 along K], 64 codes each. One
/// 64-byte vector of codes has 4 inputs of 16 outputs. A plane of b bits packs 8 / b quads into a
/// 64-byte vector: quad j is in vector j / (8 / b) at bit b * (j % (8 / b)). Codes of 5, 6 and 3
/// bits have a plane of low bits (4, 4, 2) and a plane of high bits (1, 2, 1). Every instruction
/// set unpacks a plane with a shift and a mask.
///
/// A panel is up to 3.6 % larger than its rows in the file, because 6-bit scales become bytes (Q3_K
/// 3.6 %, Q4_K 2.8 %, Q5_K 2.3 %, IQ4_XS 1.5 %; other formats keep their size).
template <BlockFormat F>
struct Panel {
  static constexpr int kGroups = F::kBlock / kGroup;
  /// Bytes of a block's scale d: one byte in MXFP4, two bytes (F16) in all other formats.
  static constexpr int kScaleBytes = std::is_same_v<F, MXFP4> ? 1 : 2;
  static constexpr bool kHasMin = F::kMinSign != 0;
  /// Whether a byte holds both a scale and a minimum, of 4 bits each (only in Q2_K).
  static constexpr bool kNibbleScales = std::is_same_v<F, Q2_K>;

  static constexpr int kLowBits = F::kBits == 5 || F::kBits == 6 ? 4 : F::kBits == 3 ? 2 : F::kBits;
  static constexpr int kHighBits = F::kBits - kLowBits;

  static constexpr int kHeaderBytes = kPanelCols * (kScaleBytes + (kHasMin ? 2 : 0));
  static constexpr int kGroupScaleBytes = F::kSubScales ? kPanelCols * F::kScales : 0;
  static constexpr int kGroupMinBytes =
      F::kSubScales && kHasMin && !kNibbleScales ? kPanelCols * F::kScales : 0;
  static constexpr int kLowBytes = 64 * kLowBits;
  static constexpr int kHighBytes = 64 * kHighBits;
  static constexpr int kGroupBytes = kGroupScaleBytes + kGroupMinBytes + kLowBytes + kHighBytes;
  static constexpr int kBlockBytes = kHeaderBytes + kGroups * kGroupBytes;

  static constexpr std::int64_t bytes(std::int64_t cols) { return cols / F::kBlock * kBlockBytes; }

  /// Number that kernels add to a code's value, because dot products need unsigned weights.
  static constexpr int kZero = [] {
    int low = 0;
    for (int code = 0; code < (1 << F::kBits); ++code) {
      if (F::value(code) < low) low = F::value(code);
    }
    return -low;
  }();
  /// Whether kernels need a table of values: true if any code differs from its value plus kZero.
  static constexpr bool kTable = [] {
    for (int code = 0; code < (1 << F::kBits); ++code) {
      if (F::value(code) + kZero != code) return true;
    }
    return false;
  }();
  static_assert(!kTable || F::kBits == 4);
};

/// A panel of a dense format: [K][16 columns]. Kernels convert each element to float32 on load.
template <DenseFormat F>
struct DensePanel {
  using Element = typename F::Element;
  static constexpr std::int64_t bytes(std::int64_t cols) {
    return cols * kPanelCols * static_cast<std::int64_t>(sizeof(Element));
  }
};

/// A panel of BF16 whose rows `linear` rounds: [K / 32 blocks][16 pairs along K][16 columns][2],
/// padded with zeros. A block is a matrix unit's tile, and vectors widen a pair with two
/// instructions. Weights below 2^-48 are +0.
struct PairPanel {
  static constexpr int kBlock = 32;
  static constexpr std::int64_t kPairBytes = 4 * kPanelCols;
  static constexpr std::int64_t kBlockBytes = kBlock / 2 * kPairBytes;
  static constexpr std::int64_t bytes(std::int64_t cols) {
    return (cols + kBlock - 1) / kBlock * kBlockBytes;
  }
  /// Offset of input `k` of a column, in bytes.
  static constexpr std::int64_t at(std::int64_t k, int column) {
    return k / 2 * kPairBytes + 4 * column + 2 * (k % 2);
  }
};

/// What a panel holds. `pairs`: the panel is a PairPanel, which Segment::rounds_rows states.
struct PanelKind {
  Format format{};
  bool pairs = false;
};

/// Returns what the panels of a segment hold.
inline PanelKind panel_kind(const Segment& s) {
  return {.format = s.format, .pairs = s.rounds_rows};
}

/// Returns the bytes of a panel with `cols` inputs.
std::int64_t panel_bytes(PanelKind kind, std::int64_t cols);

/// Packs rows [first, first + 16) of `rows` into one panel. Rows beyond the last one become zeros.
///
/// Shapes: rows [M, K] in the file's layout; `panel` has panel_bytes({rows.format, pairs}, K)
/// bytes.
void pack_panel(View rows, std::int64_t first, bool pairs, std::byte* panel);

/// Decodes one column of a panel. The floats are bit-equal to those of the row in the file, except
/// that pairs hold +0 in place of weights below 2^-48.
///
/// Shapes: column in [0, 16), out [cols].
void unpack_column(PanelKind kind, const std::byte* panel, int column, std::int64_t cols,
                   float* out);

/// Decodes row `row` of a packed weight. A row that the weight does not have is a bug.
///
/// Shapes: out [w.cols].
void unpack_row(const Weight& w, std::int64_t row, float* out);

}  // namespace ingot
