// AttentionPlan: cuts an attention op into items that threads compute in parallel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/batch.h"
#include "backend/ops.h"

namespace ingot {

/// A range of keys: [first, last).
struct KeyRange {
  std::int32_t first = 0;
  std::int32_t last = 0;
};

/// Returns the key number of batch row `row`, a row of `sequence`.
std::int32_t key_of(const Batch& b, std::int32_t sequence, std::int64_t row);

/// Returns the range of keys that batch row `row`, a row of `sequence`, sees: at least one key.
KeyRange keys_seen(const Batch& b, const Attention& a, std::int32_t sequence, std::int64_t row);

/// Rows [row, end) of one sequence. A kernel reads each key and value once for all these rows.
struct RowTile {
  std::int32_t sequence = 0;
  std::int64_t row = 0;
  std::int64_t end = 0;
  std::int64_t keys = 0;          ///< number of keys in the chunks that the tile's rows see
  std::int32_t first_split = 0;   ///< first split with a key that any row sees
  std::int32_t splits = 1;        ///< items for each head tile: 1, or the number of visible splits
  std::int64_t part = 0;          ///< sum of `splits` of the sequence's earlier row tiles
  std::int64_t counter = 0;       ///< index of the first head tile's counter, if splits > 1
  std::int64_t states = 0;        ///< offset of the tile's states in floats, if splits > 1
  std::int64_t state_floats = 0;  ///< number of floats in a head tile's states after one split
};

/// Kv heads [kv_head, kv_head + kv_heads) with `heads` query heads each. `head`: first query head.
struct HeadTile {
  std::int64_t kv_head = 0;
  std::int64_t head = 0;
  std::int32_t kv_heads = 0;
  std::int32_t heads = 0;
};

/// The division of an attention's query heads into head tiles.
struct HeadTiles {
  std::int64_t kv_heads = 0;      ///< number of kv heads
  std::int64_t per_kv = 0;        ///< number of query heads that share a kv head
  std::int64_t together = 0;      ///< largest number of kv heads in a tile
  std::int64_t tiles_per_kv = 0;  ///< tiles for each kv head; 1 if a tile has several kv heads
  std::int64_t heads = 0;         ///< largest number of query heads for each kv head in a tile
  std::int64_t count = 0;         ///< number of tiles

  /// Makes tiles of at most `kv_heads_max` kv heads, and of at most `queries_max` query heads for a
  /// kv head. A `kv_heads_max` above 1 is a bug if the query heads of one kv head do not fit in a
  /// tile.
  HeadTiles(const Attention& a, std::int64_t kv_heads_max, std::int64_t queries_max);
  HeadTile at(std::int64_t tile) const;
};

/// One thread's unit of work: one head tile of a row tile, over one split or all splits.
struct AttentionItem {
  const RowTile* rows = nullptr;
  std::int32_t split = 0;  ///< number of the split, counted from RowTile::first_split
  std::int64_t head_tile = 0;
  HeadTile heads;
};

/// Cuts attention ops into items of similar size, which threads run in any order.
///
/// Rows of a sequence form row tiles, as large as a kernel call allows. Tiles of many keys are cut
/// into splits. Each split gives a state, and the last thread to finish joins the states in order.
/// Results do not depend on how the plan cuts the work.
class AttentionPlan {
 public:
  AttentionPlan() = default;
  /// Reserves memory for steps of up to `rows` rows on `threads` threads. The states of row tiles
  /// that are cut into splits take at most `state_floats` floats.
  AttentionPlan(std::int32_t rows, int threads, std::int64_t state_floats);

  /// Plans the attention `a` over the batch `b`, with at most `queries_max` queries (rows times
  /// query heads) in an item. Allocates no memory.
  void cut(const Batch& b, const Attention& a, int queries_max);

  std::int64_t items() const { return items_; }
  /// Returns item `number`. Items of a sequence have consecutive numbers, since keys and values of
  /// different sequences lie far apart. In a sequence, items of a head tile have consecutive
  /// numbers, so that the next row tile finds keys and values in a cache.
  AttentionItem item(std::int64_t number) const;
  std::span<const RowTile> row_tiles() const { return row_tiles_; }

  /// Returns the number of counters. A row tile with several splits has a counter for each head
  /// tile, from RowTile::counter on. A counter is the number of splits not yet computed.
  std::int64_t counters() const { return counters_; }
  /// Returns an upper limit of counters() for `threads` threads.
  static std::int64_t counters_max(int threads);
  /// Calls visit(counter, splits) for each counter and its number of splits.
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
  /// The tiles and items of one sequence.
  struct SequenceTiles {
    std::int64_t tile = 0;  ///< the row tiles are [tile, end_tile)
    std::int64_t end_tile = 0;
    std::int64_t parts = 0;  ///< number of a head tile's items in all row tiles together
    std::int64_t item = 0;   ///< index of the first item
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
  std::int64_t queries_max_ = 0;
  std::int64_t state_floats_max_ = 0;
  std::vector<RowTile> row_tiles_;
  std::vector<SequenceTiles> sequences_;
  std::int64_t item_work_ = 0;  ///< desired largest work of an item: keys times kv heads
  std::int64_t items_ = 0;
  std::int64_t counters_ = 0;
  std::int64_t state_floats_ = 0;  ///< number of floats that the states of this op take
};

}  // namespace ingot
