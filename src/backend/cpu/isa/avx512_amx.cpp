// The kernel table for AVX-512 with VNNI and the integer tiles of AMX.
#include "backend/cpu/isa/avx512_lanes.h"
#include "backend/cpu/kernels/linear_tiles.inl"

namespace ingot {

namespace {

/// Shapes of the eight tiles, as LDTILECFG reads them (Intel SDM, volume 1, chapter 18): 0 and 1
/// hold sums, 2 and 3 rows of a group of 32, 4 and 5 quads of a panel.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 32, 32, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 8, 8};
};
static_assert(sizeof(TileShapes) == 64);

struct AmxLanes : Avx512Lanes<true> {
  INGOT_INLINE static void begin_tiles() {
    static constexpr TileShapes kShapes;
    __asm__ volatile("ldtilecfg %0" : : "m"(kShapes));
  }
  /// Without it the processor would keep the tiles of a thread that has no more use for them.
  INGOT_INLINE static void end_tiles() { __asm__ volatile("tilerelease"); }

  /// Tile kTile = 16 rows of 32 bytes times [8][16][4] bytes, all signed.
  template <int kTile>
  INGOT_INLINE static void multiply_tile(const std::int8_t* rows, const std::uint8_t* quads) {
    __asm__ volatile(
        "tilezero %%tmm%c0\n\t"
        "tileloadd (%3,%4,1), %%tmm%c1\n\t"
        "tileloadd (%5,%6,1), %%tmm%c2\n\t"
        "tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0"
        :
        : "i"(kTile), "i"(kTile + 2), "i"(kTile + 4), "r"(rows), "r"(std::int64_t{32}), "r"(quads),
          "r"(std::int64_t{64})
        : "memory");
  }
  /// The sums of tile kTile as [16][16].
  template <int kTile>
  INGOT_INLINE static void store_tile(std::int32_t* out) {
    __asm__ volatile("tilestored %%tmm%c0, (%1,%2,1)"
                     :
                     : "i"(kTile), "r"(out), "r"(std::int64_t{64})
                     : "memory");
  }
  /// Four rows by quads, [8][4][4] bytes, as [4][32].
  INGOT_INLINE static void rows_of_quads(const std::int8_t* quads, std::int8_t* rows) {
    const I low = load_bytes(quads), high = load_bytes(quads + 64);
    const I first = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
    const I second = _mm512_add_epi32(first, splat_int(2));
    store_bytes(rows, _mm512_permutex2var_epi32(low, first, high));
    store_bytes(rows + 64, _mm512_permutex2var_epi32(low, second, high));
  }
};

}  // namespace

const KernelTable& avx512_amx_kernels() {
  static const KernelTable kTable = with_tiles<AmxLanes, avx512_kernels>("avx512-amx");
  return kTable;
}

}  // namespace ingot
