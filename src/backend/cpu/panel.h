// Panel: the layout of packed weights on the CPU; a panel is 16 outputs with all their inputs.
#pragma once

#include <cstdint>
#include <type_traits>

#include "quant/formats.h"

namespace ingot {

/// Number of outputs in a panel: one for each lane. All kernels and kPanelLayout depend on it.
inline constexpr int kPanelCols = 16;

/// Version of the packed layout; files of packed weights store it. Increase it if any byte of a
/// packed weight moves (panel_test.cpp checks a digest), or if encoders that run while a model
/// loads (quant/encode.h) give other codes. Otherwise old files would be read wrongly.
inline constexpr std::uint32_t kPanelLayout = 2;

/// Offsets and sizes in a panel of block format F.
///
/// A panel is a list of blocks along K. A block begins with a header: d of the 16 columns, then m
/// if the format has minimums. Its groups of 32 follow. A group is 16 integer scales (32 if a group
/// has two scales a column) and minimums, then the codes as bit planes.
///
/// Codes: the 32 x 16 codes of a group are eight "quads" of [16 columns][4 along K], 64 codes each.
/// One 64-byte vector of codes advances 16 outputs by 4 inputs. A plane of b bits packs 8 / b quads
/// into a 64-byte vector: quad j is in vector j / (8 / b) at bit b * (j % (8 / b)). Codes of 5, 6
/// and 3 bits have a plane of low bits (4, 4, 2) and a plane of high bits (1, 2, 1). Every
/// instruction set unpacks a plane with a shift and a mask.
///
/// Size: up to 3.6 % more than in the file, because 6-bit scales become bytes (Q3_K 3.6 %, Q4_K
/// 2.8 %, Q5_K 2.3 %, IQ4_XS 1.5 %; other formats keep their size).
template <BlockFormat F>
struct Panel {
  static constexpr int kGroups = F::kBlock / kGroup;
  /// Bytes of a block's scale d: MXFP4 has one byte, all other formats have F16.
  static constexpr int kScaleBytes = std::is_same_v<F, MXFP4> ? 1 : 2;
  static constexpr bool kHasMin = F::kMinSign != 0;
  /// Whether a byte holds both a scale and a minimum of 4 bits each: only Q2_K.
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

  /// Number that is added to a code's value, because dot products need unsigned weights.
  static constexpr int kZero = [] {
    int low = 0;
    for (int code = 0; code < (1 << F::kBits); ++code) {
      if (F::value(code) < low) low = F::value(code);
    }
    return -low;
  }();
  /// Whether kernels need a table of values: true if some code is not its value plus kZero.
  static constexpr bool kTable = [] {
    for (int code = 0; code < (1 << F::kBits); ++code) {
      if (F::value(code) + kZero != code) return true;
    }
    return false;
  }();
  static_assert(!kTable || F::kBits == 4);
};

/// A panel of a dense format: [K][16 columns]. Kernels convert its elements to float32 on reading.
template <DenseFormat F>
struct DensePanel {
  using Element = typename F::Element;
  static constexpr std::int64_t bytes(std::int64_t cols) {
    return cols * kPanelCols * static_cast<std::int64_t>(sizeof(Element));
  }
};

/// Bytes of a panel with `cols` inputs.
std::int64_t panel_bytes(Format format, std::int64_t cols);

/// Packs rows [first, first + 16) of `rows` into one panel. Rows beyond the last one become zeros.
///
/// Shapes: rows [M, K] in the file's layout; `panel` has panel_bytes(format, K) bytes.
void pack_panel(View rows, std::int64_t first, std::byte* panel);

/// Decodes one column of a panel. The floats are bit-equal to those of the row in the file.
///
/// Shapes: column in [0, 16), out [cols].
void unpack_column(Format format, const std::byte* panel, int column, std::int64_t cols,
                   float* out);

}  // namespace ingot
