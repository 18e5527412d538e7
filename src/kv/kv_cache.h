// KvCache and SequenceBlocks: the memory of keys and values, and a sequence's block tables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "base/index.h"
#include "kv/block_pool.h"

namespace ingot {

/// How a layer uses keys and values: the shape of its attention, and the layer that writes them.
struct KvUse {
  Attention attention;
  std::int32_t source = -1;  ///< layer whose keys and values this layer reads; -1: its own
};

/// A layer without keys and values of its own.
struct KvReader {
  std::int32_t layer = 0;
  std::int32_t source = 0;  ///< layer whose keys and values it reads
};

/// Layers whose keys and values have equal shapes and windows. They share a sequence's block table.
struct KvGroup {
  std::vector<std::int32_t> layers;  ///< layers with keys and values of their own
  std::vector<KvReader> readers{};   ///< layers that read those of `layers`
  /// Number of latest keys that a row sees, including the row's own key; 0: all keys. A sequence
  /// releases a block once no later row sees its keys.
  std::int32_t window = 0;
  std::int64_t block_bytes = 0;  ///< bytes of a block in one layer
  Attention shape{};             ///< sizes of the keys and values; other fields are not set

  /// Returns the limit on a sequence's blocks for `tokens` tokens. `rows_max`: most rows of a step.
  std::int64_t blocks_for(std::int64_t tokens, std::int64_t rows_max) const;
  /// Returns the bytes of a block in all layers of the group.
  std::int64_t bytes_per_block() const { return block_bytes * std::ssize(layers); }
};

/// Groups a stage's layers into KV groups.
///
/// Shapes: `uses[i]` describes the stage's layer i. `KvGroup::layers` holds these indices i. A
/// source is an earlier layer of the stage; any other is a bug.
std::vector<KvGroup> kv_groups(const Backend& backend, std::span<const KvUse> uses, KvType type);

/// A pending copy: the keys and values of block `from` go to block `to`.
struct BlockCopy {
  std::int32_t group = 0;
  std::int32_t from = 0;
  std::int32_t to = 0;

  bool operator==(const BlockCopy&) const = default;
};

/// The memory of keys and values on the device, and a block pool for each KV group.
///
/// `release` returns a block to its pool only after the last planned step that may read this block.
class KvCache {
 public:
  /// Allocates `blocks[g]` blocks for group g. Errors: Error{kDoesNotFit}.
  KvCache(Backend& backend, std::vector<KvGroup> groups, KvType type,
          std::span<const std::int32_t> blocks);

  std::int32_t groups() const { return static_cast<std::int32_t>(groups_.size()); }
  const KvGroup& group(std::int32_t g) const { return at(groups_, g); }
  KvType type() const { return type_; }
  /// Returns the name of the order in which keys and values are computed: Backend::numerics.
  std::string_view numerics() const { return backend_->numerics(); }
  BlockPool& pool(std::int32_t g) { return at(pools_, g); }
  const BlockPool& pool(std::int32_t g) const { return at(pools_, g); }
  /// Returns the memory of layer `i` of this stage; the stage's first layer is layer 0.
  const KvLayer& layer(std::int64_t i) const {
    const Place& place = at(places_, i);
    return at(at(layers_, place.group), place.index);
  }
  /// Returns the memory of all layers of a group. For tests.
  const Buffer& pages(std::int32_t g) const { return at(pages_, g); }

  /// Writes to the first blocks of layer `i`, which the pool hands out first. The first write to a
  /// memory page is slow, and steps should not wait for it. `bytes`: size of these blocks, summed
  /// over all layers of the KV group. Do not call `touch` while a step is under way. Does nothing
  /// if the host cannot write to the device's memory, or if the layer has no pages of its own.
  void touch(std::int64_t i, std::int64_t bytes);
  /// Returns the number of layers of this stage.
  std::int64_t layer_count() const { return std::ssize(places_); }
  /// Copies blocks in the order of `copies`, each block in all layers of its group.
  void copy(std::span<const BlockCopy> copies);

  /// Returns the bytes that `read` writes for a block of group g: KvRows, layer after layer.
  std::int64_t row_bytes(std::int32_t g) const;
  /// `read` copies a block of group g to the host, `load` copies it back, after the steps that were
  /// begun. Errors: those of Backend::read.
  void read(std::int32_t g, std::int32_t block, std::span<std::byte> out) const;
  void load(std::int32_t g, std::int32_t block, std::span<const std::byte> in);

  /// Drops a reference to a block after all steps now under way have ended.
  void release(std::int32_t g, std::int32_t block);
  /// Drops a reference to a block after the step being planned has run. That step copies the block.
  void release_after_next(std::int32_t g, std::int32_t block);
  /// Begins to plan a step. If no step is under way, also drops references of an abandoned plan.
  void begin_plan();
  /// Marks the planned step as under way. A later `release` waits until this step has ended.
  void begin_step() { ++begun_; }
  /// Ends the oldest step under way.
  void end_step();
  /// Returns the number of blocks of group g whose release waits for a step to end.
  std::int64_t releasing(std::int32_t g) const;

  /// For tests: makes SequenceBlocks::reserve fail whenever `refuses` returns true.
  void refuse_when(std::function<bool()> refuses) { refuses_ = std::move(refuses); }
  bool refuses() const { return refuses_ && refuses_(); }

 private:
  /// A block, and the number of the step after which KvCache drops a reference to the block.
  struct Release {
    std::int64_t step = 0;
    std::int32_t group = 0;
    std::int32_t block = 0;
  };
  void release_until(std::int64_t step);
  /// A layer's group, and the layer's index in this group.
  struct Place {
    std::int32_t group = 0;
    std::int32_t index = 0;
    bool reads_only = false;  ///< whether the keys and values belong to another layer
  };

  Backend* backend_;
  KvType type_;
  std::vector<KvGroup> groups_;
  std::vector<BlockPool> pools_;
  std::vector<Buffer> pages_;
  std::vector<std::vector<KvLayer>> layers_;  ///< [groups][layers of the group]
  std::vector<Place> places_;                 ///< place of each layer
  std::int64_t begun_ = 0;                    ///< number of steps planned so far
  std::int64_t done_ = 0;                     ///< number of steps ended so far
  std::vector<Release> releases_;
  std::function<bool()> refuses_;
};

/// The blocks of one sequence in every KV group. The destructor releases them, last block first.
/// A moved-from object holds no blocks and can reserve none.
///
/// The blocks contain keys [0, filled()). Other sequences may share these blocks. A row below
/// `filled()` can be computed again, but its key is not written again. If the block of key
/// `filled()` is shared, `reserve` replaces it with a copy before the next key is written.
class SequenceBlocks {
 public:
  explicit SequenceBlocks(KvCache& cache);
  SequenceBlocks(SequenceBlocks&& other) noexcept;
  SequenceBlocks& operator=(SequenceBlocks&& other) noexcept;
  ~SequenceBlocks();

  /// Reserves blocks for keys [0, tokens). Only this sequence then holds keys >= `filled()`.
  /// Appends to `copies` the block copies to make before keys are written. Returns false and
  /// changes nothing if a pool has too few blocks or the host has no memory for the tables.
  [[nodiscard]] bool reserve(std::int64_t tokens, std::vector<BlockCopy>& copies);
  /// Reserves blocks like the other `reserve`. It is a bug to call it if a block must be copied.
  [[nodiscard]] bool reserve(std::int64_t tokens);
  /// Returns the number of blocks of group g that `reserve(tokens)` would take from the pool.
  std::int64_t wanted(std::int32_t g, std::int64_t tokens) const;
  /// Returns the most tokens for which `reserve` succeeds now. `withheld[g]` blocks must remain in
  /// the pool of each group g; if `withheld` is empty, no blocks must remain.
  std::int64_t reservable(std::span<const std::int64_t> withheld = {}) const;

  /// Fills the tables, which must be empty, with the blocks that hold `other`'s keys [0, tokens).
  /// Both sequences then hold a reference to each of these blocks.
  /// Errors: a table that is not empty, or more tokens than `other.filled()`, is a bug.
  void share(const SequenceBlocks& other, std::int64_t tokens);
  /// Fills the tables, which must be empty, with `other`'s keys [0, tokens). Shares full blocks and
  /// copies the partly filled block, because both sequences will write to it. Returns false and
  /// changes nothing if a pool has no block for the copy.
  ///
  /// Errors: those of `share`.
  [[nodiscard]] bool fork(const SequenceBlocks& other, std::int64_t tokens,
                          std::vector<BlockCopy>& copies);
  /// Returns whether the blocks have all keys below `tokens` that row `next` and later rows see.
  bool can_share(std::int64_t next, std::int64_t tokens) const;
  /// Fills the table of group g, which must be empty, with `blocks`: the blocks of the sequence's
  /// first keys. -1 stands for a block that no later row sees.
  void adopt(std::int32_t g, std::span<const std::int32_t> blocks);
  /// Replaces entry `index` of group g's table (a block or -1) by `block`, which must contain the
  /// keys of the same tokens.
  void replace(std::int32_t g, std::int64_t index, std::int32_t block);

  std::int64_t filled() const { return filled_; }
  /// Records that the blocks contain keys [0, tokens) now.
  void set_filled(std::int64_t tokens) { filled_ = std::max(filled_, tokens); }

  /// In groups with a window, releases the blocks that neither row `next` nor a later row sees.
  void forget_before(std::int64_t next);
  /// Drops all keys except [0, tokens) and releases their blocks. Requires `can_truncate(tokens)`,
  /// so do not call `forget_before` for rows of drafts that may be rejected.
  void truncate(std::int64_t tokens);
  /// Sets whether the sequence is idle: its blocks then count in BlockPool::idle if no other
  /// sequence holds them. It is a bug if an idle sequence reserves or adopts blocks.
  void set_idle(bool idle);
  bool is_idle() const { return is_idle_; }
  /// Returns whether the blocks still contain all keys that row `tokens` sees. In groups with a
  /// window, `forget_before` removes keys.
  bool can_truncate(std::int64_t tokens) const { return can_share(tokens, tokens); }
  /// Returns the number of blocks that the sequence holds in group g.
  std::int64_t held(std::int32_t g) const { return at(tables_, g).held; }
  /// Returns the block table of group g. An entry is -1 if its block was released.
  std::span<const std::int32_t> table(std::int32_t g) const { return at(tables_, g).blocks; }
  /// Returns the slot of group g to which a step must write the key of row `key`; -1 if the key is
  /// already written. It is a bug if the slot's block is shared.
  std::int32_t slot(std::int32_t g, std::int64_t key) const;

 private:
  struct Table {
    std::vector<std::int32_t> blocks;  ///< the table; -1: the block was released
    std::int64_t held = 0;             ///< number of entries that are not -1
    std::int64_t forgotten = 0;        ///< number of leading entries handled by `forget_before`

    void add(std::int32_t block) {
      blocks.push_back(block);
      ++held;
    }
  };
  /// Returns the number of KV groups; 0 for a moved-from object.
  std::int32_t groups() const { return static_cast<std::int32_t>(tables_.size()); }
  bool copies_before_write(std::int32_t g, std::int64_t tokens) const;
  void drop(std::int32_t g, std::int32_t block);

  KvCache* cache_;
  std::vector<Table> tables_;
  std::int64_t filled_ = 0;
  bool is_idle_ = false;
};

}  // namespace ingot
