// The kernel table for AVX-512 with VNNI and the integer tiles of AMX.
#include "backend/cpu/isa/avx512_lanes.h"
#include "backend/cpu/kernels/linear_tiles.inl"

namespace ingot {

namespace {

/// Shapes of the eight tiles, as LDTILECFG reads them (Intel SDM, volume 1, chapter 18): 0 and 1
/// hold sums, 2 and 3 rows of a group of 32, 4 and 5 quads of a panel.
template <std::uint8_t kRows>
struct alignas(64) TileShapes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 32, 32, 64, 64};
  std::uint8_t rows[16] = {kRows, kRows, kRows, kRows, 8, 8};
};
static_assert(sizeof(TileShapes<16>) == 64);

struct AmxLanes : Avx512Lanes<true> {
  /// Tiles of kRows rows, at most 16.
  template <int kRows>
  INGOT_INLINE static void begin_tiles() {
    static constexpr TileShapes<kRows> kShapes;
    __asm__ volatile("ldtilecfg %0" : : "m"(kShapes));
  }
  /// Without it the processor would keep the tiles of a thread that has no more use for them.
  INGOT_INLINE static void end_tiles() { __asm__ volatile("tilerelease"); }

  /// Tile kTile = rows of 32 signed bytes times [8][16][4] bytes, signed or not.
  template <int kTile, bool kUnsigned>
  INGOT_INLINE static void multiply_tile(const std::int8_t* rows, const std::uint8_t* quads) {
    __asm__ volatile(
        "tilezero %%tmm%c0\n\t"
        "tileloadd (%3,%4,1), %%tmm%c1\n\t"
        "tileloadd (%5,%6,1), %%tmm%c2"
        :
        : "i"(kTile), "i"(kTile + 2), "i"(kTile + 4), "r"(rows), "r"(std::int64_t{32}), "r"(quads),
          "r"(std::int64_t{64})
        : "memory");
    if constexpr (kUnsigned) {
      __asm__ volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0"
                       :
                       : "i"(kTile), "i"(kTile + 2), "i"(kTile + 4));
    } else {
      __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0"
                       :
                       : "i"(kTile), "i"(kTile + 2), "i"(kTile + 4));
    }
  }
  /// The sums of tile kTile as [rows][16].
  template <int kTile>
  INGOT_INLINE static void store_tile(std::int32_t* out) {
    __asm__ volatile("tilestored %%tmm%c0, (%1,%2,1)"
                     :
                     : "i"(kTile), "r"(out), "r"(std::int64_t{64})
                     : "memory");
  }
};

}  // namespace

const KernelTable& avx512_amx_kernels() {
  static const KernelTable kTable = with_tiles<AmxLanes, avx512_kernels>("avx512-amx");
  return kTable;
}

}  // namespace ingot
