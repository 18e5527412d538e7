// The kernel table for AVX-512 with VNNI and the tiles of AMX, of integers and of bfloat16.
#include <type_traits>

#include "backend/cpu/isa/avx512_lanes.h"
#include "backend/cpu/kernels/linear_tiles.inl"

namespace ingot {

namespace {

/// Shapes of the eight AMX tiles in the form of LDTILECFG (Intel SDM, volume 1, chapter 18). Tiles
/// 0 to 3 hold sums; tiles 0 and 1 hold the sums of a group's first half. Tiles 4 and 5 hold rows
/// of a group or of its halves, tiles 6 and 7 quads of a panel.
///
/// `kQuads`: rows of tiles 6 and 7, whose number is a quarter of the inputs' bytes.
template <std::uint8_t kRows, std::uint8_t kQuads>
struct alignas(64) TileShapes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 4 * kQuads, 4 * kQuads, 64, 64};
  std::uint8_t rows[16] = {kRows, kRows, kRows, kRows, kRows, kRows, kQuads, kQuads};
};
static_assert(sizeof(TileShapes<16, 8>) == 64);

struct AmxLanes : Avx512Lanes<true> {
  /// Configures tiles of kRows rows, at most 16, for groups of kScales scales.
  template <int kRows, int kScales>
  INGOT_INLINE static void begin_tiles() {
    configure<kRows, 8 / kScales>();
  }
  template <int kRows, int kQuads>
  INGOT_INLINE static void configure() {
    static constexpr TileShapes<kRows, kQuads> kShapes;
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

  /// Configures tiles of 16 rows of 64 bytes: sums in tiles 2 t + p of row tile t and panel p, rows
  /// in tiles 4 and 5, pairs of panels in tiles 6 and 7.
  INGOT_INLINE static void begin_rounded() { configure<kMatrixRows, 16>(); }
  template <int kTiles, int kPanels>
  INGOT_INLINE static void clear_sums() {
    __asm__ volatile("tilezero %tmm0");
    if constexpr (kPanels == 2) __asm__ volatile("tilezero %tmm1");
    if constexpr (kTiles == 2) __asm__ volatile("tilezero %tmm2");
    if constexpr (kTiles == 2 && kPanels == 2) __asm__ volatile("tilezero %tmm3");
  }
  template <int kTile>
  INGOT_INLINE static void load_rows(const std::uint16_t* rows) {
    load_tile<4 + kTile>(rows);
  }
  template <int kPanel>
  INGOT_INLINE static void load_pairs_tile(const std::byte* pairs) {
    load_tile<6 + kPanel>(pairs);
  }
  template <int kTiles, int kPanels>
  INGOT_INLINE static void multiply_rounded() {
    __asm__ volatile("tdpbf16ps %tmm6, %tmm4, %tmm0");
    if constexpr (kPanels == 2) __asm__ volatile("tdpbf16ps %tmm7, %tmm4, %tmm1");
    if constexpr (kTiles == 2) __asm__ volatile("tdpbf16ps %tmm6, %tmm5, %tmm2");
    if constexpr (kTiles == 2 && kPanels == 2) __asm__ volatile("tdpbf16ps %tmm7, %tmm5, %tmm3");
  }
  template <int kTiles, int kPanels>
  INGOT_INLINE static void store_rounded_sums(float* out, const SumsLayout& to) {
    const std::int64_t row_bytes = to.row * std::int64_t{sizeof(float)};
    store_sums<0>(out, row_bytes);
    if constexpr (kPanels == 2) store_sums<1>(out + to.panel, row_bytes);
    if constexpr (kTiles == 2) store_sums<2>(out + to.tile, row_bytes);
    if constexpr (kTiles == 2 && kPanels == 2) store_sums<3>(out + to.tile + to.panel, row_bytes);
  }

 private:
  template <int kTile>
  INGOT_INLINE static void load_tile(const void* bytes) {
    __asm__ volatile("tileloadd (%1,%2,1), %%tmm%c0"
                     :
                     : "i"(kTile), "r"(bytes), "r"(std::int64_t{64})
                     : "memory");
  }
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
  INGOT_INLINE static void store_sums(void* out, std::int64_t row_bytes = 64) {
    __asm__ volatile("tilestored %%tmm%c0, (%1,%2,1)"
                     :
                     : "i"(kSums), "r"(out), "r"(row_bytes)
                     : "memory");
  }
};

/// Adds the products of tiles 4 and 5 with tiles 6 and 7 to tiles 0 to 3: of bytes for integer
/// sums, of bfloat16 for floats.
template <class Sum>
INGOT_INLINE void add_full_tiles() {
  if constexpr (std::is_same_v<Sum, float>) {
    __asm__ volatile(
        "tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\t"
        "tdpbf16ps %%tmm7, %%tmm4, %%tmm1\n\t"
        "tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\t"
        "tdpbf16ps %%tmm7, %%tmm5, %%tmm3"
        :
        :);
  } else {
    __asm__ volatile(
        "tdpbssd %%tmm6, %%tmm4, %%tmm0\n\t"
        "tdpbssd %%tmm7, %%tmm4, %%tmm1\n\t"
        "tdpbssd %%tmm6, %%tmm5, %%tmm2\n\t"
        "tdpbssd %%tmm7, %%tmm5, %%tmm3"
        :
        :);
  }
}

/// Sets the four sums to zero, and loads both row tiles from `row` and both weight tiles from
/// `weights`. A stride of 0 makes all rows of a tile equal.
INGOT_INLINE void begin_full_tiles(const void* row, const void* weights) {
  static constexpr TileShapes<kMatrixRows, 16> kShapes;  // all tiles are full
  __asm__ volatile(
      "ldtilecfg %0\n\t"
      "tilezero %%tmm0\n\t"
      "tilezero %%tmm1\n\t"
      "tilezero %%tmm2\n\t"
      "tilezero %%tmm3\n\t"
      "tileloadd (%1,%3,1), %%tmm4\n\t"
      "tileloadd (%1,%3,1), %%tmm5\n\t"
      "tileloadd (%2,%3,1), %%tmm6\n\t"
      "tileloadd (%2,%3,1), %%tmm7"
      :
      : "m"(kShapes), "r"(row), "r"(weights), "r"(std::int64_t{0})
      : "memory");
}

/// Stores the four sums, and releases the tiles.
template <class Sum>
INGOT_INLINE void end_full_tiles(Sum (*sums)[kMatrixRows * 16]) {
  __asm__ volatile(
      "tilestored %%tmm0, (%0,%4,1)\n\t"
      "tilestored %%tmm1, (%1,%4,1)\n\t"
      "tilestored %%tmm2, (%2,%4,1)\n\t"
      "tilestored %%tmm3, (%3,%4,1)\n\t"
      "tilerelease"
      :
      : "r"(sums[0]), "r"(sums[1]), "r"(sums[2]), "r"(sums[3]), "r"(std::int64_t{64})
      : "memory");
}

/// Number of chains of peak_tiles: the rows of four tiles of sums.
constexpr int kTileChains = 4 * kMatrixRows;

/// In each round multiplies two row tiles with two weight tiles; returns the sum of all lanes.
template <class Sum>
Sum peak_tiles(std::int64_t rounds, const PeakOperands& operands) {
  if constexpr (std::is_same_v<Sum, float>) {
    begin_full_tiles(operands.tile_f, operands.tile_w);
  } else {
    begin_full_tiles(operands.tile_x, operands.u);
  }
  for (std::int64_t i = 0; i < rounds; ++i) add_full_tiles<Sum>();
  alignas(64) Sum sums[4][kMatrixRows * 16];
  end_full_tiles(sums);
  Sum total = 0;
  for (const auto& tile : sums) {
    for (const Sum sum : tile) total += sum;
  }
  return total;
}

KernelTable make_table() {
  KernelTable table = with_tiles<AmxLanes, avx512_kernels>("avx512-amx");
  table.peak_int8_tiles = {.chains = kTileChains, .run = peak_tiles<std::int32_t>};
  table.peak_bf16 = {.chains = kTileChains, .run = peak_tiles<float>};
  return table;
}

}  // namespace

const KernelTable& avx512_amx_kernels() {
  static const KernelTable kTable = make_table();
  return kTable;
}

}  // namespace ingot
