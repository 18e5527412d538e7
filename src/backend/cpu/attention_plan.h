// AttentionPlan: how an attention op is cut into items for the threads, without any kernel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/batch.h"
#include "backend/ops.h"

namespace ingot {

/// An interval of keys: [first, last).
struct KeyRange {
  std::int32_t first = 0;
  std::int32_t last = 0;
};

/// The keys that row `row` of the batch, a row of `sequence`, sees. A row that sees none is a bug.
KeyRange keys_seen(const Batch& b, const Attention& a, std::int32_t sequence, std::int64_t row);

/// Rows [row, end) of one sequence, which share each read of its keys and values.
struct RowTile {
  std::int32_t sequence = 0;
  std::int64_t row = 0;
  std::int64_t end = 0;
  std::int64_t keys = 0;          ///< seen by some of its rows, in whole chunks
  std::int32_t first_split = 0;   ///< the first split with a key that some row sees
  std::int32_t splits = 1;        ///< such splits, each an item; 1 where one item has all of them
  std::int64_t part = 0;          ///< number of its first item among the items of a head tile
  std::int64_t counter = 0;       ///< its first head tile's counter, where splits are shared
  std::int64_t states = 0;        ///< offset of its states, where splits are shared
  std::int64_t state_floats = 0;  ///< floats of a head tile's states after one split
};

/// Query heads of `kv_heads` neighbouring kv heads, `heads` of each, from query head `head` on.
struct HeadTile {
  std::int64_t kv_head = 0;
  std::int64_t head = 0;
  std::int32_t kv_heads = 0;
  std::int32_t heads = 0;
};

/// The cut of an attention's query heads into head tiles.
struct HeadTiles {
  std::int64_t kv_heads = 0;      ///< all kv heads
  std::int64_t per_kv = 0;        ///< query heads of a kv head
  std::int64_t together = 0;      ///< kv heads of a tile at most
  std::int64_t tiles_per_kv = 0;  ///< tiles of `together` kv heads; above 1 only for one kv head
  std::int64_t heads = 0;         ///< query heads of a kv head in a tile at most
  std::int64_t count = 0;         ///< tiles

  /// Tiles of at most `kv_heads_max` kv heads. More than 1 needs kv heads whose query heads fit in
  /// one tile.
  HeadTiles(const Attention& a, std::int64_t kv_heads_max);
  HeadTile at(std::int64_t tile) const;
};

/// A thread's unit of work: one head tile over one split, or all splits, of a row tile.
struct AttentionItem {
  const RowTile* rows = nullptr;
  std::int32_t split = 0;  ///< counted from RowTile::first_split
  std::int64_t head_tile = 0;
  HeadTile heads;
};

/// Cuts attentions into items of similar size that threads take in any order.
///
/// Rows of a sequence form row tiles, as few as the kernels' queries allow. Long tiles are cut into
/// their splits: threads compute a state for each split, and the last thread joins them in order.
/// Results do not depend on the cut.
class AttentionPlan {
 public:
  AttentionPlan() = default;
  /// Reserves memory for steps of up to `rows` rows on `threads` threads. Shared splits get at most
  /// `state_floats` floats of states.
  AttentionPlan(std::int32_t rows, int threads, std::int64_t state_floats);

  /// Plans an attention over a batch; allocates nothing.
  void cut(const Batch& b, const Attention& a);

  std::int64_t items() const { return items_; }
  /// Item `number`. Items of a sequence are neighbours, since keys and values of sequences lie far
  /// apart. Within a sequence, items of a head tile are neighbours, so that the next row tile finds
  /// keys and values in a cache.
  AttentionItem item(std::int64_t number) const;
  std::span<const RowTile> row_tiles() const { return row_tiles_; }

  /// Counters that shared splits need: one for each head tile of a row tile, from
  /// RowTile::counter on.
  std::int64_t counters() const { return counters_; }
  /// The largest `counters` on `threads` threads.
  static std::int64_t counters_max(int threads);
  /// Calls visit(counter, splits) for each counter.
  template <class Visit>
  void each_counter(Visit visit) const {
    for (const SequenceTiles& s : sequences_) {
      for (const RowTile& tile : tiles_of(s)) {
        for (std::int64_t i = 0; tile.splits > 1 && i < s.heads.count; ++i) {
          visit(tile.counter + i, tile.splits);
        }
      }
    }
  }

 private:
  /// A sequence's part of the plan.
  struct SequenceTiles {
    std::int64_t tile = 0;  ///< row tiles [tile, end_tile)
    std::int64_t end_tile = 0;
    std::int64_t parts = 0;  ///< items of a head tile
    std::int64_t item = 0;   ///< number of the first item
    HeadTiles heads;
  };

  std::int64_t tile_rows(const Batch& b, const Attention& a, std::int64_t rows_max);
  void cut_sequence(const Attention& a, SequenceTiles& sequence);
  bool share_splits(const Attention& a, const SequenceTiles& sequence);
  std::span<RowTile> tiles_of(const SequenceTiles& s) {
    return {row_tiles_.data() + s.tile, row_tiles_.data() + s.end_tile};
  }
  std::span<const RowTile> tiles_of(const SequenceTiles& s) const {
    return {row_tiles_.data() + s.tile, row_tiles_.data() + s.end_tile};
  }

  int threads_ = 1;
  std::int64_t state_floats_max_ = 0;
  std::vector<RowTile> row_tiles_;
  std::vector<SequenceTiles> sequences_;
  std::int64_t item_work_ = 0;  ///< keys times head tiles that an item should have at most
  std::int64_t items_ = 0;
  std::int64_t counters_ = 0;
  std::int64_t state_floats_ = 0;  ///< used
};

}  // namespace ingot
