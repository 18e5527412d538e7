// Attention scores and sums of values over pages of BF16 (backend.h, KvType::kBF16).
//
// Written over a lanes type L. A lane is a position for scores and an element of the head for
// outputs. Pages hold pairs (PageLayout): a vector of 16 pairs has two dims of 16 keys, or two
// positions of 16 elements of the values. Scores and sums of values are sums of blocks of 32: e +
// o, where e is a chain over the even elements of the pairs and o a chain over the odd ones.
#pragma once

#include "backend/cpu/kernels/attention_chunk.inl"

namespace ingot {
namespace {

/// Elements of a block, as `Backend::attention` defines it. Another value changes results.
inline constexpr int kPairBlock = 32;

/// The queries of a call, multiplied by the scale and rounded to bfloat16, as [cols / 32][queries]
/// [32]: factors of blocks (store_factors). So a pass addresses all queries from one register.
struct RoundedQueries {
  alignas(64) float data[kQueryElements];
  int cols;
  int count;

  INGOT_INLINE RoundedQueries(int cols_of, int queries) : cols(cols_of), count(queries) {}
  template <class L>
  INGOT_INLINE void set(int query, const float* scaled) {
    for (int d = 0; d < cols; d += kPairBlock) {
      store_factors<L>(data + index(query, d), round_bfloat16<L>(L::load(scaled + d)),
                       round_bfloat16<L>(L::load(scaled + d + 16)));
    }
  }
  /// Index of element `d` of a query.
  INGOT_INLINE int index(int query, int d) const {
    return (d / kPairBlock * count + query) * kPairBlock + d % kPairBlock;
  }
};

/// The factors that a pass multiplies a block with. `kStride`: floats from one query's factors to
/// the next, a constant so that loops address all queries from one register.
template <int kStride>
struct BlockFactors {
  const float* first = nullptr;  ///< [32] factors of the first query

  INGOT_INLINE const float* at(int element) const { return first + element; }
  /// The words of elements 4 * four and 4 * four + 2, and those of the elements behind them.
  INGOT_INLINE const float* even_word(int four) const { return first + four; }
  INGOT_INLINE const float* odd_word(int four) const { return first + kOddWords + four; }
};

/// The elements [from, to) of a block that a pass multiplies.
struct BlockRange {
  int from = 0;
  int to = 0;

  INGOT_INLINE bool empty() const { return from >= to; }
  INGOT_INLINE int even() const { return (from + 1) / 2; }    ///< first pair with an even element
  INGOT_INLINE int even_end() const { return (to + 1) / 2; }  ///< end of these pairs
  INGOT_INLINE int odd() const { return from / 2; }           ///< first pair with an odd element
  INGOT_INLINE int odd_end() const { return to / 2; }
  INGOT_INLINE int four() const { return from / 4; }  ///< first four with an element
  INGOT_INLINE int four_end() const { return (to + 3) / 4; }
  INGOT_INLINE bool whole_fours() const { return from % 4 == 0 && to % 4 == 0; }
  /// The bits of a pair that belong to elements in the range.
  INGOT_INLINE std::int32_t mask_of(int pair) const {
    const bool even_in = 2 * pair >= from && 2 * pair < to;
    const bool odd_in = 2 * pair + 1 >= from && 2 * pair + 1 < to;
    return (even_in ? 0xFFFF : 0) | (odd_in ? -0x10000 : 0);
  }
};

enum class Half { kEven, kOdd, kBoth };

/// Lines that a loop prefetches for each pair of `kWide` vectors. Two loops share them, so that
/// memory is busy during both.
template <Half kHalf, int kWide>
inline constexpr int kLinesOfPair = kHalf == Half::kBoth   ? kWide
                                    : kHalf == Half::kEven ? (kWide + 1) / 2
                                                           : kWide / 2;

/// Chains of a sum that count where the size of a pass is chosen. With 1, a pass takes twice as
/// many sums, and computes first their even chains, then their odd ones: it uses each factor that
/// it has loaded for two vectors. This pays for lanes with many registers and without products of
/// pairs.
template <class L>
inline constexpr int kChainsTogether = kDotsPairs<L> || L::kAttentionChains < 16 ? 2 : 1;

template <class L, int kCount, int kWide>
INGOT_INLINE void clear(typename L::F (&sums)[kCount][kWide]) {
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) {
    for (int j = 0; j < kWide; ++j) sums[i][j] = L::splat(0);
  }
}

/// sums += x * w for one element of the block.
template <class L, int kStride, int kCount, int kWide>
INGOT_INLINE void add_element(const typename L::F (&w)[kWide], const float* x,
                              typename L::F (&sums)[kCount][kWide]) {
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) {
    const auto factor = L::splat(x[i * kStride]);
    for (int j = 0; j < kWide; ++j) sums[i][j] = L::fma(factor, w[j], sums[i][j]);
  }
}

/// Adds the products of one or both elements of pairs [first, end). `w.at(pair, j)` is the address
/// of vector j of a pair; `w.prefetch<kHalf, kWide>(pair)` prefetches kLinesOfPair lines.
template <class L, Half kHalf, bool kAhead, int kStride, int kCount, int kWide, class Pairs>
INGOT_INLINE void add_pairs(const Pairs& w, const BlockFactors<kStride>& x, int first, int end,
                            typename L::F (&even)[kCount][kWide],
                            typename L::F (&odd)[kCount][kWide]) {
  for (int pair = first; pair < end; ++pair) {
    typename L::I pairs[kWide];
    typename L::F half[kWide];
    for (int j = 0; j < kWide; ++j) {
      pairs[j] = load_pairs<L>(w.at(pair, j));
    }
    if (kAhead) w.template prefetch<kHalf, kWide>(pair);
    if constexpr (kHalf != Half::kOdd) {
      for (int j = 0; j < kWide; ++j) half[j] = even_of<L>(pairs[j]);
      add_element<L, kStride>(half, x.at(2 * pair), even);
    }
    if constexpr (kHalf != Half::kEven) {
      for (int j = 0; j < kWide; ++j) half[j] = odd_of<L>(pairs[j]);
      add_element<L, kStride>(half, x.at(2 * pair + 1), odd);
    }
  }
}

/// As add_pairs for lanes with products of pairs, four elements at a time. Elements outside of `r`
/// count as +0 if `kCut`.
template <class L, Half kHalf, bool kAhead, bool kCut, int kStride, int kCount, int kWide,
          class Pairs>
INGOT_INLINE void add_fours(const Pairs& w, const BlockFactors<kStride>& x, const BlockRange& r,
                            typename L::F (&even)[kCount][kWide],
                            typename L::F (&odd)[kCount][kWide]) {
  for (int four = r.four(); four < r.four_end(); ++four) {
    typename L::I even_words[kWide];
    typename L::I odd_words[kWide];
    for (int j = 0; j < kWide; ++j) {
      auto one = load_pairs<L>(w.at(2 * four, j));
      auto two = load_pairs<L>(w.at(2 * four + 1, j));
      if constexpr (kCut) {
        one = L::and_int(one, L::splat_int(r.mask_of(2 * four)));
        two = L::and_int(two, L::splat_int(r.mask_of(2 * four + 1)));
      }
      if constexpr (kHalf != Half::kOdd) even_words[j] = L::even_words(one, two);
      if constexpr (kHalf != Half::kEven) odd_words[j] = L::odd_words(one, two);
    }
    if (kAhead) w.template prefetch<kHalf, kWide>(2 * four);
    if (kAhead) w.template prefetch<kHalf, kWide>(2 * four + 1);
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      for (int j = 0; j < kWide; ++j) {
        if constexpr (kHalf != Half::kOdd) {
          even[i][j] = L::dot_pairs(even[i][j], even_words[j], x.even_word(four) + i * kStride);
        }
        if constexpr (kHalf != Half::kEven) {
          odd[i][j] = L::dot_pairs(odd[i][j], odd_words[j], x.odd_word(four) + i * kStride);
        }
      }
    }
  }
}

/// Adds the products of the elements of a block in `r` to the chains that kHalf names.
template <class L, Half kHalf, bool kAhead, int kStride, int kCount, int kWide, class Pairs>
INGOT_INLINE void add_range(const Pairs& w, const BlockFactors<kStride>& x, const BlockRange& r,
                            typename L::F (&even)[kCount][kWide],
                            typename L::F (&odd)[kCount][kWide]) {
  if constexpr (kDotsPairs<L>) {
    if (!Pairs::kMayCut || r.whole_fours()) {
      add_fours<L, kHalf, kAhead, false>(w, x, r, even, odd);
    } else {
      add_fours<L, kHalf, kAhead, true>(w, x, r, even, odd);
    }
  } else if constexpr (kHalf == Half::kEven) {
    add_pairs<L, Half::kEven, kAhead>(w, x, r.even(), r.even_end(), even, odd);
  } else if constexpr (kHalf == Half::kOdd) {
    add_pairs<L, Half::kOdd, kAhead>(w, x, r.odd(), r.odd_end(), even, odd);
  } else {
    add_pairs<L, Half::kOdd, false>(w, x, r.odd(), r.even(), even, odd);
    add_pairs<L, Half::kBoth, kAhead>(w, x, r.even(), r.odd_end(), even, odd);
    add_pairs<L, Half::kEven, false>(w, x, r.odd_end(), r.even_end(), even, odd);
  }
}

/// sums = e + o over the elements of a block in `r`; an empty range gives +0. If both chains fit in
/// registers, one loop reads each pair once; else a loop for e comes before a loop for o.
///
/// Elements outside of `r` would add +0 to a chain, and no chain is ever -0: it begins at +0.
template <class L, bool kAhead, int kStride, int kCount, int kWide, class Pairs>
INGOT_INLINE void sum_block(const Pairs& w, const BlockFactors<kStride>& x, const BlockRange& r,
                            typename L::F (&sums)[kCount][kWide]) {
  clear<L>(sums);
  if constexpr (2 * kCount * kWide <= L::kAttentionChains) {
    typename L::F odd[kCount][kWide];
    clear<L>(odd);
    add_range<L, Half::kBoth, kAhead>(w, x, r, sums, odd);
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      for (int j = 0; j < kWide; ++j) sums[i][j] = L::add(sums[i][j], odd[i][j]);
    }
  } else {
    alignas(64) float even[kCount][kWide][16];
    add_range<L, Half::kEven, kAhead>(w, x, r, sums, sums);
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      for (int j = 0; j < kWide; ++j) L::store(even[i][j], sums[i][j]);
    }
    clear<L>(sums);
    add_range<L, Half::kOdd, kAhead>(w, x, r, sums, sums);
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      for (int j = 0; j < kWide; ++j) sums[i][j] = L::add(L::load(even[i][j]), sums[i][j]);
    }
  }
}

/// A block of 32 dims of the keys of kTogether blocks of 16 positions.
template <int kTogether>
struct KeyPairs {
  static constexpr bool kMayCut = false;  ///< whether ranges may begin or end within a four
  const std::byte* keys[kTogether] = {};
  std::int64_t to_next[kTogether] = {};
  std::int64_t offset = 0;  ///< bytes to the block's first pair of dims

  INGOT_INLINE const std::byte* at(int pair, int j) const {
    return keys[j] + offset + pair * kLine;
  }
  template <Half kHalf, int kWide>
  INGOT_INLINE void prefetch(int pair) const {
    constexpr int kFirst = kHalf == Half::kOdd ? kLinesOfPair<Half::kEven, kWide> : 0;
    for (int j = kFirst; j < kFirst + kLinesOfPair<kHalf, kWide>; ++j) {
      prefetch_line(at(pair, j) + to_next[j]);
    }
  }
};

/// Writes the scores of kTogether blocks of 16 positions, from block `b` of the chunk on.
template <class L, bool kAhead, int kTogether, int kCount>
INGOT_INLINE void write_scores(const AttentionArgs& a, const ChunkPass<kCount>& c,
                               const RoundedQueries& queries, int b, ChunkWeights& w) {
  KeyPairs<kTogether> keys;
  for (int j = 0; j < kTogether; ++j) {
    keys.keys[j] = c.chunk.keys[b + j];
    keys.to_next[j] = c.chunk.values[b + j] - keys.keys[j];
  }
  BlockFactors<kPairBlock> q{queries.data + kPairBlock * c.query};
  for (std::int32_t first = 0; first < a.head_dim; first += kPairBlock) {
    const std::int32_t left = a.head_dim - first;
    typename L::F sums[kCount][kTogether];
    sum_block<L, kAhead>(keys, q, {0, left < kPairBlock ? left : kPairBlock}, sums);
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      for (int j = 0; j < kTogether; ++j) {
        float* s = w.p[c.query + i] + (b + j) * kBlockTokens;
        L::store(s, first == 0 ? sums[i][j] : L::add(L::load(s), sums[i][j]));
      }
    }
    keys.offset += kPairBlock / 2 * kLine;
    q.first += std::int64_t{kPairBlock} * queries.count;
  }
}

/// Scores of the positions of a chunk; 0 in blocks that no query sees.
template <class L, int kCount>
[[gnu::noinline]] void bf16_scores(const AttentionArgs& a, const ChunkPass<kCount>& c,
                                   const RoundedQueries& queries, ChunkWeights& w) {
  constexpr int kTogether = blocks_together<L>(kChainsTogether<L> * kCount);
  const bool ahead = c.prefetches();
  const ChunkView seen = seen_by_any(c);
  for (int b = 0; b < kChunkBlocks; b += kTogether) {
    if ((b + kTogether) * kBlockTokens <= seen.from || b * kBlockTokens >= seen.to) {
      w.clear<L>(c.query, kCount, b, kTogether);
    } else if (ahead) {
      write_scores<L, true, kTogether>(a, c, queries, b, w);
    } else {
      write_scores<L, false, kTogether>(a, c, queries, b, w);
    }
  }
  cap_chunk<L>(a, c, w);
}

/// The values of a block of 32 positions, which lie in two pages, from one element on.
struct ValuePairs {
  static constexpr bool kMayCut = true;
  const std::byte* first = nullptr;  ///< the values of the first pair of positions
  std::int64_t pair_bytes = 0;       ///< bytes from one pair of positions to the next
  std::int64_t jump[2] = {};         ///< bytes that a pair of each page lies further than that
  int first_pair = 0;                ///< the first pair that a loop reads
  int pairs = 0;                     ///< pairs that a loop reads
  const std::byte* ahead[2] = {};    ///< the pages that the loops prefetch
  std::int64_t ahead_from = 0;       ///< bytes of these pages that earlier loops have prefetched

  INGOT_INLINE ValuePairs() = default;
  INGOT_INLINE ValuePairs(const std::byte* const* pages, const std::byte* const* next,
                          std::int64_t bytes, const BlockRange& r = {0, kPairBlock})
      : first(pages[0]),
        pair_bytes(bytes),
        jump{0, pages[1] - pages[0] - kPagePairs * bytes},
        first_pair(2 * r.four()),
        pairs(2 * (r.four_end() - r.four())),
        ahead{next[0], next[1]} {}
  /// Skips `parts` vectors of 16 elements.
  INGOT_INLINE void skip(int parts) {
    first += parts * kLine;
    ahead_from += std::int64_t{parts} * pairs * kLine;
  }
  INGOT_INLINE const std::byte* at(int pair, int j) const {
    return first + jump[pair >= kPagePairs] + pair * pair_bytes + j * kLine;
  }
  /// The loops over a block prefetch line after line, whatever the order in which they read values.
  template <Half kHalf, int kWide>
  INGOT_INLINE void prefetch(int pair) const {
    constexpr int kLines = kLinesOfPair<kHalf, kWide>;
    const int before = kHalf == Half::kOdd ? pairs * kLinesOfPair<Half::kEven, kWide> : 0;
    const std::int64_t line = before + (pair - first_pair) * kLines;
    // A page and earlier loops have multiples of kLines lines, so a pair's lines lie in one page.
    const std::int64_t from = ahead_from + line * kLine;
    const std::int64_t page_bytes = kPagePairs * pair_bytes;
    const std::byte* to = from < page_bytes ? ahead[0] + from : ahead[1] + (from - page_bytes);
    for (int i = 0; i < kLines; ++i) prefetch_line(to + i * kLine);
  }

 private:
  static constexpr int kPagePairs = kBlockTokens / 2;
};

/// A block of 32 positions, and the queries that add its values to their sums.
struct ValueBlock {
  ValuePairs values = {};
  BlockRange range = {};        ///< positions that at least one of the queries sees
  bool alike = false;           ///< whether all queries see the whole range
  BlockFactors<kChunk> p = {};  ///< weights; +0 for positions that a query does not see
  float* o = nullptr;           ///< sums of the first query
  std::int64_t o_stride = 0;    ///< floats from one query's sums to the next
  /// Factors by which scaled_sums multiplies the queries' sums first; null: none.
  const float* scales = nullptr;
  bool ahead = false;  ///< whether to prefetch

  /// The block for query i alone, which sees `seen`.
  INGOT_INLINE ValueBlock of_query(int i, const BlockRange& seen) const {
    ValueBlock one = *this;
    one.range = seen;
    one.alike = true;
    one.p.first += i * kChunk;
    one.o += i * o_stride;
    if (scales != nullptr) one.scales += i;
    one.ahead = false;
    return one;
  }
};

/// Turns the weights of a pass's queries into factors of blocks (store_factors), in place.
template <class L, int kCount>
INGOT_INLINE void set_factors(const ChunkPass<kCount>& c, ChunkWeights& w) {
  for (int i = 0; kDotsPairs<L> && i < kCount; ++i) {
    float* p = w.p[c.query + i];
    for (int at = 0; at < kChunk; at += kPairBlock) {
      store_factors<L>(p + at, L::load(p + at), L::load(p + at + 16));
    }
  }
}

/// sums * factor, and +0 if the result is below 2^-100: so no sum is ever a denormal.
template <class L>
INGOT_INLINE typename L::F scaled_sums(typename L::F sums, float factor) {
  const auto scaled = L::mul(sums, L::splat(factor));
  const auto size = L::from_bits(L::and_int(L::bits(scaled), L::splat_int(0x7FFFFFFF)));
  return L::select(L::lt(size, L::splat(0x1p-100f)), L::splat(0), scaled);
}

template <class L, int kCount, int kParts>
INGOT_INLINE bool any_nan(const typename L::F (&x)[kCount][kParts]) {
  std::uint32_t ordered = 0xFFFF;
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) {
    for (int j = 0; j < kParts; ++j) ordered &= L::to_bits(L::le(x[i][j], x[i][j]));
  }
  return ordered != 0xFFFF;
}

/// o = scaled_sums(o) + (e + o'), for 16 * kParts elements of the values from element 16 * part on.
///
/// A query that does not see the whole range has weights of +0, which leave chains of finite values
/// as they are. But a value may be NaN: if queries are not alike and a sum is NaN, this writes
/// nothing and returns false.
template <class L, int kCount, int kParts>
[[gnu::noinline]] bool add_value_parts(const ValueBlock& b, int part) {
  ValuePairs values = b.values;
  values.skip(part);
  typename L::F sums[kCount][kParts];
  if (b.ahead) {
    sum_block<L, true>(values, b.p, b.range, sums);
  } else {
    sum_block<L, false>(values, b.p, b.range, sums);
  }
  if (!b.alike && any_nan<L>(sums)) return false;
  float* o = b.o + 16 * part;
  const std::int64_t stride = b.o_stride;
  const float* scales = b.scales;
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i, o += stride) {
    for (int j = 0; j < kParts; ++j) {
      const auto before = L::load(o + 16 * j);
      const auto scaled = scales == nullptr ? before : scaled_sums<L>(before, scales[i]);
      L::store(o + 16 * j, L::add(scaled, sums[i][j]));
    }
  }
  return true;
}

/// The part of a view that lies in the block of 32 positions from `at` on.
INGOT_INLINE BlockRange range_in_block(const ChunkView& view, std::int32_t at) {
  const std::int32_t from = view.from > at ? view.from - at : 0;
  const std::int32_t to = view.to - at < kPairBlock ? view.to - at : kPairBlock;
  return from < to ? BlockRange{from, to} : BlockRange{};
}

/// Sets what the queries of a pass see of the block of 32 positions from `at` on.
template <int kCount>
INGOT_INLINE void set_views(const ChunkPass<kCount>& c, std::int32_t at, ValueBlock& block,
                            BlockRange (&views)[kCount]) {
  block.alike = true;
  for (int i = 0; i < kCount; ++i) {
    views[i] = range_in_block(c.view[i], at);
    block.alike = block.alike && views[i].from == block.range.from && views[i].to == block.range.to;
  }
}

/// Vectors of 16 elements of the values that a pass of `queries` queries computes together. Few
/// queries wait for memory. If both chains of 4 vectors fit in registers, one loop reads each value
/// once. Else two loops read more vectors of each value: their lines are neighbours.
template <class L>
constexpr int value_parts(int queries) {
  const int with_both = L::kAttentionChains / (2 * queries);  // vectors whose chains all fit
  const int with_one = L::kAttentionChains / queries;         // vectors of which one chain fits
  const bool together = queries <= 2 ? with_both >= 4 : kChainsTogether<L> == 2;
  const int parts = together ? with_both : with_one;
  return parts >= 8 ? 8 : parts >= 4 ? 4 : parts >= 2 ? 2 : 1;
}

/// Adds a block of 32 positions to all sums of a pass. Queries see `views` of the block.
template <class L, int kCount>
INGOT_INLINE void add_value_block(const ValueBlock& b, const BlockRange (&views)[kCount],
                                  int parts) {
  constexpr int kMost = value_parts<L>(kCount);
  const auto add = [&]<int kParts>(int part) {
    const bool added = add_value_parts<L, kCount, kParts>(b, part);
    for (int i = 0; !added && i < kCount; ++i) {
      add_value_parts<L, 1, kParts>(b.of_query(i, views[i]), part);
    }
  };
  int part = 0;
  for (; part + kMost <= parts; part += kMost) add.template operator()<kMost>(part);
  for (; kMost > 2 && part + 2 <= parts; part += 2) add.template operator()<2>(part);
  if (part < parts) add.template operator()<1>(part);
}

/// Adds the values of a chunk to the sums of a pass, block by block of 32 positions.
template <class L, int kCount>
INGOT_INLINE void add_bf16_values(const AttentionArgs& a, const ChunkPass<kCount>& c,
                                  const ChunkWeights& w, SoftmaxStates& state) {
  static_assert(kCount <= 16);
  const int parts = (a.value_dim + 15) / 16;
  const ChunkView seen = seen_by_any(c);
  bool whole = true;  // whether all queries see the whole chunk
  for (const ChunkView& view : c.view) whole = whole && view.whole();
  ValueBlock block{.alike = whole,
                   .o = state.o[c.query],
                   .o_stride = state.o.cols,
                   .scales = w.factor + c.query,
                   .ahead = c.prefetches()};
  for (std::int32_t at = 0; at < kChunk; at += kPairBlock) {
    block.range = range_in_block(seen, at);
    if (block.range.empty()) continue;
    BlockRange views[kCount];  // used if they are not alike
    if (!whole) set_views(c, at, block, views);
    const int page = at / kBlockTokens;
    block.values = {c.chunk.values + page, c.chunk.next_keys + page, std::int64_t{kLine} * parts,
                    block.range};
    block.p = {w.p[c.query] + at};
    add_value_block<L>(block, views, parts);
    block.scales = nullptr;
  }
}

}  // namespace
}  // namespace ingot
