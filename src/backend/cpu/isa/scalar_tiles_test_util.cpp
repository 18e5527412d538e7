// The scalar kernel table with tiles in plain C++, for tests of kernels/linear_tiles.inl,
// kernels/linear_pair_tiles.inl and kernels/attention_tiles.inl on machines without AMX.
#include "backend/cpu/isa/scalar_lanes.h"
#include "backend/cpu/kernels/linear_tiles.inl"

namespace ingot {

namespace {

struct ScalarTiles : ScalarLanes {
  template <int kRows, int kScales>
  static void begin_tiles() {
    rows_of_tile = kRows;
  }
  static void end_tiles() { rows_of_tile = 0; }

  template <int kTile, int kScales, bool kUnsigned>
  static void multiply_tile(const std::int8_t* rows, const std::uint8_t* quads) {
    constexpr int kInputs = 32 / kScales;
    for (int half = 0; half < kScales; ++half) {
      multiply<kUnsigned>(rows + kInputs * half, quads + 16 * kInputs * half, kInputs,
                          tiles[kTile][half]);
    }
  }
  template <int kTile, int kScales>
  static void store_tile(std::int32_t* out, std::int32_t* second) {
    const std::size_t bytes = sizeof out[0] * 16 * static_cast<std::size_t>(rows_of_tile);
    __builtin_memcpy(out, tiles[kTile][0], bytes);
    if (kScales == 2) __builtin_memcpy(second, tiles[kTile][1], bytes);
  }

  inline static thread_local std::int64_t products = 0;  ///< calls of multiply_rounded

  static void begin_rounded() {}
  template <int kTiles, int kPanels>
  static void clear_sums() {
    __builtin_memset(sums, 0, sizeof sums);
  }
  template <int kTile>
  static void load_rows(const std::uint16_t* x) {
    rows[kTile] = x;
  }
  template <int kPanel>
  static void load_pairs_tile(const std::byte* w) {
    pairs[kPanel] = reinterpret_cast<const std::uint16_t*>(w);
  }
  /// What TDPBF16PS computes: docs/decisions/0021-bf16-order.md.
  template <int kTiles, int kPanels>
  static void multiply_rounded() {
    ++products;
    for (int t = 0; t < kTiles; ++t) {
      for (int p = 0; p < kPanels; ++p) {
        for (int r = 0; r < 16; ++r) {
          for (int c = 0; c < 16; ++c) {
            sums[t][p][r][c] += dot(rows[t] + 32 * r, pairs[p] + 2 * c);
          }
        }
      }
    }
  }
  template <int kTiles, int kPanels>
  static void store_rounded_sums(float* out, const SumsLayout& to) {
    for (int t = 0; t < kTiles; ++t) {
      for (int p = 0; p < kPanels; ++p) {
        float* row = out + t * to.tile + p * to.panel;
        for (int r = 0; r < 16; ++r, row += to.row) {
          __builtin_memcpy(row, sums[t][p][r], sizeof sums[t][p][r]);
        }
      }
    }
  }

 private:
  static float dot(const std::uint16_t* x, const std::uint16_t* w) {
    float chains[2] = {};
    for (int k = 0; k < 32; ++k) {
      chains[k % 2] = __builtin_fmaf(bfloat16_to_float(x[k]),
                                     bfloat16_to_float(w[32 * (k / 2) + k % 2]), chains[k % 2]);
    }
    return chains[0] + chains[1];
  }
  template <bool kUnsigned>
  static void multiply(const std::int8_t* rows, const std::uint8_t* quads, int inputs,
                       std::int32_t* sums) {
    for (int r = 0; r < rows_of_tile; ++r) {
      for (int c = 0; c < 16; ++c) {
        std::int32_t sum = 0;
        for (int k = 0; k < inputs; ++k) {
          const std::uint8_t w = quads[64 * (k / 4) + 4 * c + k % 4];
          sum += rows[32 * r + k] * (kUnsigned ? w : static_cast<std::int8_t>(w));
        }
        sums[16 * r + c] = sum;
      }
    }
  }

  inline static thread_local int rows_of_tile = 0;
  inline static thread_local const std::uint16_t* rows[2] = {};
  inline static thread_local const std::uint16_t* pairs[2] = {};
  inline static thread_local TileSums sums = {};
  inline static thread_local std::int32_t tiles[2][2][256] = {};
};

}  // namespace

std::int64_t products_of_tiles() { return ScalarTiles::products; }

const KernelTable& scalar_tiles_kernels() {
  static const KernelTable kTable = with_tiles<ScalarTiles, scalar_kernels>("scalar (tiles)");
  return kTable;
}

}  // namespace ingot
