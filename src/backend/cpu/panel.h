// Panels: the packed form of weights on the CPU, 16 outputs with all their inputs.
#pragma once

#include <cstdint>
#include <type_traits>

#include "quant/formats.h"

namespace ingot {

/// Outputs of a panel: the lanes of all kernels. kPanelLayout and every kernel depend on it.
inline constexpr int kPanelCols = 16;

/// Version of the packed layout, which files of packed weights carry. It has to rise when a byte of
/// a packed weight changes its place (panel_test.cpp has a digest of the places), or when rounding
/// while loading (quant/encode.h) gives other codes.
inline constexpr std::uint32_t kPanelLayout = 2;

/// Offsets and sizes in a panel of block format F.
///
/// A panel is a run of blocks along K. A block is a header: the 16 columns' d, then their m where
/// the format has minimums; then its groups of 32. A group is the 16 integer scales (twice 16 where
/// two share a group) and minimums, then the codes as bit planes.
///
/// Codes: the 32 x 16 codes of a group are eight "quads" of [16 columns][4 along K], 64 codes each:
/// one 64-byte vector operand advances 16 outputs by 4. A plane of b bits packs 8 / b quads into a
/// 64-byte vector: quad j is in vector j / (8 / b) at bit b * (j % (8 / b)). Codes of 5, 6 and 3
/// bits have a plane of low bits (4, 4, 2) and a plane of the bits above (1, 2, 1). Every
/// instruction set unpacks a plane with a shift and a mask.
///
/// Size: the file's plus at most 3.6 % (Q3_K; Q4_K 2.8 %, Q5_K 2.3 %, IQ4_XS 1.5 %, others none),
/// because 6-bit scales become bytes.
template <BlockFormat F>
struct Panel {
  static constexpr int kGroups = F::kBlock / kGroup;
  /// MXFP4's scale is one byte, all others are F16.
  static constexpr int kScaleBytes = std::is_same_v<F, MXFP4> ? 1 : 2;
  static constexpr bool kHasMin = F::kMinSign != 0;
  /// Q2_K keeps its 4-bit scale and minimum together in one byte.
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

  /// Added to a code's value to make it unsigned, as dot products need it.
  static constexpr int kZero = [] {
    int low = 0;
    for (int code = 0; code < (1 << F::kBits); ++code) {
      if (F::value(code) < low) low = F::value(code);
    }
    return -low;
  }();
  /// Whether codes need a table: some code is not its value plus kZero.
  static constexpr bool kTable = [] {
    for (int code = 0; code < (1 << F::kBits); ++code) {
      if (F::value(code) + kZero != code) return true;
    }
    return false;
  }();
  static_assert(!kTable || F::kBits == 4);
};

/// A panel of a dense format: [K][16 columns], widened when it is read.
template <DenseFormat F>
struct DensePanel {
  using Element = typename F::Element;
  static constexpr std::int64_t bytes(std::int64_t cols) {
    return cols * kPanelCols * static_cast<std::int64_t>(sizeof(Element));
  }
};

/// Bytes of a panel of `cols` inputs.
std::int64_t panel_bytes(Format format, std::int64_t cols);

/// Packs rows [first, first + 16) of `rows` into one panel; rows past the end become zeros.
///
/// Shapes: rows [M, K] in the file's layout; panel panel_bytes(format, K).
void pack_panel(View rows, std::int64_t first, std::byte* panel);

/// Decodes one column of a panel into the floats of the file's row, bit for bit.
///
/// Shapes: column in [0, 16), out [cols].
void unpack_column(Format format, const std::byte* panel, int column, std::int64_t cols,
                   float* out);

}  // namespace ingot
