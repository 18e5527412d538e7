// Attention over pages of BF16 on bfloat16 tiles: 16 queries by 16 keys, or by 16 elements of the
// values (backend.h, KvType::kBF16).
//
// A tile product adds e + o to each sum, as attention_bf16.inl does with vectors, so results are
// bit-equal. Softmax is vector code. Vectors also compute what tiles do not pay for: few queries,
// and sums that are NaN where not all queries see all values.
//
// The lanes type also needs the operations of linear_pair_tiles.inl.
#pragma once

#include "backend/cpu/kernels/attention.inl"
#include "backend/cpu/kernels/linear_pair_tiles.inl"

namespace ingot {
namespace {

/// From this number of queries on, a tile is faster than vectors: a guess, as kRoundedLeastRows.
inline constexpr int kTileLeastQueries = 5;

/// Bytes of a tile of keys, 16 pairs of dims of 16 keys, or of values, 16 pairs of positions.
inline constexpr int kPairTileBytes = PairPanel::kBlockBytes;
inline constexpr int kPairsOfTile = kPairBlock / 2;
inline constexpr int kPairsOfPage = kBlockTokens / 2;

/// The queries of a call, in the form for vectors and as rows of tiles.
struct TileQueries {
  RoundedQueries vectors;
  /// The upper halves of `vectors`, then rows of zeros: a tile of the last queries reads them.
  alignas(64) std::uint16_t rows[kQueryElements + kMatrixRows * kPairBlock];

  INGOT_INLINE TileQueries(int cols, int queries) : vectors(cols, queries) {
    for (int i = 0; i < kMatrixRows * kPairBlock; ++i) rows[queries * cols + i] = 0;
  }
  template <class L>
  INGOT_INLINE void set(int query, const float* scaled) {
    vectors.set<L>(query, scaled);
    for (int d = 0; d < vectors.cols; d += 16) {
      const int at = vectors.index(query, d);
      L::store_upper(rows + at, L::load(vectors.data + at));
    }
  }
  /// Dims [d, d + 32) of 16 queries from `query` on. Rows after the last query are arbitrary.
  INGOT_INLINE const std::uint16_t* tile(int query, int d) const {
    return rows + vectors.index(query, d);
  }
};

/// A lanes type with bfloat16 tiles.
template <class L>
concept HasPairTiles = requires {
  L::begin_rounded();
};

template <HasPairTiles L>
struct QueriesOf<L, KvType::kBF16> {
  static_assert(!kDotsPairs<L>, "tiles read queries and weights as floats");
  using Type = TileQueries;
};

/// Consecutive queries of a kv head that all see a key of the chunk, in one or two tiles.
struct TiledQueries {
  int query = 0;  ///< number of the first query
  int count = 0;
  ChunkView view[kQueriesLimit];
  ChunkView seen;     ///< the smallest range that contains all views
  bool whole = true;  ///< whether each query sees all positions of the blocks that contain `seen`

  INGOT_INLINE TiledQueries(const AttentionArgs& a, const HeadChunk& chunk, const QueryRange& range)
      : query(chunk.first_query + range.first), count(range.end - range.first) {
    seen = view_of(a, range.first / a.heads, chunk.start);
    for (int i = 0; i < count; ++i) {
      const ChunkView v = view_of(a, (range.first + i) / a.heads, chunk.start);
      whole = whole && v.from == seen.from && v.to == seen.to;
      seen.from = v.from < seen.from ? v.from : seen.from;
      seen.to = v.to > seen.to ? v.to : seen.to;
      view[i] = v;
    }
    whole = whole && seen.from % kPairBlock == 0 && seen.to % kPairBlock == 0;
  }
  /// The blocks of 32 positions that contain `seen` are [first_block(), end_block()).
  INGOT_INLINE int first_block() const { return seen.from / kPairBlock; }
  INGOT_INLINE int end_block() const { return (seen.to + kPairBlock - 1) / kPairBlock; }
};
static_assert(kQueriesLimit == 2 * kMatrixRows && kChunk == 2 * kPairBlock);

/// Writes the scores of a block of 32 positions, the pages `page` and `page` + 1 of the chunk, and
/// prefetches their values.
template <class L, int kTiles>
INGOT_INLINE void write_tile_scores(const AttentionArgs& a, const HeadChunk& chunk, int page,
                                    const TileQueries& q, int query, ChunkWeights& w) {
  constexpr SumsLayout kLayout{
      .row = kChunk, .panel = kBlockTokens, .tile = std::int64_t{kMatrixRows} * kChunk};
  std::int64_t offset = 0;
  L::template clear_sums<kTiles, 2>();
  for (std::int32_t d = 0; d < a.head_dim; d += kPairBlock, offset += kPairTileBytes) {
    L::template load_rows<0>(q.tile(query, d));
    if constexpr (kTiles == 2) L::template load_rows<1>(q.tile(query + kMatrixRows, d));
    L::template load_pairs_tile<0>(chunk.keys[page] + offset);
    L::template load_pairs_tile<1>(chunk.keys[page + 1] + offset);
    L::template multiply_rounded<kTiles, 2>();
    for (int line = 0; line < kPairTileBytes; line += kLine) {
      prefetch_line(chunk.values[page] + offset + line);
      prefetch_line(chunk.values[page + 1] + offset + line);
    }
  }
  L::template store_rounded_sums<kTiles, 2>(w.p[query] + page * kBlockTokens, kLayout);
}

/// Scores of the positions of a chunk; 0 in blocks of 32 positions that no query sees.
template <class L, int kTiles>
[[gnu::noinline]] void tile_scores(const AttentionArgs& a, const HeadChunk& chunk,
                                   const TiledQueries& t, const TileQueries& q, ChunkWeights& w) {
  for (int b = 0; b < kChunk / kPairBlock; ++b) {
    const int page = 2 * b;
    if (b < t.first_block() || b >= t.end_block()) {
      w.clear<L>(t.query, t.count, page, 2);
    } else {
      write_tile_scores<L, kTiles>(a, chunk, page, q, t.query, w);
    }
  }
}

/// The weights of a chunk as rows of tiles: two tiles for each block of 32 positions. Rows without
/// a query are +0.
struct WeightTiles {
  alignas(64) std::uint16_t x[kChunk / kPairBlock][kQueriesLimit][kPairBlock];

  template <class L, int kTiles>
  INGOT_INLINE void set(const TiledQueries& t, const ChunkWeights& w) {
    for (int i = 0; i < kTiles * kMatrixRows; ++i) {
      for (int at = 0; at < kChunk; at += 16) {
        const auto p = i < t.count ? L::load(w.p[t.query + i] + at) : L::splat(0);
        L::store_upper(x[at / kPairBlock][i] + at % kPairBlock, p);
      }
    }
  }
};

/// Vectors [first, first + count) of a value: 16 elements each, one or two vectors.
struct ValueParts {
  int first = 0;
  int count = 0;
};

/// Copies of some vectors of a chunk's values, [block of 32 positions][vector][16 pairs][16][2]: in
/// a page, a tile would have only 8 pairs.
struct ValueTiles {
  alignas(64) std::byte x[kChunk / kPairBlock][2][kPairTileBytes];

  /// Copies `parts` of the positions that queries see, and prefetches the keys that are read next.
  /// `pair_bytes`: distance of two pairs of positions in a page.
  template <class L>
  INGOT_INLINE void copy(const HeadChunk& chunk, const TiledQueries& t, const ValueParts& parts,
                         std::int64_t pair_bytes) {
    for (int b = t.first_block(); b < t.end_block(); ++b) {
      for (int pair = 0; pair < kPairsOfTile; ++pair) {
        const int page = 2 * b + pair / kPairsOfPage;
        const std::int64_t offset = pair % kPairsOfPage * pair_bytes + parts.first * kLine;
        for (int j = 0; j < parts.count; ++j) {
          L::store_bytes(x[b][j] + pair * kLine,
                         L::load_bytes(chunk.values[page] + offset + j * kLine));
          prefetch_line(chunk.next_keys[page] + offset + j * kLine);
        }
      }
    }
  }
};

/// Sums of values, apart for each block of 32 positions. Panel j is vector j of ValueTiles.
struct ValueSums {
  alignas(64) TileSums x[kChunk / kPairBlock];

  template <class L, int kTiles, int kParts>
  INGOT_INLINE void multiply(const TiledQueries& t, const WeightTiles& p,
                             const ValueTiles& values) {
    for (int b = t.first_block(); b < t.end_block(); ++b) {
      L::template clear_sums<kTiles, kParts>();
      L::template load_rows<0>(p.x[b][0]);
      if constexpr (kTiles == 2) L::template load_rows<1>(p.x[b][kMatrixRows]);
      L::template load_pairs_tile<0>(values.x[b][0]);
      if constexpr (kParts == 2) L::template load_pairs_tile<1>(values.x[b][1]);
      L::template multiply_rounded<kTiles, kParts>();
      L::template store_rounded_sums<kTiles, kParts>(x[b][0][0][0], SumsLayout{});
    }
  }
  /// The sums of query i of `t`.
  template <class L>
  INGOT_INLINE typename L::F load(int b, int i, int part) const {
    return L::load(x[b][i / kMatrixRows][part][i % kMatrixRows]);
  }
  template <class L>
  INGOT_INLINE bool any_nan(const TiledQueries& t, int parts) const {
    std::uint32_t ordered = 0xFFFF;
    for (int b = t.first_block(); b < t.end_block(); ++b) {
      for (int i = 0; i < t.count; ++i) {
        for (int j = 0; j < parts; ++j) {
          const auto sum = load<L>(b, i, j);
          ordered &= L::to_bits(L::le(sum, sum));
        }
      }
    }
    return ordered != 0xFFFF;
  }
};

/// Adds one vector of the values to the sums of a query that sees `view`, without tiles.
template <class L>
[[gnu::noinline]] void add_value_part(const HeadChunk& chunk, const ChunkView& view,
                                      const float* weights, float factor, std::int64_t pair_bytes,
                                      int part, float* o) {
  L::store(o + 16 * part, scaled_sums<L>(L::load(o + 16 * part), factor));
  for (std::int32_t at = 0; at < kChunk; at += kPairBlock) {
    const BlockRange range = range_in_block(view, at);
    if (range.empty()) continue;
    const int page = at / kBlockTokens;
    const ValueBlock block{
        .values = {chunk.values + page, chunk.next_keys + page, pair_bytes},
        .range = range,
        .alike = true,
        .p = {weights + at},
        .o = o,
    };
    add_value_parts<L, 1, 1>(block, part);
  }
}

/// The second half of a chunk for queries in tiles: adds the weighted values to their sums.
///
/// Sums cannot be read right after tiles store them. So a step multiplies two vectors of the
/// values, and meanwhile adds the sums of the step before.
template <class L, int kTiles>
class TileValues {
 public:
  INGOT_INLINE TileValues(const AttentionArgs& a, const HeadChunk& chunk, const TiledQueries& t,
                          const ChunkWeights& w, SoftmaxStates& state)
      : chunk_(chunk), t_(t), w_(w), state_(state), parts_((a.value_dim + 15) / 16) {
    weights_.template set<L, kTiles>(t, w);
  }

  INGOT_INLINE void add() {
    int turn = 0;
    copy(0, turn);
    for (int part = 0; part < parts_; part += 2, turn = 1 - turn) {
      copy(part + 2, 1 - turn);
      multiply(part, turn);
      if (part > 0) add_step(part - 2, sums_[1 - turn]);
    }
    add_step((parts_ - 1) / 2 * 2, sums_[1 - turn]);
  }

 private:
  INGOT_INLINE std::int64_t pair_bytes() const { return std::int64_t{kLine} * parts_; }
  /// Number of vectors in the step that begins with vector `part`.
  INGOT_INLINE int parts_of_step(int part) const { return parts_ - part < 2 ? 1 : 2; }
  INGOT_INLINE void copy(int part, int turn) {
    if (part >= parts_) return;
    values_[turn].copy<L>(chunk_, t_, {part, parts_of_step(part)}, pair_bytes());
  }
  INGOT_INLINE void multiply(int part, int turn) {
    if (parts_of_step(part) == 2) {
      sums_[turn].multiply<L, kTiles, 2>(t_, weights_, values_[turn]);
    } else {
      sums_[turn].multiply<L, kTiles, 1>(t_, weights_, values_[turn]);
    }
  }

  /// A query that does not see whole blocks has weights of +0, which leave chains of finite values
  /// as they are. But a value may be NaN or Inf: if a sum is NaN, each query adds only the values
  /// that it sees.
  INGOT_INLINE void add_step(int part, const ValueSums& sums) {
    const int parts = parts_of_step(part);
    if (!t_.whole && sums.any_nan<L>(t_, parts)) return add_without_tiles(part, parts);
    if (t_.end_block() - t_.first_block() == 2) {
      parts == 2 ? add_sums<2, true>(part, sums) : add_sums<1, true>(part, sums);
    } else {
      parts == 2 ? add_sums<2, false>(part, sums) : add_sums<1, false>(part, sums);
    }
  }
  /// o = o * factor, then o += e + o' for one block of 32 positions or for both.
  template <int kParts, bool kBoth>
  INGOT_INLINE void add_sums(int part, const ValueSums& sums) {
    const int b = kBoth ? 0 : t_.first_block();
    for (int i = 0; i < t_.count; ++i) {
      float* o = state_.o[t_.query + i] + 16 * part;
      for (int j = 0; j < kParts; ++j) {
        auto sum = scaled_sums<L>(L::load(o + 16 * j), w_.factor[t_.query + i]);
        sum = L::add(sum, sums.load<L>(b, i, j));
        if constexpr (kBoth) sum = L::add(sum, sums.load<L>(1, i, j));
        L::store(o + 16 * j, sum);
      }
    }
  }
  INGOT_INLINE void add_without_tiles(int part, int parts) {
    for (int i = 0; i < t_.count; ++i) {
      const int query = t_.query + i;
      for (int j = 0; j < parts; ++j) {
        add_value_part<L>(chunk_, t_.view[i], w_.p[query], w_.factor[query], pair_bytes(), part + j,
                          state_.o[query]);
      }
    }
  }

  const HeadChunk& chunk_;
  const TiledQueries& t_;
  const ChunkWeights& w_;
  SoftmaxStates& state_;
  int parts_;  ///< vectors of a value
  WeightTiles weights_;
  ValueTiles values_[2];
  ValueSums sums_[2];
};

template <class L, int kTiles>
[[gnu::noinline]] void add_tile_values(const AttentionArgs& a, const HeadChunk& chunk,
                                       const TiledQueries& t, const ChunkWeights& w,
                                       SoftmaxStates& state) {
  TileValues<L, kTiles>(a, chunk, t, w, state).add();
}

/// Adds a head's chunk to the states of consecutive queries, which all see a key of it.
template <class L>
INGOT_INLINE void add_tile_chunk(const AttentionArgs& a, const HeadChunk& chunk,
                                 const QueryRange& range, const TileQueries& q, ChunkWeights& w,
                                 SoftmaxStates& state) {
  const int count = range.end - range.first;
  const int last = count % kMatrixRows;  // queries of the last tile
  const int on_tiles = last < kTileLeastQueries ? count - last : count;
  const QueryRange rest{range.first + on_tiles, range.end};
  const QueryRange tiled{range.first, rest.first};
  if (on_tiles == 0) {
    weigh_bf16_chunk<L>(a, chunk, rest, q.vectors, w, state);
    return add_bf16_chunk_values<L>(a, chunk, rest, w, state);
  }
  const TiledQueries t(a, chunk, tiled);
  const bool two = on_tiles > kMatrixRows;
  two ? tile_scores<L, 2>(a, chunk, t, q, w) : tile_scores<L, 1>(a, chunk, t, q, w);
  each_pass<kMatrixRows>(a, chunk, tiled, [&](const auto& pass) {
    cap_chunk<L>(a, pass, w);
    add_position_biases<L>(a, pass, w);
    chunk_weights<L, true>(pass, w, state);
  });
  weigh_bf16_chunk<L>(a, chunk, rest, q.vectors, w, state);
  two ? add_tile_values<L, 2>(a, chunk, t, w, state) : add_tile_values<L, 1>(a, chunk, t, w, state);
  add_bf16_chunk_values<L>(a, chunk, rest, w, state);
}

/// Adds a head's chunk of BF16 to the states of the queries that see a key of it. Rows that see a
/// key and follow each other pass the tiles together.
template <class L>
void add_bf16_chunk(const AttentionArgs& a, const HeadChunk& chunk, const TileQueries& q,
                    ChunkWeights& w, SoftmaxStates& state) {
  const auto sees = [&](int row) { return row < a.rows && !view_of(a, row, chunk.start).empty(); };
  for (int row = 0; row < a.rows; ++row) {
    if (!sees(row)) continue;
    const int first = row;
    while (sees(row)) ++row;
    add_tile_chunk<L>(a, chunk, {first * a.heads, row * a.heads}, q, w, state);
  }
}

/// Whether tiles compute a call.
INGOT_INLINE bool takes_tiles(const AttentionArgs& a) {
  return a.type == KvType::kBF16 && queries_of_head(a) >= kTileLeastQueries;
}

/// The kernel `attention`. Calls that tiles do not compute go to table `kBase`.
template <class L, const KernelTable& (*kBase)()>
void attention_or_tiles(const AttentionArgs& a) {
  if (!takes_tiles(a)) return kBase().attention(a);
  L::begin_rounded();
  attend<L, KvType::kBF16>(a);
  L::end_tiles();
}

/// The kernel `attention_split`.
template <class L, const KernelTable& (*kBase)()>
void attention_split_or_tiles(const AttentionArgs& a, std::int32_t split, float* states) {
  if (!takes_tiles(a)) return kBase().attention_split(a, split, states);
  L::begin_rounded();
  attend_split<L, KvType::kBF16>(a, split, states);
  L::end_tiles();
}

/// Sets the kernels for attention over BF16 in a table with bfloat16 tiles.
template <class L, const KernelTable& (*kBase)()>
void set_attention_tiles(KernelTable& table) {
  table.attention = attention_or_tiles<L, kBase>;
  table.attention_split = attention_split_or_tiles<L, kBase>;
  table.bf16_queries = kQueriesLimit;
}

}  // namespace
}  // namespace ingot
