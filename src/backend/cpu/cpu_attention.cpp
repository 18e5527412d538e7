// CpuBackend: the ops kv_write and attention, over paged keys and values.
#include <algorithm>
#include <cstring>
#include <limits>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/page_layout.h"
#include "base/half.h"
#include "base/index.h"

namespace ingot {

namespace {

/// The key and value of one head of a token, and where to store them.
struct TokenHead {
  const float* k;      ///< [D]
  const float* v;      ///< [Dv]
  std::byte* keys;     ///< the head's keys in the token's block
  std::byte* values;   ///< the head's values
  std::int64_t token;  ///< number in the block
};

template <class Element>
void store_elements(const TokenHead& h, const Element* k, const Element* v, const Attention& a,
                    const PageLayout& layout) {
  Element* keys = reinterpret_cast<Element*>(h.keys) + h.token;
  for (std::int64_t d = 0; d < a.head_dim; ++d) keys[d * kBlockTokens] = k[d];
  std::copy_n(v, a.v_dim(), reinterpret_cast<Element*>(h.values) + h.token * layout.value_row);
}

/// The elements of a head, rounded to half floats.
class HalfHead {
 public:
  HalfHead(const KernelTable& table, const float* x, std::int64_t head_dim) {
    const std::int64_t whole = head_dim / 16 * 16;
    table.to_half(x, whole, elements_);
    std::transform(x + whole, x + head_dim, elements_ + whole, float_to_half);
  }
  const std::uint16_t* elements() const { return elements_; }

 private:
  std::uint16_t elements_[kHeadDimLimit];
};

/// The elements of a head, rounded to bfloat16, then +0 up to `cols` elements.
class Bf16Head {
 public:
  Bf16Head(const float* x, std::int64_t head_dim, std::int64_t cols) {
    std::transform(x, x + head_dim, elements_, rounded_bfloat16);
    std::fill(elements_ + head_dim, elements_ + cols, std::uint16_t{0});
  }
  const std::uint16_t* elements() const { return elements_; }

 private:
  std::uint16_t elements_[kHeadDimLimit];
};
static_assert(kHeadDimLimit % 32 == 0);  // so the padding fits

void store_bf16(const TokenHead& h, const Attention& a, const PageLayout& layout) {
  const Bf16Head k(h.k, a.head_dim, layout.key_rows);
  for (std::int64_t d = 0; d < layout.key_rows; d += 2) {
    std::memcpy(h.keys + PageLayout::bf16_key_at(h.token, d), k.elements() + d, 4);
  }
  const Bf16Head v(h.v, a.v_dim(), layout.value_row);
  auto* values = reinterpret_cast<std::uint16_t*>(h.values + layout.bf16_value_at(h.token, 0));
  for (std::int64_t d = 0; d < layout.value_row; ++d) values[2 * d] = v.elements()[d];
}

void store_floats(const KernelTable& table, const TokenHead& h, const Attention& a,
                  const PageLayout& layout, KvType type) {
  if (type == KvType::kF32) return store_elements(h, h.k, h.v, a, layout);
  if (type == KvType::kBF16) return store_bf16(h, a, layout);
  const HalfHead k(table, h.k, a.head_dim);
  const HalfHead v(table, h.v, a.v_dim());
  store_elements(h, k.elements(), v.elements(), a, layout);
}

/// The quantised groups of one head of a token.
struct QuantisedHead {
  QuantisedGroup groups[kHeadDimLimit / 32];  ///< row 0 of each

  QuantisedHead(const KernelTable& table, const float* x, std::int64_t head_dim) {
    const Int8Page page(head_dim);
    float padded[kHeadDimLimit];
    std::fill_n(padded + page.cols - kGroup, kGroup, 0.0f);
    std::copy_n(x, head_dim, padded);
    table.quantise(padded, page.cols, 0, groups, nullptr);
  }
  /// Elements [4 * quad, 4 * quad + 4).
  const std::int8_t* at(std::int64_t quad) const { return groups[quad / 8].q[quad % 8][0]; }
};

/// Stores the scales of a head's groups for one token.
void store_scales(const QuantisedHead& head, const Int8Page& page, std::int64_t token,
                  std::byte* to) {
  for (std::int64_t g = 0; g < page.groups; ++g) {
    const std::int64_t at = (g * kBlockTokens + token) * std::int64_t{sizeof(float)};
    __builtin_memcpy(to + at, head.groups[g].d, sizeof(float));
  }
}

void store_int8_key(const KernelTable& table, const TokenHead& h, std::int64_t head_dim) {
  const Int8Page page(head_dim);
  const QuantisedHead k(table, h.k, head_dim);
  store_scales(k, page, h.token, h.keys);
  std::byte* keys = h.keys + page.scale_bytes + 4 * h.token;
  for (std::int64_t quad = 0; quad < page.cols / 4; ++quad) {
    std::uint32_t four;
    __builtin_memcpy(&four, k.at(quad), 4);
    four ^= 0x80808080;  // q + 128
    __builtin_memcpy(keys + 4 * kBlockTokens * quad, &four, 4);
  }
}

void store_int8_value(const KernelTable& table, const TokenHead& h, std::int64_t value_dim) {
  const Int8Page page(value_dim);
  const QuantisedHead v(table, h.v, value_dim);
  store_scales(v, page, h.token, h.values);
  std::byte* values = h.values + page.scale_bytes + h.token / 4 * 4 * page.cols + h.token % 4;
  for (std::int64_t quad = 0; quad < page.cols / 4; ++quad, values += 16) {
    for (int i = 0; i < 4; ++i) values[4 * i] = static_cast<std::byte>(v.at(quad)[i]);
  }
}

/// Prefetches the lines of a head's keys into the first-level cache. A token writes a part of each
/// line; without this, kv_write would spend most of its time waiting for these lines.
void prefetch_keys(const TokenHead& h, const PageLayout& layout) {
  constexpr std::int64_t kLine = 64;
  for (std::int64_t at = 0; at < layout.k_head; at += kLine) {
    __builtin_prefetch(h.keys + at, 1, 3);
  }
}

/// Writes keys and values of rows, head by head, to their slots.
class KvWriter {
 public:
  KvWriter(const KernelTable& table, View qkv, std::span<const std::int32_t> slots,
           const Attention& a, const KvLayer& kv)
      : table_(table), qkv_(qkv), slots_(slots), a_(a), kv_(kv), layout_(a, kv.type) {
    INGOT_CHECK(std::ssize(slots) == qkv.rows, slots.size(), " slots for ", qkv.rows, " rows");
    INGOT_CHECK(a.writes_kv, "keys of a layer that writes none");
  }

  /// Writes head g of rows [first, end), and prefetches the next block of this head, or the first
  /// block of the next head.
  void write(std::int64_t g, std::int64_t first, std::int64_t end) const {
    for (std::int64_t t = first; t < end; ++t) {
      if (t + 1 < end && block_of(t + 1) != block_of(t)) prefetch(t + 1, g);
      if (t + 1 == end && g + 1 < a_.kv_heads) prefetch(first, g + 1);
      if (slot_of(t) < 0) continue;
      if (kv_.type == KvType::kInt8) {
        store_int8_key(table_, head_of(t, g), a_.head_dim);
        store_int8_value(table_, head_of(t, g), a_.v_dim());
      } else {
        store_floats(table_, head_of(t, g), a_, layout_, kv_.type);
      }
    }
  }

 private:
  /// The slot of a row; negative if the row is skipped.
  std::int32_t slot_of(std::int64_t t) const {
    const std::int32_t slot = at(slots_, t);
    INGOT_CHECK(slot < 0 || slot / kBlockTokens < kv_.blocks, "slot ", slot, " of ", kv_.blocks,
                " blocks");
    return slot;
  }
  std::int32_t block_of(std::int64_t t) const { return at(slots_, t) / kBlockTokens; }
  TokenHead head_of(std::int64_t t, std::int64_t g) const {
    const std::int32_t slot = slot_of(t);
    std::byte* block = kv_.pages + slot / kBlockTokens * kv_.block_bytes;
    const float* row = qkv_.row<const float>(t) + a_.q_cols();
    const float* k = row + g * a_.head_dim;
    return {.k = k,
            .v = a_.values_in_keys ? k : row + a_.k_cols() + g * a_.v_dim(),
            .keys = block + g * layout_.k_head,
            .values = block + layout_.v_start + g * layout_.v_head,
            .token = slot % kBlockTokens};
  }
  void prefetch(std::int64_t t, std::int64_t g) const {
    if (slot_of(t) >= 0) prefetch_keys(head_of(t, g), layout_);
  }

  const KernelTable& table_;
  View qkv_;
  std::span<const std::int32_t> slots_;
  const Attention& a_;
  const KvLayer& kv_;
  PageLayout layout_;
};

const KvBlocks& group_of(const Batch& b, const KvLayer& kv) {
  INGOT_CHECK(kv.group < std::ssize(b.groups), "group ", kv.group, " of ", b.groups.size());
  return at(b.groups, kv.group);
}

/// Returns a sequence's block table, after checking that the blocks of `keys` are in the pool.
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
  if (qkv.rows == 1) {  // less work than waking other threads
    for (std::int64_t g = 0; g < a.kv_heads; ++g) writer.write(g, 0, 1);
    return;
  }
  // An item has consecutive rows of a head, since rows of one block write to the same lines.
  const std::int64_t together =
      std::clamp<std::int64_t>(qkv.rows * a.kv_heads / (4 * pool_.size()), 1, kBlockTokens);
  const std::int64_t tiles = (qkv.rows + together - 1) / together;
  pool_.parallel_for(tiles * a.kv_heads, [&](std::int64_t item, int) {
    const std::int64_t first = item / a.kv_heads * together;
    writer.write(item % a.kv_heads, first, std::min(qkv.rows, first + together));
  });
}

/// The keys of each row of a row tile: AttentionArgs::key, first and last.
struct CpuBackend::TileKeys {
  std::int32_t key[kQueriesLimit];
  std::int32_t first[kQueriesLimit];
  std::int32_t last[kQueriesLimit];
};

namespace {

/// Most queries in a call of the kernel.
int queries_max(const KernelTable& table, const Attention& a, KvType type) {
  const std::int32_t longest = (std::max(a.head_dim, a.v_dim()) + kGroup - 1) / kGroup * kGroup;
  const int fastest = type == KvType::kBF16 ? table.bf16_queries : kVectorQueries;
  return std::min(fastest, kQueryElements / longest);
}

}  // namespace

void CpuBackend::attention(View qkv, const Batch& b, const Attention& a, KvLayer kv, View out,
                           Next next) {
  INGOT_CHECK(a.head_dim <= kHeadDimLimit && a.v_dim() <= kHeadDimLimit &&
                  a.heads % a.kv_heads == 0 && qkv.cols >= a.q_cols() && out.cols == a.out_cols(),
              a.heads, " heads of ", a.head_dim, " and ", a.v_dim(), " over ", a.kv_heads, ": [",
              qkv.cols, "] -> [", out.cols, "]");
  const bool quantise = keeps_quantised(out, a.v_dim() % kGroup == 0 ? next : Next::kAnyone);
  attention_.cut(b, a, queries_max(table_, a, kv.type));
  attention_.each_counter([&](std::int64_t counter, std::int32_t splits) {
    at(splits_left_, counter).store(splits, std::memory_order_relaxed);
  });
  pool_.parallel_for(attention_.items(), [&](std::int64_t number, int) {
    const AttentionItem item = attention_.item(number);
    const RowTile& rows = *item.rows;
    TileKeys keys;
    const AttentionArgs args = args_of(qkv, b, a, kv, item, out, keys);
    if (rows.splits == 1) {
      table_.attention(args);
    } else if (!run_split(args, item)) {
      return;
    }
    if (!quantise) return;
    const std::int64_t col = item.heads.head * a.v_dim();
    const View part =
        columns(out, col, std::int64_t{item.heads.kv_heads} * item.heads.heads * a.v_dim());
    input_of(out).write_rows(table_, part.slice(rows.row, rows.end - rows.row), rows.row,
                             col / kGroup);
  });
}

bool CpuBackend::run_split(const AttentionArgs& args, const AttentionItem& item) {
  const RowTile& rows = *item.rows;
  float* first = scratch_.states + rows.states + item.head_tile * rows.splits * rows.state_floats;
  table_.attention_split(args, rows.first_split + item.split,
                         first + item.split * rows.state_floats);
  auto& left = at(splits_left_, rows.counter + item.head_tile);
  if (left.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
  table_.attention_join(args, first, rows.state_floats);
  return true;
}

AttentionArgs CpuBackend::args_of(View qkv, const Batch& b, const Attention& a, const KvLayer& kv,
                                  const AttentionItem& item, View out, TileKeys& keys) const {
  const RowTile& rows = *item.rows;
  const HeadTile& tile = item.heads;
  KeyRange all{.first = std::numeric_limits<std::int32_t>::max(), .last = 0};
  for (std::int64_t t = rows.row; t < rows.end; ++t) {
    const KeyRange range = keys_seen(b, a, rows.sequence, t);
    keys.key[t - rows.row] = key_of(b, rows.sequence, t);
    keys.first[t - rows.row] = range.first;
    keys.last[t - rows.row] = range.last;
    all = {.first = std::min(all.first, range.first), .last = std::max(all.last, range.last)};
  }
  KeyRange read = all;
  if (rows.splits > 1) {
    // Items of other splits check their own keys; the chunk after the split is prefetched.
    const std::int32_t first = (rows.first_split + item.split) * kSplit;
    read = {.first = std::max(all.first, first),
            .last = std::min(all.last, first + kSplit + kChunk)};
  }
  INGOT_CHECK((rows.end - rows.row) * tile.heads * tile.kv_heads <= queries_max(table_, a, kv.type),
              rows.end - rows.row, " rows of ", tile.heads, " x ", tile.kv_heads, " heads");
  const PageLayout layout(a, kv.type);
  const View& bias = a.position_bias;
  return {
      .q = qkv.row<const float>(rows.row) + tile.head * a.head_dim,
      .out = out.row<float>(rows.row) + tile.head * a.v_dim(),
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
      .value_dim = a.v_dim(),
      .key = keys.key,
      .first = keys.first,
      .last = keys.last,
      .scale = a.scale,
      .score_cap = a.score_cap,
      .sinks = a.sinks ? a.sinks.row<const float>(0) + tile.head : nullptr,
      .bias = bias ? bias.row<const float>(tile.head) : nullptr,
      .bias_stride = bias.row_bytes / std::int64_t{sizeof(float)},
      .bias_reach = static_cast<std::int32_t>((bias.cols - 1) / 2),
  };
}

}  // namespace ingot
