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

/// Fetches, into the first cache, what a head's token is written to: each line of the head's keys
/// has a part of it, and waiting for one after the other is most of the work.
void fetch_keys(const TokenHead& h, const PageLayout& layout) {
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
    if (slot_of(t) >= 0) fetch_keys(head_of(t, g), layout_);
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

CpuBackend::HeadTiles::HeadTiles(const Attention& a, std::int64_t most)
    : kv_heads(a.kv_heads),
      per_kv(a.heads / a.kv_heads),
      tiles_per_kv((per_kv + kQueriesLimit - 1) / kQueriesLimit),
      heads((per_kv + tiles_per_kv - 1) / tiles_per_kv) {
  INGOT_CHECK(most == 1 || tiles_per_kv == 1, most, " kv heads of ", per_kv, " query heads");
  const std::int64_t calls = (kv_heads + most - 1) / most;
  together = (kv_heads + calls - 1) / calls;
  count = (kv_heads + together - 1) / together * tiles_per_kv;
}

CpuBackend::HeadTile CpuBackend::HeadTiles::at(std::int64_t tile) const {
  const std::int64_t kv_head = tile / tiles_per_kv * together;
  const std::int64_t in_group = tile % tiles_per_kv * heads;
  return {.kv_head = kv_head,
          .head = kv_head * per_kv + in_group,
          .kv_heads = static_cast<std::int32_t>(std::min(together, kv_heads - kv_head)),
          .heads = static_cast<std::int32_t>(std::min(heads, per_kv - in_group))};
}

/// What each row of a tile sees.
struct CpuBackend::TileKeys {
  std::int32_t first[kQueriesLimit];
  std::int32_t last[kQueriesLimit];
};

std::int64_t CpuBackend::tile_rows(const Batch& b, const Attention& a, std::int64_t most) {
  std::int64_t keys = 0;
  row_tiles_.clear();
  for (std::int32_t s = 0; s < b.sequences(); ++s) {
    const auto at = static_cast<std::size_t>(s);
    const std::int64_t end = b.q_start[at + 1];
    const std::int64_t tiles = (end - b.q_start[at] + most - 1) / most;
    for (std::int64_t row = b.q_start[at], left = tiles; left > 0; --left) {
      const std::int64_t rows = (end - row + left - 1) / left;
      // Earlier rows of a tile see no later keys than later ones.
      const std::int32_t first = seen_by(b, a, s, row).first;
      const std::int32_t last = seen_by(b, a, s, row + rows - 1).last - 1;
      row_tiles_.push_back({.sequence = s,
                            .row = row,
                            .end = row + rows,
                            .keys = (last / kChunk + 1 - first / kChunk) * kChunk,
                            .first_split = first / kSplit,
                            .splits = last / kSplit + 1 - first / kSplit});
      keys += row_tiles_.back().keys;
      row += rows;
    }
  }
  return keys;
}

std::int64_t CpuBackend::cut_attention(const Batch& b, const Attention& a) {
  const HeadTiles one(a, 1);
  const std::int64_t work = tile_rows(b, a, kQueriesLimit / one.heads) * one.count;
  // One thread alone has nobody to share with.
  AttentionCut cut{.work_of_item =
                       pool_.size() == 1 ? work : work / (kPartOfThread * pool_.size())};
  sequence_tiles_.clear();
  const std::int64_t tiles = std::ssize(row_tiles_);
  for (std::int64_t tile = 0, end = 0; tile < tiles; tile = end) {
    const std::int32_t sequence = row_tiles_[static_cast<std::size_t>(tile)].sequence;
    while (end < tiles && row_tiles_[static_cast<std::size_t>(end)].sequence == sequence) ++end;
    sequence_tiles_.push_back({.tile = tile, .end_tile = end, .heads = one});
    cut_sequence(a, sequence_tiles_.back(), cut);
  }
  return cut.items;
}

std::span<CpuBackend::RowTile> CpuBackend::row_tiles_of(const SequenceTiles& sequence) {
  return {row_tiles_.data() + sequence.tile, row_tiles_.data() + sequence.end_tile};
}

void CpuBackend::cut_sequence(const Attention& a, SequenceTiles& sequence, AttentionCut& cut) {
  const std::span<RowTile> tiles = row_tiles_of(sequence);
  std::int64_t longest = 0;
  for (const RowTile& t : tiles) longest = std::max(longest, t.keys);
  // The first tile of a sequence has no fewer rows than the others.
  const std::int64_t rows = tiles.front().end - tiles.front().row;
  const std::int64_t fitting = kQueriesLimit / (rows * sequence.heads.heads);
  const auto heads_of = [&](std::int64_t keys) {
    return HeadTiles(a, std::clamp<std::int64_t>(cut.work_of_item / keys, 1, fitting));
  };
  sequence.heads = heads_of(std::min<std::int64_t>(longest, kSplit));
  if (!share_splits(a, sequence, cut)) sequence.heads = heads_of(longest);
  for (RowTile& t : tiles) {
    t.part = sequence.parts;
    sequence.parts += t.splits;
  }
  sequence.item = cut.items;
  cut.items += sequence.parts * sequence.heads.count;
}

bool CpuBackend::share_splits(const Attention& a, const SequenceTiles& sequence,
                              AttentionCut& cut) {
  const std::span<RowTile> tiles = row_tiles_of(sequence);
  const HeadTiles& heads = sequence.heads;
  AttentionCut after = cut;
  for (RowTile& t : tiles) {
    if (t.keys * heads.together <= cut.work_of_item) t.splits = 1;
    if (t.splits == 1) continue;
    t.left = after.left;
    t.states = after.states;
    t.state_floats =
        (t.end - t.row) * heads.together * heads.heads * attention_state_floats(a.head_dim);
    after.left += heads.count;
    after.states += t.splits * heads.count * t.state_floats;
  }
  if (after.left > std::ssize(splits_left_) || after.states > scratch_.states_floats) {
    for (RowTile& t : tiles) t.splits = 1;
    return false;
  }
  for (const RowTile& t : tiles) {
    for (std::int64_t i = 0; t.splits > 1 && i < heads.count; ++i) {
      splits_left_[static_cast<std::size_t>(t.left + i)].store(t.splits, std::memory_order_relaxed);
    }
  }
  cut = after;
  return true;
}

CpuBackend::AttentionItem CpuBackend::attention_item(std::int64_t item) const {
  // Of the numbers that rise the last one that is not above `value`.
  const auto last_of = [](auto first, auto end, std::int64_t value, auto number) {
    return std::upper_bound(first, end, value,
                            [&](std::int64_t v, const auto& t) { return v < t.*number; }) -
           1;
  };
  const auto sequence =
      last_of(sequence_tiles_.begin(), sequence_tiles_.end(), item, &SequenceTiles::item);
  const std::int64_t of_sequence = item - sequence->item;
  const std::int64_t part = of_sequence % sequence->parts;
  const auto rows = last_of(row_tiles_.begin() + sequence->tile,
                            row_tiles_.begin() + sequence->end_tile, part, &RowTile::part);
  const std::int64_t head_tile = of_sequence / sequence->parts;
  return {.rows = &*rows,
          .split = static_cast<std::int32_t>(part - rows->part),
          .head_tile = head_tile,
          .heads = sequence->heads.at(head_tile)};
}

void CpuBackend::attention(View qkv, const Batch& b, const Attention& a, KvLayer kv, View out,
                           Next next) {
  INGOT_CHECK(a.head_dim <= kHeadDimLimit && a.heads % a.kv_heads == 0, a.heads, " heads of ",
              a.head_dim, " over ", a.kv_heads);
  const bool quantise = keeps_quantised(out, a.head_dim % kGroup == 0 ? next : Next::kAnyone);
  pool_.parallel_for(cut_attention(b, a), [&](std::int64_t number, int) {
    const AttentionItem item = attention_item(number);
    const RowTile& rows = *item.rows;
    TileKeys keys;
    const AttentionArgs args = args_of(qkv, b, a, kv, item, out, keys);
    if (rows.splits == 1) {
      table_.attention(args);
    } else if (!run_split(args, item)) {
      return;
    }
    if (!quantise) return;
    const std::int64_t col = item.heads.head * a.head_dim;
    const View part =
        columns(out, col, std::int64_t{item.heads.kv_heads} * item.heads.heads * a.head_dim);
    input_of(out).write_rows(table_, part.slice(rows.row, rows.end - rows.row), rows.row,
                             col / kGroup);
  });
}

bool CpuBackend::run_split(const AttentionArgs& args, const AttentionItem& item) {
  const RowTile& rows = *item.rows;
  float* first = scratch_.states + rows.states + item.head_tile * rows.splits * rows.state_floats;
  table_.attention_split(args, rows.first_split + item.split,
                         first + item.split * rows.state_floats);
  const auto at = static_cast<std::size_t>(rows.left + item.head_tile);
  if (splits_left_[at].fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
  table_.attention_join(args, first, rows.state_floats);
  return true;
}

AttentionArgs CpuBackend::args_of(View qkv, const Batch& b, const Attention& a, const KvLayer& kv,
                                  const AttentionItem& item, View out, TileKeys& keys) const {
  const RowTile& rows = *item.rows;
  const HeadTile& tile = item.heads;
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
    const std::int32_t first = (rows.first_split + item.split) * kSplit;
    read = {.first = std::max(all.first, first),
            .last = std::min(all.last, first + kSplit + kChunk)};
  }
  const PageLayout layout(a, kv.type);
  return {
      .q = qkv.row<const float>(rows.row) + tile.head * a.head_dim,
      .out = out.row<float>(rows.row) + tile.head * a.head_dim,
      .q_stride = qkv.row_bytes / std::int64_t{sizeof(float)},
      .out_stride = out.row_bytes / std::int64_t{sizeof(float)},
      .rows = static_cast<std::int32_t>(rows.end - rows.row),
      .heads = tile.heads,
      .kv_heads = tile.kv_heads,
      .pages = kv.pages,
      .table = checked_table(group_of(b, kv), rows.sequence, read, kv),
      .block_bytes = kv.block_bytes,
      .k_offset = tile.kv_head * layout.k_head,
      .v_offset = layout.v_start + tile.kv_head * layout.v_head,
      .k_head = layout.k_head,
      .v_head = layout.v_head,
      .type = kv.type,
      .head_dim = a.head_dim,
      .first = keys.first,
      .last = keys.last,
      .scale = a.scale,
      .score_cap = a.score_cap,
  };
}

}  // namespace ingot
