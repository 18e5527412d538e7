// BlockPool: references to the blocks of one KV group, and the order of allocation and eviction.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/index.h"
#include "kv/owner_heap.h"

namespace ingot {

/// Reference counts for a fixed number of blocks. Each operation is O(log owners).
///
/// A block without references is free, or evictable if the prefix index knows its contents;
/// `retain` holds it again. `allocate` takes free blocks first. Then it evicts the least recently
/// released block of the owner with the most cached blocks, held or not, among owners with an
/// evictable block. So an owner below an equal share of the pool loses no block while an owner
/// above its share has one to give.
class BlockPool {
 public:
  static constexpr std::int32_t kNoOwner = -1;
  using EvictListener = std::function<void(std::int32_t block)>;

  explicit BlockPool(std::int32_t blocks);

  /// Sets the number of owners, at first 1. Only while no block is cached.
  void set_owners(std::int32_t owners);

  std::int32_t total() const { return total_; }
  std::int32_t free() const { return listed_[kFree]; }
  std::int32_t evictable() const { return evictable_; }
  /// Blocks that `allocate` could give.
  std::int32_t available() const { return free() + evictable(); }
  std::int32_t references(std::int32_t block) const { return node_at(block).references; }
  /// The owner that a cached block counts against; kNoOwner for other blocks.
  std::int32_t owner(std::int32_t block) const { return node_at(block).owner; }
  bool is_indexed(std::int32_t block) const { return owner(block) != kNoOwner; }
  /// Whether its holder may write to it: it has one reference and is not cached.
  bool is_writable(std::int32_t block) const {
    return references(block) == 1 && !is_indexed(block);
  }

  /// Takes a block, with one reference and without owner; nothing when all blocks are held.
  [[nodiscard]] std::optional<std::int32_t> allocate();
  /// Adds a reference. A free or evictable block is held again.
  void retain(std::int32_t block);
  /// Drops a reference. Without references the block becomes the last of the free blocks or of its
  /// owner's evictable ones. A block that is not held is a bug.
  void release(std::int32_t block);
  /// Makes a block cached, counted against `owner`; with kNoOwner it is no longer cached.
  void set_owner(std::int32_t block, std::int32_t owner);
  /// Calls `listener` with each block that `allocate` evicts; it must forget the block. Returns the
  /// previous listener.
  EvictListener on_evict(EvictListener listener) {
    return std::exchange(evicted_, std::move(listener));
  }

  /// Walks all blocks and ends the process when counts and lists disagree: O(blocks), for idle
  /// moments and tests.
  void check() const;

 private:
  /// The list of free blocks. The owners' lists of evictable blocks follow.
  static constexpr std::int32_t kFree = 0;
  /// A block's links in its circular list. The last nodes are the heads of the lists.
  struct Node {
    std::int32_t references = 0;
    std::int32_t previous = -1;
    std::int32_t next = -1;
    std::int32_t owner = kNoOwner;
  };
  const Node& node_at(std::int32_t block) const;
  Node& node_at(std::int32_t block) {
    return const_cast<Node&>(std::as_const(*this).node_at(block));
  }
  std::int32_t lists() const { return static_cast<std::int32_t>(listed_.size()); }
  std::int32_t head(std::int32_t list) const { return total() + list; }
  static std::int32_t list_of(std::int32_t owner) { return owner + 1; }
  static_assert(kNoOwner + 1 == kFree);
  std::int32_t& listed(std::int32_t list) { return at(listed_, list); }
  void link_last(std::int32_t block);
  void unlink(std::int32_t block);
  std::int32_t check_list(std::int32_t list) const;

  std::int32_t total_ = 0;
  std::int32_t evictable_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> listed_;  ///< blocks on each list
  OwnerHeap givers_;  ///< cached blocks by owner; holds owners with an evictable one
  EvictListener evicted_;
};

}  // namespace ingot
