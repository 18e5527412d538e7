// CpuBackend: paged keys and values, and attention over them.
#include <algorithm>
#include <limits>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/page_layout.h"
#include "base/half.h"

namespace ingot {

namespace {

/// One head of a token, D elements.
struct TokenHead {
  const float* k;
  const float* v;
  std::byte* keys;    ///< of the head in the token's block
  std::byte* values;  ///< the same
  std::int64_t token;
};

template <class Element>
void store_elements(const TokenHead& h, const Element* k, const Element* v, std::int64_t head_dim,
                    std::int64_t value_row) {
  Element* keys = reinterpret_cast<Element*>(h.keys) + h.token;
  for (std::int64_t d = 0; d < head_dim; ++d) keys[d * kBlockTokens] = k[d];
  std::copy_n(v, head_dim, reinterpret_cast<Element*>(h.values) + h.token * value_row);
}

/// The elements of a head as 16 bits.
class NarrowHead {
 public:
  NarrowHead(const KernelTable& table, KvType type, const float* x, std::int64_t head_dim) {
    if (type == KvType::kBF16) {
      std::transform(x, x + head_dim, elements_, float_to_bfloat16);
    } else {
      const std::int64_t whole = head_dim / 16 * 16;
      table.to_half(x, whole, elements_);
      std::transform(x + whole, x + head_dim, elements_ + whole, float_to_half);
    }
  }
  const std::uint16_t* elements() const { return elements_; }

 private:
  std::uint16_t elements_[kHeadDimLimit];
};

void store_floats(const KernelTable& table, const TokenHead& h, std::int64_t head_dim,
                  const PageLayout& layout, KvType type) {
  if (type == KvType::kF32) return store_elements(h, h.k, h.v, head_dim, layout.value_row);
  const NarrowHead k(table, type, h.k, head_dim);
  const NarrowHead v(table, type, h.v, head_dim);
  store_elements(h, k.elements(), v.elements(), head_dim, layout.value_row);
}

/// The groups of one head of a token, quantised.
struct QuantisedHead {
  QuantisedGroup groups[kHeadDimLimit / 32];  ///< row 0 of each

  QuantisedHead(const KernelTable& table, const float* x, std::int64_t head_dim) {
    const Int8Page page(head_dim);
    float padded[kHeadDimLimit];
    std::copy_n(x, head_dim, padded);
    std::fill(padded + head_dim, padded + page.cols, 0.0f);
    table.quantise(padded, page.cols, 0, groups, nullptr);
  }
  /// Elements [4 * quad, 4 * quad + 4).
  const std::int8_t* at(std::int64_t quad) const { return groups[quad / 8].q[quad % 8][0]; }
};

void store_int8(const KernelTable& table, const TokenHead& h, std::int64_t head_dim) {
  const Int8Page page(head_dim);
  const QuantisedHead k(table, h.k, head_dim);
  const QuantisedHead v(table, h.v, head_dim);
  for (std::int64_t g = 0; g < page.groups; ++g) {
    const std::int64_t at = (g * kBlockTokens + h.token) * std::int64_t{sizeof(float)};
    __builtin_memcpy(h.keys + at, k.groups[g].d, sizeof(float));
    __builtin_memcpy(h.values + at, v.groups[g].d, sizeof(float));
  }
  std::byte* keys = h.keys + page.scale_bytes + 4 * h.token;
  std::byte* values = h.values + page.scale_bytes + h.token / 4 * 4 * page.cols + h.token % 4;
  for (std::int64_t quad = 0; quad < page.cols / 4; ++quad, values += 16) {
    std::uint32_t four;
    __builtin_memcpy(&four, k.at(quad), 4);
    four ^= 0x80808080;  // q + 128
    __builtin_memcpy(keys + 4 * kBlockTokens * quad, &four, 4);
    for (int i = 0; i < 4; ++i) values[4 * i] = static_cast<std::byte>(v.at(quad)[i]);
  }
}

/// Fetches what a head's token is written to: each line of the head's keys has a part of it, and
/// waiting for one after the other is most of the work.
void bring_near(const TokenHead& h, const PageLayout& layout) {
  constexpr std::int64_t kLine = 64;
  for (std::int64_t at = 0; at < layout.k_head; at += kLine) {
    __builtin_prefetch(h.keys + at, 1, 3);
  }
}

/// Keys and values of rows, head by head, to their slots.
class KvWriter {
 public:
  KvWriter(const KernelTable& table, View qkv, std::span<const std::int32_t> slots,
           const Attention& a, const KvLayer& kv)
      : table_(table), qkv_(qkv), slots_(slots), a_(a), kv_(kv), layout_(a, kv.type) {
    INGOT_CHECK(std::ssize(slots) == qkv.rows, slots.size(), " slots for ", qkv.rows, " rows");
  }

  /// Head g of rows [first, end). What comes next, of this head or the next one, is fetched
  /// meanwhile.
  void write(std::int64_t g, std::int64_t first, std::int64_t end) const {
    for (std::int64_t t = first; t < end; ++t) {
      if (t + 1 < end && block_of(t + 1) != block_of(t)) fetch(t + 1, g);
      if (t + 1 == end && g + 1 < a_.kv_heads) fetch(first, g + 1);
      if (slot_of(t) < 0) continue;
      if (kv_.type == KvType::kInt8) {
        store_int8(table_, head_of(t, g), a_.head_dim);
      } else {
        store_floats(table_, head_of(t, g), a_.head_dim, layout_, kv_.type);
      }
    }
  }

 private:
  /// Negative where a row is not to be written.
  std::int32_t slot_of(std::int64_t t) const {
    const std::int32_t slot = slots_[static_cast<std::size_t>(t)];
    INGOT_CHECK(slot < 0 || slot / kBlockTokens < kv_.blocks, "slot ", slot, " of ", kv_.blocks,
                " blocks");
    return slot;
  }
  std::int32_t block_of(std::int64_t t) const {
    return slots_[static_cast<std::size_t>(t)] / kBlockTokens;
  }
  TokenHead head_of(std::int64_t t, std::int64_t g) const {
    const std::int32_t slot = slot_of(t);
    std::byte* block = kv_.pages + slot / kBlockTokens * kv_.block_bytes;
    const float* k = qkv_.row<const float>(t) + a_.q_cols() + g * a_.head_dim;
    return {.k = k,
            .v = k + a_.kv_cols(),
            .keys = block + g * layout_.k_head,
            .values = block + layout_.v_start + g * layout_.v_head,
            .token = slot % kBlockTokens};
  }
  void fetch(std::int64_t t, std::int64_t g) const {
    if (slot_of(t) >= 0) bring_near(head_of(t, g), layout_);
  }

  const KernelTable& table_;
  View qkv_;
  std::span<const std::int32_t> slots_;
  const Attention& a_;
  const KvLayer& kv_;
  PageLayout layout_;
};

/// The keys that a row sees are always an interval: [first, last).
struct KeyRange {
  std::int32_t first = 0;
  std::int32_t last = 0;
};

/// What the row of key number `key` sees.
KeyRange keys_of(const Attention& a, std::int32_t key, std::int32_t kv_len) {
  KeyRange range{.first = 0, .last = a.causal ? key + 1 : kv_len};
  if (a.window == 0) return range;
  range.first = std::max(0, key - a.window + 1);
  if (!a.causal) range.last = std::min(kv_len, key + a.window);
  return range;
}

const KvBlocks& group_of(const Batch& b, const KvLayer& kv) {
  INGOT_CHECK(kv.group < std::ssize(b.groups), "group ", kv.group, " of ", b.groups.size());
  return b.groups[static_cast<std::size_t>(kv.group)];
}

/// A sequence's block table, of which every block that [first, last) touches is in the pool.
const std::int32_t* checked_table(const KvBlocks& blocks, std::int64_t sequence,
                                  const KeyRange& keys, const KvLayer& kv) {
  const std::int32_t* table = blocks.tables.data() + sequence * blocks.blocks_max;
  INGOT_CHECK((sequence + 1) * blocks.blocks_max <= std::ssize(blocks.tables) &&
                  keys.last <= blocks.blocks_max * kBlockTokens,
              "keys up to ", keys.last, " in a table of ", blocks.blocks_max, " blocks");
  for (std::int32_t i = keys.first / kBlockTokens; i * kBlockTokens < keys.last; ++i) {
    INGOT_CHECK(table[i] >= 0 && table[i] < kv.blocks, "sequence ", sequence, " sees key ",
                i * kBlockTokens, " in block ", table[i], " of ", kv.blocks);
  }
  return table;
}

}  // namespace

std::int64_t CpuBackend::kv_block_bytes(const Attention& a, KvType type) const {
  return PageLayout(a, type).block;
}

void CpuBackend::kv_write(View qkv, const Batch& b, const Attention& a, KvLayer kv) {
  const KvWriter writer(table_, qkv, group_of(b, kv).slots, a, kv);
  if (qkv.rows == 1) {  // less than what it costs to wake the others
    for (std::int64_t g = 0; g < a.kv_heads; ++g) writer.write(g, 0, 1);
    return;
  }
  // Of a head some rows one after the other: those of a block write to the same lines.
  const std::int64_t together =
      std::clamp<std::int64_t>(qkv.rows * a.kv_heads / (4 * pool_.size()), 1, kBlockTokens);
  const std::int64_t tiles = (qkv.rows + together - 1) / together;
  pool_.parallel_for(tiles * a.kv_heads, [&](std::int64_t item, int) {
    const std::int64_t first = item / a.kv_heads * together;
    writer.write(item % a.kv_heads, first, std::min(qkv.rows, first + together));
  });
}

namespace {

/// What row `row` of sequence `s` sees.
KeyRange seen_by(const Batch& b, const Attention& a, std::int32_t s, std::int64_t row) {
  const auto at = static_cast<std::size_t>(s);
  const std::int32_t kv_len = b.kv_len[at];
  const KeyRange range =
      keys_of(a, kv_len - (b.q_start[at + 1] - static_cast<std::int32_t>(row)), kv_len);
  INGOT_CHECK(range.first < range.last, "row ", row, " sees no key");
  return range;
}

}  // namespace

/// How the query heads of an attention are cut into kernel calls.
struct CpuBackend::HeadTiles {
  std::int64_t per_kv = 0;        ///< query heads of a kv head
  std::int64_t tiles_per_kv = 0;  ///< of which one kernel call takes
  std::int64_t heads = 0;         ///< so many at most
  std::int64_t count = 0;         ///< tiles of all kv heads

  explicit HeadTiles(const Attention& a)
      : per_kv(a.heads / a.kv_heads),
        tiles_per_kv((per_kv + kQueriesLimit - 1) / kQueriesLimit),
        heads((per_kv + tiles_per_kv - 1) / tiles_per_kv),
        count(a.kv_heads * tiles_per_kv) {}

  HeadTile at(std::int64_t tile) const {
    const std::int64_t kv_head = tile / tiles_per_kv;
    const std::int64_t in_group = tile % tiles_per_kv * heads;
    return {.kv_head = kv_head,
            .head = kv_head * per_kv + in_group,
            .heads = static_cast<std::int32_t>(std::min(heads, per_kv - in_group))};
  }
};

/// What each row of a tile sees.
struct CpuBackend::TileKeys {
  std::int32_t first[kQueriesLimit];
  std::int32_t last[kQueriesLimit];
};

void CpuBackend::tile_rows(const Batch& b, std::int64_t most) {
  row_tiles_.clear();
  for (std::int32_t s = 0; s < b.sequences(); ++s) {
    const auto at = static_cast<std::size_t>(s);
    const std::int64_t end = b.q_start[at + 1];
    const std::int64_t tiles = (end - b.q_start[at] + most - 1) / most;
    for (std::int64_t row = b.q_start[at], left = tiles; left > 0; --left) {
      const std::int64_t rows = (end - row + left - 1) / left;
      row_tiles_.push_back({.sequence = s, .row = row, .end = row + rows});
      row += rows;
    }
  }
}

CpuBackend::SharedSplits CpuBackend::share_splits(const Batch& b, const Attention& a,
                                                  const HeadTiles& heads) {
  if (row_tiles_.empty()) return {};
  std::int64_t rows = 0;
  std::int64_t all = 0;
  for (RowTile& t : row_tiles_) {
    // Earlier rows of a tile see no later keys than later ones.
    t.first_split = seen_by(b, a, t.sequence, t.row).first / kSplit;
    t.splits = (seen_by(b, a, t.sequence, t.end - 1).last - 1) / kSplit + 1 - t.first_split;
    rows = std::max(rows, t.end - t.row);
    all += t.splits;
  }
  SharedSplits shared{.head_tiles = heads.count,
                      .floats = rows * heads.heads * attention_state_floats(a.head_dim)};
  const std::int64_t room = scratch_.states_floats / (shared.floats * heads.count);
  for (RowTile& t : row_tiles_) {
    const bool is_large = t.splits * kPartOfThread * pool_.size() > all * heads.count;
    if (t.splits == 1 || !is_large || shared.parts + t.splits > room) {
      t.splits = 1;
      continue;
    }
    t.shared_tile = shared.tiles++;
    t.shared_part = shared.parts;
    shared.parts += t.splits;
    for (std::int64_t i = 0; i < heads.count; ++i) {
      splits_left_[static_cast<std::size_t>(t.shared_tile * heads.count + i)].store(
          t.splits, std::memory_order_relaxed);
    }
  }
  return shared;
}

std::int64_t CpuBackend::number_parts() {
  std::int64_t parts = 0;
  for (auto first = row_tiles_.begin(); first != row_tiles_.end();) {
    const auto end = std::find_if(first, row_tiles_.end(),
                                  [&](const RowTile& t) { return t.sequence != first->sequence; });
    const std::int64_t first_part = parts;
    for (auto t = first; t != end; ++t) {
      t->part = parts;
      t->sequence_part = first_part;
      parts += t->splits;
    }
    for (; first != end; ++first) first->sequence_parts = parts - first_part;
  }
  return parts;
}

CpuBackend::AttentionItem CpuBackend::attention_item(std::int64_t item,
                                                     std::int64_t head_tiles) const {
  const auto tile_of = [&](std::int64_t part) {
    const auto after =
        std::upper_bound(row_tiles_.begin(), row_tiles_.end(), part,
                         [](std::int64_t value, const RowTile& t) { return value < t.part; });
    return after - 1;
  };
  const RowTile& any = *tile_of(item / head_tiles);
  const std::int64_t of_sequence = item - any.sequence_part * head_tiles;
  const std::int64_t part = any.sequence_part + of_sequence % any.sequence_parts;
  const auto tile = tile_of(part);
  return {.tile = tile - row_tiles_.begin(),
          .split = static_cast<std::int32_t>(part - tile->part),
          .head_tile = of_sequence / any.sequence_parts};
}

void CpuBackend::attention(View qkv, const Batch& b, const Attention& a, KvLayer kv, View out,
                           Next next) {
  INGOT_CHECK(a.head_dim <= kHeadDimLimit && a.heads % a.kv_heads == 0, a.heads, " heads of ",
              a.head_dim, " over ", a.kv_heads);
  const bool quantise = keeps_quantised(out, a.head_dim % kGroup == 0 ? next : Next::kAnyone);
  const HeadTiles heads(a);
  tile_rows(b, kQueriesLimit / heads.heads);
  const SharedSplits shared = share_splits(b, a, heads);
  const std::int64_t parts = number_parts();
  pool_.parallel_for(parts * heads.count, [&](std::int64_t number, int) {
    const AttentionItem item = attention_item(number, heads.count);
    const RowTile& rows = row_tiles_[static_cast<std::size_t>(item.tile)];
    const HeadTile tile = heads.at(item.head_tile);
    TileKeys keys;
    const AttentionArgs args = args_of(qkv, b, a, kv, item, tile, out, keys);
    if (rows.splits == 1) {
      table_.attention(args);
    } else if (!run_split(args, item, shared)) {
      return;
    }
    if (!quantise) return;
    const std::int64_t col = tile.head * a.head_dim;
    const View part = columns(out, col, std::int64_t{tile.heads} * a.head_dim);
    input_of(out).write_rows(table_, part.slice(rows.row, rows.end - rows.row), rows.row,
                             col / kGroup);
  });
}

bool CpuBackend::run_split(const AttentionArgs& args, const AttentionItem& item,
                           const SharedSplits& shared) {
  const RowTile& rows = row_tiles_[static_cast<std::size_t>(item.tile)];
  const std::int64_t heads = shared.head_tiles;
  float* first =
      scratch_.states + (rows.shared_part * heads + item.head_tile * rows.splits) * shared.floats;
  table_.attention_split(args, rows.first_split + item.split, first + item.split * shared.floats);
  const auto at = static_cast<std::size_t>(rows.shared_tile * heads + item.head_tile);
  if (splits_left_[at].fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
  table_.attention_join(args, first, shared.floats);
  return true;
}

AttentionArgs CpuBackend::args_of(View qkv, const Batch& b, const Attention& a, const KvLayer& kv,
                                  const AttentionItem& item, const HeadTile& tile, View out,
                                  TileKeys& keys) const {
  const RowTile& rows = row_tiles_[static_cast<std::size_t>(item.tile)];
  KeyRange all{.first = std::numeric_limits<std::int32_t>::max(), .last = 0};
  for (std::int64_t t = rows.row; t < rows.end; ++t) {
    const KeyRange range = seen_by(b, a, rows.sequence, t);
    keys.first[t - rows.row] = range.first;
    keys.last[t - rows.row] = range.last;
    all = {.first = std::min(all.first, range.first), .last = std::max(all.last, range.last)};
  }
  KeyRange read = all;
  if (rows.splits > 1) {
    // Others check what they read; the chunk after a split's last is fetched ahead.
    constexpr std::int32_t kAhead = 4 * kBlockTokens;
    const std::int32_t first = (rows.first_split + item.split) * kSplit;
    read = {.first = std::max(all.first, first),
            .last = std::min(all.last, first + kSplit + kAhead)};
  }
  const PageLayout layout(a, kv.type);
  return {
      .q = qkv.row<const float>(rows.row) + tile.head * a.head_dim,
      .out = out.row<float>(rows.row) + tile.head * a.head_dim,
      .q_stride = qkv.row_bytes / std::int64_t{sizeof(float)},
      .out_stride = out.row_bytes / std::int64_t{sizeof(float)},
      .rows = static_cast<std::int32_t>(rows.end - rows.row),
      .heads = tile.heads,
      .pages = kv.pages,
      .table = checked_table(group_of(b, kv), rows.sequence, read, kv),
      .block_bytes = kv.block_bytes,
      .k_offset = tile.kv_head * layout.k_head,
      .v_offset = layout.v_start + tile.kv_head * layout.v_head,
      .type = kv.type,
      .head_dim = a.head_dim,
      .first = keys.first,
      .last = keys.last,
      .scale = a.scale,
      .score_cap = a.score_cap,
  };
}

}  // namespace ingot
