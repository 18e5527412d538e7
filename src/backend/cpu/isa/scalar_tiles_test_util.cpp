// The scalar kernel table with tiles in plain C++, for tests of kernels/linear_tiles.inl on
// machines without AMX.
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

 private:
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
  inline static thread_local std::int32_t tiles[2][2][256] = {};
};

}  // namespace

const KernelTable& scalar_tiles_kernels() {
  static const KernelTable kTable = with_tiles<ScalarTiles, scalar_kernels>("scalar (tiles)");
  return kTable;
}

}  // namespace ingot
