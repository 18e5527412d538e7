// Linear kernel for block formats on AMX tiles: 16 rows by 16 outputs by a group of 32.
//
// The tile unit adds integers, which is exact, and writes the sums to memory. Vector code scales
// each group and adds it in the order of linear.inl, so results are bit-equal.
//
// A group with two scales is two products, each over a half of its inputs.
//
// The lanes type also needs begin_tiles, multiply_tile, store_tile and end_tiles
// (isa/avx512_amx.cpp). Work on the rows of a tile is a recursion instead of a loop: only then does
// the compiler keep the rows' sums in registers.
#pragma once

#include "backend/cpu/kernels/attention_tiles.inl"
#include "backend/cpu/kernels/linear.inl"
#include "backend/cpu/kernels/linear_pair_tiles.inl"

namespace ingot {
namespace {

/// Number of consecutive panels in a call, whose outputs are written together.
inline constexpr int kTilesPanels = 8;
/// Up to this number of rows, each row tile unpacks groups again, instead of once for all rows.
inline constexpr int kTilesFewRows = 64;
inline constexpr std::int64_t kSegmentGroups = kSegment / kGroup;

/// Scales and minimum of a group's outputs. `bits` is minus the part that kIntBits adds to the
/// first product.
template <class L>
struct TileScales {
  typename L::F w;
  typename L::F second;
  typename L::F m;
  typename L::F bits;
};

/// The scales of a group, packed or unpacked.
template <class L, class Tiles, class Group>
INGOT_INLINE TileScales<L> tile_scales(const Group& group) {
  const auto w = group.w(0);
  return {.w = w,
          .second = Tiles::kScales == 2 ? group.w(1) : w,
          .m = Tiles::kHasMin ? group.m(0) : w,
          .bits = Tiles::kBits ? group.minus_bits() : w};
}

/// The groups of a panel's segment in formats whose packed bytes, value + 128, a tile can multiply.
template <class L, class F>
struct PackedTiles {
  static constexpr int kScales = 1;
  static constexpr bool kUnsigned = true;
  static constexpr bool kHasMin = false;
  static constexpr bool kBits = true;
  static_assert(F::kBlock == kGroup && Panel<F>::kHeaderBytes == 2 * kPanelCols);
  const unsigned char* blocks;

  INGOT_INLINE void unpack(std::int64_t) const {}
  INGOT_INLINE const std::uint8_t* quads(std::int64_t g) const {
    return blocks + g * Panel<F>::kBlockBytes + Panel<F>::kHeaderBytes;
  }
  INGOT_INLINE TileScales<L> scales(std::int64_t g) const {
    const auto w = L::load_half(blocks + g * Panel<F>::kBlockBytes);
    return {.w = w, .second = w, .m = w, .bits = L::mul(w, L::splat(-kFloatBits))};
  }
};

/// Whether a tile can multiply the packed bytes of a panel of F (PackedTiles).
template <class L, class F>
inline constexpr bool kPacksTiles =
    F::kBits == 8 && !Panel<F>::kTable && Codes<L, F>::kOffset == 128;

/// From this number of rows on, tiles are faster than vectors.
template <class L, class F>
inline constexpr int kTilesLeastRows = kPacksTiles<L, F> ? 5 : 9;

/// Unpacks quads from kQuad on to signed bytes.
template <class L, class F, int kQuad>
INGOT_INLINE void expand_signed(const PackedGroup<L, F>& packed, std::uint8_t (*bytes)[64]) {
  if constexpr (kQuad < 8) {
    L::store_bytes(bytes[kQuad],
                   L::template add_bytes<-Codes<L, F>::kOffset>(packed.template quad<kQuad>()));
    expand_signed<L, F, kQuad + 1>(packed, bytes);
  }
}

/// Group g of the blocks of a panel.
template <class L, class F>
INGOT_INLINE PackedGroup<L, F> packed_group(const unsigned char* blocks, std::int64_t g) {
  using P = Panel<F>;
  const unsigned char* block = blocks + g / P::kGroups * P::kBlockBytes;
  return PackedGroup<L, F>(block_scale<L, F>(block), block_min<L, F>(block),
                           block + P::kHeaderBytes + g % P::kGroups * P::kGroupBytes);
}

/// The groups of a segment of a panel, unpacked, signed.
template <class L, class F>
struct ExpandedTiles {
  using Group = ExpandedGroup<L, Product<F, true, -1, Panel<F>::kScaleBytes == 2>>;
  static constexpr int kScales = Group::Kind::kScales;
  static constexpr bool kUnsigned = false;
  static constexpr bool kHasMin = Group::Kind::kHasMin;
  static constexpr bool kBits = Group::Kind::kBits;
  const Group* groups;

  INGOT_INLINE void unpack(std::int64_t) const {}
  INGOT_INLINE const std::uint8_t* quads(std::int64_t g) const { return groups[g].bytes[0]; }
  INGOT_INLINE TileScales<L> scales(std::int64_t g) const {
    return tile_scales<L, ExpandedTiles>(groups[g]);
  }
};

/// Unpacks `bytes` bytes of a panel.
template <class L, class F>
void expand_tiles(const unsigned char* packed, std::int64_t bytes,
                  typename ExpandedTiles<L, F>::Group* out) {
  for (const unsigned char* end = packed + bytes; packed != end; packed += Panel<F>::kBlockBytes) {
    for_groups<L, F>(packed, [&](const PackedGroup<L, F>& group) {
      expand_signed<L, F, 0>(group, out->bytes);
      store_scales<L>(group, *out++);
    });
  }
}

/// Groups that are unpacked to a ring buffer of four groups, two groups before their product.
template <class L, class F>
struct UnpackedTiles {
  using P = Panel<F>;
  static constexpr int kScales = F::kScales;
  static constexpr bool kUnsigned = false;
  static constexpr bool kHasMin = P::kHasMin;
  static constexpr bool kBits = P::kScaleBytes == 2;
  const unsigned char* blocks;
  std::uint8_t (*ring)[8][64];  ///< four groups

  INGOT_INLINE void unpack(std::int64_t g) const {
    expand_signed<L, F, 0>(packed_group<L, F>(blocks, g), ring[g % 4]);
  }
  INGOT_INLINE const std::uint8_t* quads(std::int64_t g) const { return ring[g % 4][0]; }
  INGOT_INLINE TileScales<L> scales(std::int64_t g) const {
    return tile_scales<L, UnpackedTiles>(packed_group<L, F>(blocks, g));
  }
};

/// Prefetches kBytes from `next` on, one line for every row or two, so that memory and arithmetic
/// do not wait for each other.
template <int kBytes, int kRows, int kRow>
INGOT_INLINE void prefetch_beside(const unsigned char* next) {
  constexpr int kLines = (kBytes + kLine - 1) / kLine;
  for (int i = kRow * kLines / kRows; i < (kRow + 1) * kLines / kRows; ++i) {
    prefetch_line(next + kLine * i);
  }
}

template <class L, int kRows, int kRow = 0>
INGOT_INLINE void clear_sums(typename L::F* acc) {
  if constexpr (kRow < kRows) {
    acc[kRow] = L::splat(0);
    clear_sums<L, kRows, kRow + 1>(acc);
  }
}

template <class L, int kRows, int kRow = 0>
INGOT_INLINE void store_sums(const typename L::F* acc, float (*out)[kPanelCols]) {
  if constexpr (kRow < kRows) {
    L::store(out[kRow], acc[kRow]);
    store_sums<L, kRows, kRow + 1>(acc, out);
  }
}

/// The products of a group with each of its scales.
template <int kScales, int kRows>
using TileProducts = std::int32_t[kScales][kRows][kPanelCols];

template <class L>
INGOT_INLINE typename L::I load_products(const std::int32_t* row) {
  return L::bits(L::load(reinterpret_cast<const float*>(row)));
}

/// acc += one group, whose products are in `products`.
template <class L, class Tiles, int kFetch, int kRows, int kRow = 0>
INGOT_INLINE void add_tile(const TileProducts<Tiles::kScales, kRows>& products,
                           const TileScales<L>& scales, const MatrixGroup& x,
                           const unsigned char* next, typename L::F* acc) {
  if constexpr (kRow < kRows) {
    auto product = load_products<L>(products[0][kRow]);
    typename L::F t;
    if constexpr (Tiles::kUnsigned) {
      product = L::add_int(product, L::splat_int(x.bits_minus_128_sum[kRow]));
    } else if constexpr (Tiles::kBits) {
      product = L::add_int(product, L::splat_int(kIntBits));
    }
    if constexpr (Tiles::kBits) {
      t = L::fma(L::from_bits(product), scales.w, scales.bits);
    } else {
      t = L::mul(L::to_float(product), scales.w);
    }
    if constexpr (Tiles::kScales == 2) {
      t = L::fma(L::to_float(load_products<L>(products[1][kRow])), scales.second, t);
    }
    if constexpr (Tiles::kHasMin) t = L::fma(scales.m, L::splat(x.minus_sum_float[kRow]), t);
    acc[kRow] = L::fma(t, L::splat(x.d[kRow]), acc[kRow]);
    if constexpr (kFetch != 0) prefetch_beside<kFetch, kRows, kRow>(next);
    add_tile<L, Tiles, kFetch, kRows, kRow + 1>(products, scales, x, next, acc);
  }
}

template <class L, class Tiles, int kTile>
INGOT_INLINE void multiply_group(const MatrixGroup& x, const Tiles& tiles, std::int64_t g) {
  L::template multiply_tile<kTile, Tiles::kScales, Tiles::kUnsigned>(x.q[0], tiles.quads(g));
}

template <class L, class Tiles, int kTile, int kRows>
INGOT_INLINE void store_products(std::int32_t (&to)[Tiles::kScales][kRows][kPanelCols]) {
  L::template store_tile<kTile, Tiles::kScales>(to[0][0], to[Tiles::kScales - 1][0]);
}

/// Number of groups between a product and its scaling, see tile_step.
inline constexpr int kTilesBehind = 3;

/// While the tile unit multiplies group g, group g - 1 is stored and group g - 3 is scaled. Sums
/// cannot be read right after their store, and a read that waits delays all later reads.
template <class L, class Tiles, int kTile, int kFetch, int kRows>
INGOT_INLINE void tile_step(const MatrixGroup* x, const Tiles& tiles, std::int64_t g,
                            std::int64_t count, TileProducts<Tiles::kScales, kRows>* products,
                            const unsigned char* next, typename L::F* acc) {
  if (g + 2 < count && g > 1) tiles.unpack(g + 2);
  multiply_group<L, Tiles, kTile>(x[g], tiles, g);
  if (g > 0) store_products<L, Tiles, 1 - kTile>(products[(g - 1) % 4]);
  const std::int64_t done = g - kTilesBehind;
  if (done < 0) return;
  add_tile<L, Tiles, kFetch, kRows>(products[done % 4], tiles.scales(done), x[done],
                                    next + done * kFetch, acc);
}

/// Multiplies kRows rows with a segment of a panel, and writes the sums to `out`. Prefetches kFetch
/// bytes from `next` on for each group.
template <class L, class Tiles, int kFetch, int kRows>
void multiply_tiles(const MatrixGroup* x, const Tiles& tiles, std::int64_t count,
                    const unsigned char* next, float (*out)[kPanelCols]) {
  alignas(64) TileProducts<Tiles::kScales, kRows> products[4];
  typename L::F acc[kRows];
  clear_sums<L, kRows>(acc);
  for (std::int64_t g = 0; g < 4 && g < count; ++g) tiles.unpack(g);
  std::int64_t g = 0;
  for (; g + 1 < count; g += 2) {
    tile_step<L, Tiles, 0, kFetch>(x, tiles, g, count, products, next, acc);
    tile_step<L, Tiles, 1, kFetch>(x, tiles, g + 1, count, products, next, acc);
  }
  if (g < count) {
    tile_step<L, Tiles, 0, kFetch>(x, tiles, g, count, products, next, acc);
    store_products<L, Tiles, 0>(products[g % 4]);
  } else {
    store_products<L, Tiles, 1>(products[(g - 1) % 4]);
  }
  for (g = count > kTilesBehind ? count - kTilesBehind : 0; g < count; ++g) {
    add_tile<L, Tiles, kFetch, kRows>(products[g % 4], tiles.scales(g), x[g], next + g * kFetch,
                                      acc);
  }
  store_sums<L, kRows>(acc, out);
}

/// Multiplies a row tile with a segment of a panel. The first row tile prefetches from `next` on.
template <class L, class F, int kRows, class Tiles>
INGOT_INLINE void tile_rows(const PanelArgs& a, std::int64_t row, std::int64_t k,
                            const Tiles& tiles, const unsigned char* next) {
  const std::int64_t count = (segment_end(k, a.cols) - k) / kGroup;
  const MatrixGroup* x = a.matrix + row / kMatrixRows * (a.cols / kGroup) + k / kGroup;
  alignas(64) float sums[kRows][kPanelCols];
  if (row == 0) {
    constexpr int kFetch = Panel<F>::kBlockBytes * kGroup / F::kBlock;
    multiply_tiles<L, Tiles, kFetch, kRows>(x, tiles, count, next, sums);
  } else {
    multiply_tiles<L, Tiles, 0, kRows>(x, tiles, count, next, sums);
  }
  for (int r = 0; r < kRows && row + r < a.rows; ++r) {
    const typename L::F acc[] = {L::load(sums[r])};
    add_segment<L, 1>(a, row + r, 1, k, acc);
  }
}

/// PanelArgs::scratch of a call.
template <class L, class F>
using TileScratch = typename ExpandedTiles<L, F>::Group[kTilesPanels][kSegmentGroups];

/// Multiplies few rows with a segment of a panel, which each row tile unpacks again: an unpacked
/// segment would push the rows out of the first-level cache.
template <class L, class F, int kRows>
INGOT_INLINE void few_tiles(const PanelArgs& a, std::int64_t k, const unsigned char* packed,
                            const unsigned char* next) {
  alignas(64) std::uint8_t ring[4][8][64];
  for (std::int64_t row = 0; row < a.rows; row += kRows) {
    if constexpr (kPacksTiles<L, F>) {
      tile_rows<L, F, kRows>(a, row, k, PackedTiles<L, F>{packed}, next);
    } else {
      tile_rows<L, F, kRows>(a, row, k, UnpackedTiles<L, F>{packed, ring}, next);
    }
  }
}

/// Multiplies all rows of `a` with up to kTilesPanels panels. With many rows, a tile of 16 rows
/// passes all panels before the next tile, so that the tile and its outputs stay in the cache.
template <class L, class F, int kRows>
INGOT_INLINE void tile_panels(const PanelArgs& a) {
  auto& groups = *reinterpret_cast<TileScratch<L, F>*>(a.scratch);
  const int panels = (a.columns + kPanelCols - 1) / kPanelCols;
  const bool few = a.rows <= kTilesFewRows;
  const auto* const first_panel = reinterpret_cast<const unsigned char*>(a.panel);
  const unsigned char* first = first_panel;
  L::template begin_tiles<kRows, F::kScales>();
  for (std::int64_t k = 0; k < a.cols; k += kSegment) {
    const std::int64_t bytes = Panel<F>::bytes(segment_end(k, a.cols) - k);
    const auto packed = [&](int p) { return first + p * a.panel_bytes; };
    for (int p = 0; !few && p < panels; ++p) {
      expand_tiles<L, F>(packed(p), bytes, groups[p]);
    }
    // Prefetched next: the next segment of all panels; after the last segment, the panels that
    // follow. Few rows read each panel as it is multiplied, so its neighbour comes first.
    const bool last = k + kSegment >= a.cols;
    const auto* after = last ? first_panel + panels * a.panel_bytes : packed(0) + bytes;
    if (few) {
      for (int p = 0; p < panels; ++p) {
        const unsigned char* next = p + 1 < panels ? packed(p + 1) : after;
        few_tiles<L, F, kRows>(panel_of(a, p), k, packed(p), next);
      }
    } else {
      for (std::int64_t row = 0; row < a.rows; row += kRows) {
        for (int p = 0; p < panels; ++p) {
          const ExpandedTiles<L, F> tiles{groups[p]};
          tile_rows<L, F, kRows>(panel_of(a, p), row, k, tiles, after + p * a.panel_bytes);
        }
      }
    }
    first += bytes;
  }
  L::end_tiles();
}

/// The linear kernel of a table with tiles. Calls that tiles do not support go to table `kBase`.
template <class L, class F, const KernelTable& (*kBase)()>
void linear_or_tiles(const PanelArgs& a) {
  const bool has_both = a.q != nullptr && a.matrix != nullptr;
  if (a.matrix == nullptr || a.columns > kTilesPanels * kPanelCols ||
      (has_both && a.rows < kTilesLeastRows<L, F>)) {
    return kBase().linear[static_cast<std::size_t>(F::kFormat)].run(a);
  }
  if constexpr (kTilesLeastRows<L, F> <= kMatrixRows / 2) {
    if (a.rows <= kMatrixRows / 2) return tile_panels<L, F, kMatrixRows / 2>(a);
  }
  tile_panels<L, F, kMatrixRows>(a);
}

/// Sets the kernels of all block formats except Q2_K: its two minimums in a group need sums that
/// MatrixGroup does not have.
template <class L, class F, const KernelTable& (*kBase)()>
void set_tiles(KernelTable& table) {
  if constexpr (BlockFormat<F>) {
    if constexpr (F::kScales == 1 || !Panel<F>::kHasMin) {
      LinearKernel& kernel = table.linear[static_cast<std::size_t>(F::kFormat)];
      const std::int64_t scratch = sizeof(TileScratch<L, F>);
      kernel = {.run = linear_or_tiles<L, F, kBase>,
                .panels = kTilesPanels,
                .few_panels = 2,
                .scratch = scratch > kernel.scratch ? scratch : kernel.scratch,
                .matrix_rows = kTilesLeastRows<L, F>};
    }
  }
}

/// The table `kBase` with the tiles of lanes L.
template <class L, const KernelTable& (*kBase)()>
KernelTable with_tiles(const char* name) {
  KernelTable table = kBase();
  table.name = name;
  table.reads_matrix = true;
  [&]<class... Fs>(TypeList<Fs...>) { (set_tiles<L, Fs, kBase>(table), ...); }(Formats{});
  set_pair_tiles<L, kBase>(table);
  set_attention_tiles<L, kBase>(table);
  return table;
}

}  // namespace
}  // namespace ingot
