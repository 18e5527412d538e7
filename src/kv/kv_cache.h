// KvCache: pages of keys and values for all layers, in groups, and the blocks that a sequence holds
// in them.
#pragma once

#include <cstdint>
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

/// Device pages of all groups. Each group has its own pool of equally many tokens.
class KvCache {
 public:
  /// Allocates `blocks[g]` blocks for group g. Errors: Error{kDoesNotFit}.
  KvCache(Backend& backend, std::vector<KvGroup> groups, KvType type,
          std::span<const std::int32_t> blocks);

  std::int32_t groups() const { return static_cast<std::int32_t>(groups_.size()); }
  const KvGroup& group(std::int32_t g) const { return groups_[static_cast<std::size_t>(g)]; }
  BlockPool& pool(std::int32_t g) { return pools_[static_cast<std::size_t>(g)]; }
  /// The pages of layer `i`, counted as in kv_groups.
  const KvLayer& layer(std::int64_t i) const { return layers_[static_cast<std::size_t>(i)]; }
  /// All pages of a group, for tests that fill them.
  const Buffer& pages(std::int32_t g) const { return pages_[static_cast<std::size_t>(g)]; }

 private:
  std::vector<KvGroup> groups_;
  std::vector<BlockPool> pools_;
  std::vector<Buffer> pages_;
  std::vector<KvLayer> layers_;
};

/// The blocks of one sequence in every group. Gives them back when it goes. One that was moved from
/// holds none and can reserve none.
class SequenceBlocks {
 public:
  explicit SequenceBlocks(KvCache& cache);
  SequenceBlocks(SequenceBlocks&& other) noexcept;
  SequenceBlocks& operator=(SequenceBlocks&& other) noexcept;
  ~SequenceBlocks();

  /// Makes room for keys [0, tokens); false, with nothing changed, when a pool has too few blocks.
  [[nodiscard]] bool reserve(std::int64_t tokens);
  /// Begins with the blocks of `other`'s keys [0, tokens), which both then hold and neither may
  /// write to.
  ///
  /// Units:  whole blocks; `tokens` is a multiple of kBlockTokens.
  /// Errors: a table that is not empty, or keys that `other` does not have, is a bug.
  void share(const SequenceBlocks& other, std::int64_t tokens);
  /// The most tokens that `reserve` could make room for now.
  std::int64_t reservable() const;
  /// Gives back the blocks of window groups that no row at key `next` or later can see.
  void forget_before(std::int64_t next);
  /// Gives back blocks beyond key `tokens`, of which `can_truncate` has to hold. So tokens that may
  /// be taken back (drafts) are forgotten only once they are accepted.
  void truncate(std::int64_t tokens);
  /// Whether the row at key `tokens` would find all that it sees: window groups have forgotten keys
  /// that a row before the one that `forget_before` was told still saw.
  bool can_truncate(std::int64_t tokens) const;
  /// Blocks held in group g.
  std::int64_t held(std::int32_t g) const;

  /// Blocks of group g that become free when it goes: those that nobody else holds.
  std::int64_t releasable(std::int32_t g) const;
  /// The block table of a group; -1 where a block was given back.
  std::span<const std::int32_t> table(std::int32_t g) const {
    return tables_[static_cast<std::size_t>(g)];
  }
  /// Where key number `key` is written in group g; a block that others share is a bug.
  std::int32_t slot(std::int32_t g, std::int64_t key) const;

 private:
  /// None after a move from here.
  std::int32_t groups() const { return static_cast<std::int32_t>(tables_.size()); }

  KvCache* cache_;
  std::vector<std::vector<std::int32_t>> tables_;
};

}  // namespace ingot
