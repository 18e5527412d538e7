// KvCache: pages of keys and values for all layers, in groups, and the blocks that a sequence holds
// in them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "kv/block_pool.h"

namespace ingot {

/// Layers that share geometry and lifetime, and so one block table a sequence.
struct KvGroup {
  std::vector<std::int32_t> layers;
  /// 0: keys live as long as their sequence. Else a key can be forgotten once every row to come is
  /// this far past it.
  std::int32_t window = 0;
  std::int64_t block_bytes = 0;  ///< of one layer
  std::int32_t kv_heads = 0;     ///< G
  std::int32_t head_dim = 0;     ///< D

  /// Blocks that a sequence of `tokens` holds at most, when steps have up to `rows_max` rows.
  std::int64_t blocks_for(std::int64_t tokens, std::int64_t rows_max) const;
  /// Bytes of one block in all layers of the group.
  std::int64_t bytes_per_block() const { return block_bytes * std::ssize(layers); }
};

/// The groups of a model's layers. Layers without an entry in `attention` (other pipeline stages)
/// are not there.
///
/// Shapes: attention[i] belongs to layer first_layer + i.
std::vector<KvGroup> kv_groups(const Backend& backend, std::span<const Attention> attention,
                               KvType type);

/// A block that begins with the keys and values of another one.
struct BlockCopy {
  std::int32_t group = 0;
  std::int32_t from = 0;
  std::int32_t to = 0;

  bool operator==(const BlockCopy&) const = default;
};

/// Device pages of all groups. Each group has its own pool of equally many tokens.
///
/// Blocks are given back through `release`: while planned steps are under way that may still read
/// them, it waits for the last of those.
class KvCache {
 public:
  /// Allocates `blocks[g]` blocks for group g. Errors: Error{kDoesNotFit}.
  KvCache(Backend& backend, std::vector<KvGroup> groups, KvType type,
          std::span<const std::int32_t> blocks);

  std::int32_t groups() const { return static_cast<std::int32_t>(groups_.size()); }
  const KvGroup& group(std::int32_t g) const { return groups_[static_cast<std::size_t>(g)]; }
  KvType type() const { return type_; }
  BlockPool& pool(std::int32_t g) { return pools_[static_cast<std::size_t>(g)]; }
  const BlockPool& pool(std::int32_t g) const { return pools_[static_cast<std::size_t>(g)]; }
  /// The pages of layer `i`, counted as in kv_groups.
  const KvLayer& layer(std::int64_t i) const { return layers_[static_cast<std::size_t>(i)]; }
  /// All pages of a group, for tests that fill them.
  const Buffer& pages(std::int32_t g) const { return pages_[static_cast<std::size_t>(g)]; }

  /// Has the system find memory for the first blocks of layer `i`, as many as `bytes` of the
  /// group's layers together: blocks are taken in that order, and the first write to a page costs
  /// more than a step has time for. Not while anything is computed.
  void touch(std::int64_t i, std::int64_t bytes);
  /// Layers, counted as in kv_groups.
  std::int64_t layer_count() const { return std::ssize(layers_); }
  /// Copies blocks in all layers of their groups, one after the other.
  void copy(std::span<const BlockCopy> copies);

  /// Bytes of a block of group g outside of the pages: KvRows, one layer after the other.
  std::int64_t row_bytes(std::int32_t g) const;
  /// A block of group g out of the pages, and back into them; between steps.
  void read(std::int32_t g, std::int32_t block, std::span<std::byte> out) const;
  void load(std::int32_t g, std::int32_t block, std::span<const std::byte> in);

  /// One reference less, at once or with the last step that is under way now.
  void release(std::int32_t g, std::int32_t block);
  /// The same, but not before the step that is being planned is done: it copies from the block.
  void release_after_next(std::int32_t g, std::int32_t block);
  /// Planning of a step begins: what a plan that came to nothing would have released is released.
  void begin_plan();
  /// A step was planned: what is released from here on stays until it is done.
  void begin_step() { ++begun_; }
  /// The oldest step under way is done.
  void end_step();
  /// Blocks of group g that will be released when the steps under way are done.
  std::int64_t releasing(std::int32_t g) const;

  /// Makes `reserve` of sequences fail now and then, in tests.
  void refuse_when(std::function<bool()> refuses) { refuses_ = std::move(refuses); }
  bool refuses() const { return refuses_ && refuses_(); }

 private:
  /// A reference that is given up when step number `step` is done.
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

/// The blocks of one sequence in every group. Gives them back, the last ones first, when it goes.
/// One that was moved from holds none and can reserve none.
///
/// Keys [0, filled()) are in the blocks. Those blocks may be shared with other sequences; a row
/// below `filled` can be computed again but is not written again, and the first write past it
/// copies a block that is shared.
class SequenceBlocks {
 public:
  explicit SequenceBlocks(KvCache& cache);
  SequenceBlocks(SequenceBlocks&& other) noexcept;
  SequenceBlocks& operator=(SequenceBlocks&& other) noexcept;
  ~SequenceBlocks();

  /// Makes room for keys [0, tokens), with those from `filled` on in blocks of its own; what has to
  /// be copied for that before the keys are written is added to `copies`. False, with nothing
  /// changed, when a pool has too few blocks or there is no memory for the table.
  [[nodiscard]] bool reserve(std::int64_t tokens, std::vector<BlockCopy>& copies);
  /// The same for a sequence that shares no block that it will write to.
  [[nodiscard]] bool reserve(std::int64_t tokens);
  /// Blocks of group g that `reserve` would take from the pool.
  std::int64_t wanted(std::int32_t g, std::int64_t tokens) const;
  /// The most tokens that `reserve` could make room for now, `withheld[g]` blocks of each group
  /// staying untouched (none where it is empty).
  std::int64_t reservable(std::span<const std::int64_t> withheld = {}) const;

  /// Begins with the blocks of `other`'s keys [0, tokens), all of which it has filled. Both hold
  /// them then.
  ///
  /// Errors: a table that is not empty, or keys that `other` does not have, is a bug.
  void share(const SequenceBlocks& other, std::int64_t tokens);
  /// Begins with `other`'s keys [0, tokens): shares full blocks, and gets a copy of its own of a
  /// part of one, since both go on writing there. False, with nothing changed, when a pool has no
  /// block for that.
  ///
  /// Errors: as of `share`.
  [[nodiscard]] bool fork(const SequenceBlocks& other, std::int64_t tokens,
                          std::vector<BlockCopy>& copies);
  /// Whether `share` finds all that the rows from key `next` on see of keys [0, tokens).
  bool can_share(std::int64_t next, std::int64_t tokens) const;
  /// Begins with blocks that hold its first keys: of each group a table, -1 where no row to come
  /// sees the block.
  void adopt(std::int32_t g, std::span<const std::int32_t> blocks);
  /// Holds `block`, which has the same keys, in place of its own number `index`, or of none there.
  void replace(std::int32_t g, std::int64_t index, std::int32_t block);

  std::int64_t filled() const { return filled_; }
  /// Keys [0, tokens) are in the blocks now.
  void set_filled(std::int64_t tokens) { filled_ = std::max(filled_, tokens); }

  /// Gives back the blocks of window groups that no row at key `next` or later can see.
  void forget_before(std::int64_t next);
  /// Gives back blocks beyond key `tokens`, of which `can_truncate` has to hold. So tokens that may
  /// be taken back (drafts) are forgotten only once they are accepted.
  void truncate(std::int64_t tokens);
  /// Whether the row at key `tokens` would find all that it sees: window groups have forgotten keys
  /// that a row before the one that `forget_before` was told still saw.
  bool can_truncate(std::int64_t tokens) const { return can_share(tokens, tokens); }
  /// Blocks held in group g.
  std::int64_t held(std::int32_t g) const { return tables_[static_cast<std::size_t>(g)].held; }

  /// Blocks of group g that become available when it goes: those that nobody else holds.
  std::int64_t releasable(std::int32_t g) const;
  /// The block table of a group; -1 where a block was given back.
  std::span<const std::int32_t> table(std::int32_t g) const {
    return tables_[static_cast<std::size_t>(g)].blocks;
  }
  /// Where key number `key` is written in group g, -1 when it is there already. A block that others
  /// share is a bug.
  std::int32_t slot(std::int32_t g, std::int64_t key) const;

 private:
  struct Table {
    std::vector<std::int32_t> blocks;  ///< -1 where one was given back
    std::int64_t held = 0;             ///< others
    std::int64_t forgotten = 0;        ///< so many at the front were given back

    void add(std::int32_t block) {
      blocks.push_back(block);
      ++held;
    }
  };
  /// None after a move from here.
  std::int32_t groups() const { return static_cast<std::int32_t>(tables_.size()); }
  bool copies_before_write(std::int32_t g, std::int64_t tokens) const;

  KvCache* cache_;
  std::vector<Table> tables_;
  std::int64_t filled_ = 0;
};

}  // namespace ingot
