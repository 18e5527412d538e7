// Many rows times panels on a unit that multiplies tiles: 16 rows by 16 outputs by a group of 32.
//
// The unit adds integers, which are exact, and writes them to memory; there each group is scaled
// and added in the order of linear.inl, so the bits are the same.
//
// Written over a lanes type that has, beside what linear.inl uses, begin_tiles, multiply_tile,
// store_tile, rows_of_quads and end_tiles (isa/avx512_amx.cpp).
#pragma once

#include "backend/cpu/kernels/linear.inl"

namespace ingot {
namespace {

inline constexpr int kMatrixRows = 16;
/// Panels that share the gathering of their rows; rows and panels from which tiles are worth it.
inline constexpr int kMatrixPanels = 8;
inline constexpr int kMatrixLeastRows = 128;
inline constexpr int kMatrixLeastPanels = 4;
inline constexpr std::int64_t kSegmentGroups = kSegment / kGroup;
/// Groups between a product and its scaling.
inline constexpr std::int64_t kTileLag = 3;

/// A segment of 16 rows of activations.
struct MatrixRows {
  alignas(64) std::int8_t q[kSegmentGroups][kMatrixRows][kGroup];
  float d[kSegmentGroups][kMatrixRows];
  float minus_sum[kSegmentGroups][kMatrixRows];
};

/// A group of a panel, its bytes signed.
template <class L, class F>
using MatrixGroup = ExpandedGroup<L, Product<F, true, -1, Panel<F>::kScaleBytes == 2>>;

template <class L, class F, int kQuad>
INGOT_INLINE void expand_signed(const PackedGroup<L, F>& packed, std::uint8_t (*bytes)[64]) {
  if constexpr (kQuad < 8) {
    L::store_bytes(bytes[kQuad],
                   L::template add_bytes<-Codes<L, F>::kOffset>(packed.template quad<kQuad>()));
    expand_signed<L, F, kQuad + 1>(packed, bytes);
  }
}

/// Rows from `row` on at element `k`. Beyond the last tile of four they are zero, beyond the last
/// row anything: what comes of them is not kept.
template <class L>
void gather_rows(const PanelArgs& a, std::int64_t row, std::int64_t k, std::int64_t count,
                 MatrixRows& out) {
  const std::int64_t groups = a.cols / kGroup;
  for (int tile = 0; tile < kMatrixRows / kTileRows; ++tile) {
    const int first = tile * kTileRows;
    const bool none = row + first >= a.rows;
    const QuantisedGroup* from = a.q + ((row + first) / kTileRows) * groups + k / kGroup;
    for (std::int64_t g = 0; g < count; ++g) {
      if (none) {
        __builtin_memset(out.q[g][first], 0, kTileRows * kGroup);
        __builtin_memset(out.d[g] + first, 0, sizeof from->d);
        __builtin_memset(out.minus_sum[g] + first, 0, sizeof from->d);
      } else {
        L::rows_of_quads(from[g].q[0][0], out.q[g][first]);
        __builtin_memcpy(out.d[g] + first, from[g].d, sizeof from->d);
        __builtin_memcpy(out.minus_sum[g] + first, from[g].minus_sum_float, sizeof from->d);
      }
    }
  }
}

/// acc += one group, whose products are in `sums`.
template <class L, class Group>
INGOT_INLINE void add_tile(const std::int32_t (*sums)[kPanelCols], const Group& group,
                           const float* d, const float* minus_sum, typename L::F* acc) {
  using Kind = typename Group::Kind;
  const auto w = group.w(0);
  const auto bits = group.minus_bits();
#pragma GCC unroll 16
  for (int r = 0; r < kMatrixRows; ++r) {
    const auto sum = L::bits(L::load(reinterpret_cast<const float*>(sums[r])));
    typename L::F t;
    if constexpr (Kind::kBits) {
      t = L::fma(L::from_bits(L::add_int(sum, L::splat_int(kIntBits))), w, bits);
    } else {
      t = L::mul(L::to_float(sum), w);
    }
    if constexpr (Kind::kHasMin) t = L::fma(group.m(0), L::splat(minus_sum[r]), t);
    acc[r] = L::fma(t, L::splat(d[r]), acc[r]);
  }
}

/// While the unit multiplies group g, the one before is stored and an earlier one scaled: what was
/// just stored cannot be read at once.
template <class L, class F, int kTile>
INGOT_INLINE void tile_step(const MatrixRows& rows, const MatrixGroup<L, F>* groups,
                            std::int64_t count, std::int64_t g,
                            std::int32_t (*sums)[kMatrixRows][kPanelCols], typename L::F* acc) {
  if (g < count) L::template multiply_tile<kTile>(rows.q[g][0], groups[g].bytes[0]);
  if (g >= 1 && g <= count) L::template store_tile<1 - kTile>(sums[(g - 1) % 4][0]);
  if (g >= kTileLag && g < count + kTileLag) {
    g -= kTileLag;
    add_tile<L>(sums[g % 4], groups[g], rows.d[g], rows.minus_sum[g], acc);
  }
}

/// A segment of a panel times 16 rows into `out`.
template <class L, class F>
void multiply_tiles(const MatrixRows& rows, const MatrixGroup<L, F>* groups, std::int64_t count,
                    float (*out)[kPanelCols]) {
  alignas(64) std::int32_t sums[4][kMatrixRows][kPanelCols];
  typename L::F acc[kMatrixRows];
  clear<L, kMatrixRows>(acc);
  for (std::int64_t g = 0; g < count + kTileLag; g += 2) {
    tile_step<L, F, 0>(rows, groups, count, g, sums, acc);
    tile_step<L, F, 1>(rows, groups, count, g + 1, sums, acc);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kMatrixRows; ++r) L::store(out[r], acc[r]);
}

/// Adds a segment's sums to the outputs of the rows from `row` on.
template <class L>
void add_tile_segment(const PanelArgs& a, std::int64_t row, std::int64_t k,
                      const float (*sums)[kPanelCols]) {
  for (int r = 0; r < kMatrixRows && row + r < a.rows; ++r) {
    const typename L::F acc[] = {L::load(sums[r])};
    add_segment<L, 1>(a, row + r, k, acc);
  }
}

/// What a call keeps in PanelArgs::scratch.
template <class L, class F>
struct TileScratch {
  MatrixGroup<L, F> groups[kMatrixPanels][kSegmentGroups];
  MatrixRows rows;
  alignas(64) float sums[kMatrixRows][kPanelCols];
};

/// Whether `a` is for tiles.
INGOT_INLINE bool fills_tiles(const PanelArgs& a) {
  return a.rows >= kMatrixLeastRows && a.columns > (kMatrixLeastPanels - 1) * kPanelCols &&
         a.columns <= kMatrixPanels * kPanelCols && a.scratch != nullptr;
}

/// All rows of `a` through up to kMatrixPanels panels.
template <class L, class F>
void tile_panels(const PanelArgs& a) {
  auto& [groups, rows, sums] = *reinterpret_cast<TileScratch<L, F>*>(a.scratch);
  const int panels = (a.columns + kPanelCols - 1) / kPanelCols;
  const unsigned char* packed[kMatrixPanels];
  for (int p = 0; p < panels; ++p) {
    packed[p] = reinterpret_cast<const unsigned char*>(a.panel) + p * a.panel_bytes;
  }
  L::begin_tiles();
  for (std::int64_t k = 0; k < a.cols; k += kSegment) {
    const std::int64_t count = (segment_end(k, a.cols) - k) / kGroup;
    for (int p = 0; p < panels; ++p) {
      MatrixGroup<L, F>* out = groups[p];
      for (std::int64_t g = 0; g < count; g += F::kBlock / kGroup) {
        for_groups<L, F>(packed[p], [&](const PackedGroup<L, F>& group) {
          expand_signed<L, F, 0>(group, out->bytes);
          store_scales<L>(group, *out++);
        });
        packed[p] += Panel<F>::kBlockBytes;
      }
    }
    for (std::int64_t row = 0; row < a.rows; row += kMatrixRows) {
      gather_rows<L>(a, row, k, count, rows);
      for (int p = 0; p < panels; ++p) {
        multiply_tiles<L, F>(rows, groups[p], count, sums);
        add_tile_segment<L>(panel_of(a, p), row, k, sums);
      }
    }
  }
  L::end_tiles();
}

/// The kernel of a table that takes by tiles what is for them; the rest goes to the table `kBase`.
template <class L, class F, const KernelTable& (*kBase)()>
void linear_or_tiles(const PanelArgs& a) {
  if (fills_tiles(a)) return tile_panels<L, F>(a);
  kBase().linear[static_cast<std::size_t>(F::kFormat)].run(a);
}

/// Of formats whose groups have one scale: a group is one tile.
template <class L, class F, const KernelTable& (*kBase)()>
void set_tiles(KernelTable& table) {
  if constexpr (BlockFormat<F>) {
    if constexpr (F::kScales == 1) {
      table.linear[static_cast<std::size_t>(F::kFormat)] = {
          linear_or_tiles<L, F, kBase>, kMatrixPanels, kMatrixLeastRows, sizeof(TileScratch<L, F>)};
    }
  }
}

/// The table `kBase` with the tiles of lanes L.
template <class L, const KernelTable& (*kBase)()>
KernelTable with_tiles(const char* name) {
  KernelTable table = kBase();
  table.name = name;
  [&]<class... Fs>(TypeList<Fs...>) { (set_tiles<L, Fs, kBase>(table), ...); }(Formats{});
  return table;
}

}  // namespace
}  // namespace ingot
