// KvCache and SequenceBlocks: pages of keys and values for all layers, and a sequence's block
// tables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/index.h"
#include "kv/block_pool.h"

namespace ingot {

/// Layers of equal geometry and window. A sequence has one block table for all of them.
struct KvGroup {
  std::vector<std::int32_t> layers;
  /// Keys that a row sees, itself included; 0: all. Blocks of keys that no later row sees are
  /// released.
  std::int32_t window = 0;
  std::int64_t block_bytes = 0;  ///< bytes of a block in one layer
  std::int32_t kv_heads = 0;     ///< G
  std::int32_t head_dim = 0;     ///< D

  /// The most blocks that a sequence of `tokens` holds, with steps of up to `rows_max` rows.
  std::int64_t blocks_for(std::int64_t tokens, std::int64_t rows_max) const;
  /// Bytes of a block in all layers of the group.
  std::int64_t bytes_per_block() const { return block_bytes * std::ssize(layers); }
};

/// The KV groups of a stage's layers.
///
/// Shapes: attention[i] belongs to layer first_layer + i.
std::vector<KvGroup> kv_groups(const Backend& backend, std::span<const Attention> attention,
                               KvType type);

/// Copies the keys and values of block `from` to block `to`.
struct BlockCopy {
  std::int32_t group = 0;
  std::int32_t from = 0;
  std::int32_t to = 0;

  bool operator==(const BlockCopy&) const = default;
};

/// The device's pages for all KV groups, and a pool of blocks for each group.
///
/// Blocks are released through `release`, which waits for the last planned step that may read them.
class KvCache {
 public:
  /// Allocates `blocks[g]` blocks for group g. Errors: Error{kDoesNotFit}.
  KvCache(Backend& backend, std::vector<KvGroup> groups, KvType type,
          std::span<const std::int32_t> blocks);

  std::int32_t groups() const { return static_cast<std::int32_t>(groups_.size()); }
  const KvGroup& group(std::int32_t g) const { return at(groups_, g); }
  KvType type() const { return type_; }
  BlockPool& pool(std::int32_t g) { return at(pools_, g); }
  const BlockPool& pool(std::int32_t g) const { return at(pools_, g); }
  /// The pages of layer `i`, an index as in kv_groups.
  const KvLayer& layer(std::int64_t i) const { return at(layers_, i); }
  /// All pages of a group, for tests.
  const Buffer& pages(std::int32_t g) const { return at(pages_, g); }

  /// Writes to the memory pages of layer `i` that belong to the group's first blocks: `bytes` of
  /// all its layers together. Blocks are allocated in that order, and the first write to a memory
  /// page is too slow for a step. Not while a step runs.
  void touch(std::int64_t i, std::int64_t bytes);
  /// Layers of this stage, as in kv_groups.
  std::int64_t layer_count() const { return std::ssize(layers_); }
  /// Copies blocks in all layers of their groups, in the order of `copies`.
  void copy(std::span<const BlockCopy> copies);

  /// Bytes of a block of group g as `read` gives it: KvRows, one layer after the other.
  std::int64_t row_bytes(std::int32_t g) const;
  /// Copies a block of group g out of the pages, and back into them. Only between steps.
  void read(std::int32_t g, std::int32_t block, std::span<std::byte> out) const;
  void load(std::int32_t g, std::int32_t block, std::span<const std::byte> in);

  /// Drops a reference: at once, or at the end of the last step that is under way now.
  void release(std::int32_t g, std::int32_t block);
  /// Drops a reference at the end of the step that is being planned, which copies from the block.
  void release_after_next(std::int32_t g, std::int32_t block);
  /// Begins to plan a step. Blocks that an abandoned plan was to release are released.
  void begin_plan();
  /// Ends the planning of a step. Blocks released from now on stay until that step is done.
  void begin_step() { ++begun_; }
  /// Ends the oldest step under way.
  void end_step();
  /// Blocks of group g whose release waits for steps under way.
  std::int64_t releasing(std::int32_t g) const;

  /// For tests: `reserve` of a sequence fails whenever `refuses` returns true.
  void refuse_when(std::function<bool()> refuses) { refuses_ = std::move(refuses); }
  bool refuses() const { return refuses_ && refuses_(); }

 private:
  /// A reference that is dropped when step number `step` is done.
  struct Release {
    std::int64_t step = 0;
    std::int32_t group = 0;
    std::int32_t block = 0;
  };
  void release_until(std::int64_t step);

  Backend* backend_;
  KvType type_;
  std::vector<KvGroup> groups_;
  std::vector<BlockPool> pools_;
  std::vector<Buffer> pages_;
  std::vector<KvLayer> layers_;
  std::int64_t begun_ = 0;  ///< steps planned so far
  std::int64_t done_ = 0;
  std::vector<Release> releases_;
  std::function<bool()> refuses_;
};

/// The blocks of one sequence in every KV group. The destructor releases them, the last ones first.
/// A moved-from object holds no blocks and can reserve none.
///
/// Keys [0, filled()) are in the blocks, which other sequences may share. A row below `filled` can
/// be computed again, but its key is not written again. The first write at `filled` or later copies
/// a shared block.
class SequenceBlocks {
 public:
  explicit SequenceBlocks(KvCache& cache);
  SequenceBlocks(SequenceBlocks&& other) noexcept;
  SequenceBlocks& operator=(SequenceBlocks&& other) noexcept;
  ~SequenceBlocks();

  /// Reserves blocks for keys [0, tokens); keys from `filled` on are in blocks that no sequence
  /// shares. Appends to `copies` the blocks to copy before keys are written. False, with nothing
  /// changed, when a pool has too few blocks or there is no memory for the table.
  [[nodiscard]] bool reserve(std::int64_t tokens, std::vector<BlockCopy>& copies);
  /// As above, for a sequence that shares no block that it will write to.
  [[nodiscard]] bool reserve(std::int64_t tokens);
  /// Blocks of group g that `reserve` would take from the pool.
  std::int64_t wanted(std::int32_t g, std::int64_t tokens) const;
  /// The most tokens that `reserve` could take now if `withheld[g]` blocks of each group must stay
  /// (empty: none).
  std::int64_t reservable(std::span<const std::int64_t> withheld = {}) const;

  /// Begins with the blocks of `other`'s keys [0, tokens). Both hold them afterwards.
  ///
  /// Errors: a table that is not empty, or keys that `other` has not filled, are a bug.
  void share(const SequenceBlocks& other, std::int64_t tokens);
  /// Begins with `other`'s keys [0, tokens): shares the full blocks and copies the partly filled
  /// one, since both sequences write there next. False, with nothing changed, when a pool has no
  /// block for the copy.
  ///
  /// Errors: those of `share`.
  [[nodiscard]] bool fork(const SequenceBlocks& other, std::int64_t tokens,
                          std::vector<BlockCopy>& copies);
  /// Whether the blocks hold all keys of [0, tokens) that rows from key `next` on see.
  bool can_share(std::int64_t next, std::int64_t tokens) const;
  /// Begins the table of group g with blocks that hold its first keys; -1 where no later row sees
  /// the block.
  void adopt(std::int32_t g, std::span<const std::int32_t> blocks);
  /// Replaces block `index` of the table by `block`, which has the same keys. -1 may be replaced
  /// too.
  void replace(std::int32_t g, std::int64_t index, std::int32_t block);

  std::int64_t filled() const { return filled_; }
  /// Says that keys [0, tokens) are in the blocks now.
  void set_filled(std::int64_t tokens) { filled_ = std::max(filled_, tokens); }

  /// Releases the blocks of window groups that no row at key `next` or later sees.
  void forget_before(std::int64_t next);
  /// Releases the blocks behind key `tokens`; `can_truncate(tokens)` must hold. So `forget_before`
  /// is called for drafts only once they are accepted.
  void truncate(std::int64_t tokens);
  /// Whether the blocks still hold all keys that the row at key `tokens` sees. Window groups lose
  /// keys by `forget_before`.
  bool can_truncate(std::int64_t tokens) const { return can_share(tokens, tokens); }
  /// Blocks held in group g.
  std::int64_t held(std::int32_t g) const { return at(tables_, g).held; }

  /// Blocks of group g that no other sequence holds: they become available with its end.
  std::int64_t releasable(std::int32_t g) const;
  /// The block table of a group; -1 where a block was released.
  std::span<const std::int32_t> table(std::int32_t g) const { return at(tables_, g).blocks; }
  /// The slot for key number `key` in group g; -1 if the key is written already. A shared block is
  /// a bug.
  std::int32_t slot(std::int32_t g, std::int64_t key) const;

 private:
  struct Table {
    std::vector<std::int32_t> blocks;  ///< -1 where a block was released
    std::int64_t held = 0;             ///< blocks that are not -1
    std::int64_t forgotten = 0;        ///< blocks at the front that were released

    void add(std::int32_t block) {
      blocks.push_back(block);
      ++held;
    }
  };
  /// KV groups; 0 for a moved-from object.
  std::int32_t groups() const { return static_cast<std::int32_t>(tables_.size()); }
  bool copies_before_write(std::int32_t g, std::int64_t tokens) const;

  KvCache* cache_;
  std::vector<Table> tables_;
  std::int64_t filled_ = 0;
};

}  // namespace ingot
