// AttentionPlan: cuts an attention into row tiles, head tiles and splits.
#include "backend/cpu/attention_plan.h"

#include <algorithm>

#include "backend/cpu/kernel_table.h"
#include "base/check.h"
#include "base/index.h"

namespace ingot {

namespace {

/// Items wanted for each thread, if work can be cut and there is memory for states. With fewer
/// items, threads are idle at the end. More items cost more states and joins.
constexpr std::int64_t kItemsOfThread = 4;

}  // namespace

std::int32_t key_of(const Batch& b, std::int32_t sequence, std::int64_t row) {
  return at(b.kv_len, sequence) - (at(b.q_start, sequence + 1) - static_cast<std::int32_t>(row));
}

KeyRange keys_seen(const Batch& b, const Attention& a, std::int32_t sequence, std::int64_t row) {
  const std::int32_t kv_len = at(b.kv_len, sequence);
  const std::int32_t key = key_of(b, sequence, row);
  KeyRange range{.first = 0, .last = a.causal ? key + 1 : kv_len};
  if (a.window != 0) {
    range.first = std::max(0, key - a.window + 1);
    if (!a.causal) range.last = std::min(kv_len, key + a.window);
  }
  INGOT_CHECK(range.first < range.last, "row ", row, " sees no key");
  return range;
}

HeadTiles::HeadTiles(const Attention& a, std::int64_t kv_heads_max, std::int64_t queries_max)
    : kv_heads(a.kv_heads),
      per_kv(a.heads / a.kv_heads),
      tiles_per_kv((per_kv + queries_max - 1) / queries_max),
      heads((per_kv + tiles_per_kv - 1) / tiles_per_kv) {
  INGOT_CHECK(kv_heads_max == 1 || tiles_per_kv == 1, kv_heads_max, " kv heads of ", per_kv,
              " query heads");
  const std::int64_t calls = (kv_heads + kv_heads_max - 1) / kv_heads_max;
  together = (kv_heads + calls - 1) / calls;
  count = (kv_heads + together - 1) / together * tiles_per_kv;
}

HeadTile HeadTiles::at(std::int64_t tile) const {
  const std::int64_t kv_head = tile / tiles_per_kv * together;
  const std::int64_t in_group = tile % tiles_per_kv * heads;
  return {.kv_head = kv_head,
          .head = kv_head * per_kv + in_group,
          .kv_heads = static_cast<std::int32_t>(std::min(together, kv_heads - kv_head)),
          .heads = static_cast<std::int32_t>(std::min(heads, per_kv - in_group))};
}

AttentionPlan::AttentionPlan(std::int32_t rows, int threads, std::int64_t state_floats)
    : threads_(threads), state_floats_max_(state_floats) {
  row_tiles_.reserve(to_size(rows));
  sequences_.reserve(to_size(rows));
}

std::int64_t AttentionPlan::counters_max(int threads) {
  // At most kItemsOfThread row and head tiles for each thread exceed an item's work. The factor 2
  // is for the last head tiles of sequences, which count as whole tiles but may have fewer heads.
  return 2 * kItemsOfThread * threads;
}

void AttentionPlan::cut(const Batch& b, const Attention& a, int queries_max) {
  queries_max_ = queries_max;
  const HeadTiles one(a, 1, queries_max_);
  const std::int64_t work = tile_rows(b, a, queries_max_ / one.heads) * one.count;
  // A single thread cannot share work.
  item_work_ = threads_ == 1 ? work : work / (kItemsOfThread * threads_);
  items_ = counters_ = state_floats_ = 0;
  sequences_.clear();
  const std::int64_t tiles = std::ssize(row_tiles_);
  for (std::int64_t tile = 0, end = 0; tile < tiles; tile = end) {
    const std::int32_t sequence = at(row_tiles_, tile).sequence;
    while (end < tiles && at(row_tiles_, end).sequence == sequence) ++end;
    sequences_.push_back({.tile = tile, .end_tile = end, .heads = one});
    cut_sequence(a, sequences_.back());
  }
}

/// Cuts each sequence's rows into as few tiles of at most `rows_max` rows as possible, of similar
/// size. Returns the keys of all tiles.
std::int64_t AttentionPlan::tile_rows(const Batch& b, const Attention& a, std::int64_t rows_max) {
  std::int64_t keys = 0;
  row_tiles_.clear();
  for (std::int32_t s = 0; s < b.sequences(); ++s) {
    const std::int64_t end = at(b.q_start, s + 1);
    std::int64_t row = at(b.q_start, s);
    for (std::int64_t left = (end - row + rows_max - 1) / rows_max; left > 0; --left) {
      const std::int64_t rows = (end - row + left - 1) / left;
      // Earlier rows of a tile see no later keys than later rows do.
      const std::int32_t first = keys_seen(b, a, s, row).first;
      const std::int32_t last = keys_seen(b, a, s, row + rows - 1).last - 1;
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

/// Chooses a sequence's head tiles, and numbers its items.
void AttentionPlan::cut_sequence(const Attention& a, SequenceTiles& sequence) {
  const std::span<RowTile> tiles = tiles_of(sequence);
  std::int64_t longest = 0;
  for (const RowTile& t : tiles) longest = std::max(longest, t.keys);
  // A sequence's first tile has at least as many rows as its others.
  const std::int64_t rows = tiles.front().end - tiles.front().row;
  const std::int64_t fitting = queries_max_ / (rows * sequence.heads.heads);
  const auto heads_for = [&](std::int64_t keys) {
    return HeadTiles(a, std::clamp<std::int64_t>(item_work_ / keys, 1, fitting), queries_max_);
  };
  sequence.heads = heads_for(std::min<std::int64_t>(longest, kSplit));
  if (!share_splits(a, sequence)) sequence.heads = heads_for(longest);
  for (RowTile& t : tiles) {
    t.part = sequence.parts;
    sequence.parts += t.splits;
  }
  sequence.item = items_;
  items_ += sequence.parts * sequence.heads.count;
}

/// Cuts the sequence's tiles that exceed an item's work into their splits. If there are not enough
/// counters or states for all these tiles, cuts no tile and returns false.
bool AttentionPlan::share_splits(const Attention& a, const SequenceTiles& sequence) {
  const std::span<RowTile> tiles = tiles_of(sequence);
  const HeadTiles& heads = sequence.heads;
  std::int64_t counters = counters_;
  std::int64_t floats = state_floats_;
  for (RowTile& t : tiles) {
    if (t.keys * heads.together <= item_work_) t.splits = 1;
    if (t.splits == 1) continue;
    t.counter = counters;
    t.states = floats;
    t.state_floats =
        (t.end - t.row) * heads.together * heads.heads * attention_state_floats(a.v_dim());
    counters += heads.count;
    floats += t.splits * heads.count * t.state_floats;
  }
  if (counters > counters_max(threads_) || floats > state_floats_max_) {
    for (RowTile& t : tiles) t.splits = 1;
    return false;
  }
  counters_ = counters;
  state_floats_ = floats;
  return true;
}

AttentionItem AttentionPlan::item(std::int64_t number) const {
  // The last element of an ascending list with `first_number` <= `value`.
  const auto last_of = [](auto first, auto end, std::int64_t value, auto first_number) {
    return std::upper_bound(first, end, value,
                            [&](std::int64_t v, const auto& e) { return v < e.*first_number; }) -
           1;
  };
  const auto sequence = last_of(sequences_.begin(), sequences_.end(), number, &SequenceTiles::item);
  const std::int64_t in_sequence = number - sequence->item;
  const std::int64_t part = in_sequence % sequence->parts;
  const std::span<const RowTile> tiles = tiles_of(*sequence);
  const auto rows = last_of(tiles.begin(), tiles.end(), part, &RowTile::part);
  const std::int64_t head_tile = in_sequence / sequence->parts;
  return {.rows = &*rows,
          .split = static_cast<std::int32_t>(part - rows->part),
          .head_tile = head_tile,
          .heads = sequence->heads.at(head_tile)};
}

}  // namespace ingot
