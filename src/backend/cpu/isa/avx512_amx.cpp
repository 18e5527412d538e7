// The kernel table for AVX-512 with VNNI and the integer tiles of AMX.
#include "backend/cpu/isa/avx512_lanes.h"
#include "backend/cpu/kernels/linear_tiles.inl"

namespace ingot {

namespace {

/// Shapes of the eight AMX tiles in the form of LDTILECFG (Intel SDM, volume 1, chapter 18). Tiles
/// 0 to 3 hold sums; tiles 0 and 1 hold the sums of a group's first half. Tiles 4 and 5 hold rows
/// of a group or of its halves, tiles 6 and 7 quads of a panel.
template <std::uint8_t kRows, int kScales>
struct alignas(64) TileShapes {
  static constexpr std::uint8_t kQuads = 8 / kScales;
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 4 * kQuads, 4 * kQuads, 64, 64};
  std::uint8_t rows[16] = {kRows, kRows, kRows, kRows, kRows, kRows, kQuads, kQuads};
};
static_assert(sizeof(TileShapes<16, 1>) == 64);

struct AmxLanes : Avx512Lanes<true> {
  /// Configures tiles of kRows rows, at most 16, for groups of kScales scales.
  template <int kRows, int kScales>
  INGOT_INLINE static void begin_tiles() {
    static constexpr TileShapes<kRows, kScales> kShapes;
    __asm__ volatile("ldtilecfg %0" : : "m"(kShapes));
  }
  /// Releases the tiles, which the processor would otherwise keep for this thread.
  INGOT_INLINE static void end_tiles() { __asm__ volatile("tilerelease"); }

  /// Sets sums kTile (0 or 1) to rows of 32 signed bytes times [8][16][4] bytes, signed or not. If
  /// a group has two scales, each half of the rows and quads has sums of its own.
  template <int kTile, int kScales, bool kUnsigned>
  INGOT_INLINE static void multiply_tile(const std::int8_t* rows, const std::uint8_t* quads) {
    if constexpr (kScales == 1) {
      multiply<kTile, 4 + kTile, 6 + kTile, kUnsigned>(rows, quads);
    } else {
      multiply<kTile, 4, 6, kUnsigned>(rows, quads);
      multiply<kTile + 2, 5, 7, kUnsigned>(rows + 16, quads + 256);
    }
  }
  /// Stores sums kTile as [rows][16]; the sums of second halves go to `second`.
  template <int kTile, int kScales>
  INGOT_INLINE static void store_tile(std::int32_t* out, std::int32_t* second) {
    store_sums<kTile>(out);
    if constexpr (kScales == 2) store_sums<kTile + 2>(second);
  }

 private:
  template <int kSums, int kRows, int kQuads, bool kUnsigned>
  INGOT_INLINE static void multiply(const std::int8_t* rows, const std::uint8_t* quads) {
    __asm__ volatile(
        "tilezero %%tmm%c0\n\t"
        "tileloadd (%3,%4,1), %%tmm%c1\n\t"
        "tileloadd (%5,%6,1), %%tmm%c2"
        :
        : "i"(kSums), "i"(kRows), "i"(kQuads), "r"(rows), "r"(std::int64_t{32}), "r"(quads),
          "r"(std::int64_t{64})
        : "memory");
    if constexpr (kUnsigned) {
      __asm__ volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0"
                       :
                       : "i"(kSums), "i"(kRows), "i"(kQuads));
    } else {
      __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0"
                       :
                       : "i"(kSums), "i"(kRows), "i"(kQuads));
    }
  }
  template <int kSums>
  INGOT_INLINE static void store_sums(std::int32_t* out) {
    __asm__ volatile("tilestored %%tmm%c0, (%1,%2,1)"
                     :
                     : "i"(kSums), "r"(out), "r"(std::int64_t{64})
                     : "memory");
  }
};

}  // namespace

const KernelTable& avx512_amx_kernels() {
  static const KernelTable kTable = with_tiles<AmxLanes, avx512_kernels>("avx512-amx");
  return kTable;
}

}  // namespace ingot
