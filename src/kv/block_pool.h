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

/// Counts the references to a fixed number of blocks. Each operation is O(log owners).
///
/// A block without references is evictable if the prefix index knows its contents, otherwise free.
/// `allocate` takes free blocks first. If no block is free, it evicts a block: among the owners
/// with an evictable block, it picks the owner with the most cached blocks, held blocks included.
/// It evicts this owner's least recently released block. So an owner with less than an equal share
/// of the pool loses no block while an owner with a larger share has an evictable block.
class BlockPool {
 public:
  static constexpr std::int32_t kNoOwner = -1;
  using EvictListener = std::function<void(std::int32_t block)>;

  explicit BlockPool(std::int32_t blocks);

  /// Sets the number of owners; a new pool has 1 owner. Call it only while no block is cached.
  void set_owners(std::int32_t owners);

  std::int32_t total() const { return total_; }
  std::int32_t free() const { return listed_[kFree]; }
  std::int32_t evictable() const { return evictable_; }
  /// Returns the number of blocks that `allocate` can hand out: free and evictable blocks.
  std::int32_t available() const { return free() + evictable(); }
  /// Returns the number of cached blocks, held or evictable.
  std::int32_t cached() const { return cached_; }
  /// Returns the number of blocks evicted so far.
  std::int64_t evictions() const { return evictions_; }
  /// Returns the number of references to all blocks together.
  std::int64_t references() const { return references_; }
  std::int32_t references(std::int32_t block) const { return node_at(block).references; }
  /// Returns the owner of a cached block; kNoOwner if the block is not cached.
  std::int32_t owner(std::int32_t block) const { return node_at(block).owner; }
  bool is_indexed(std::int32_t block) const { return owner(block) != kNoOwner; }
  /// Returns whether a block's holder may write to it: the block has one reference and no owner.
  bool is_writable(std::int32_t block) const {
    return references(block) == 1 && !is_indexed(block);
  }

  /// Returns the number of blocks that only idle sequences hold: each reference is marked as idle.
  std::int32_t idle() const { return idle_; }
  bool is_idle(std::int32_t block) const { return node_at(block).is_idle(); }
  /// Marks a reference to a block as the reference of an idle sequence, or removes such a mark. A
  /// block has at most as many marks as references.
  void mark_idle(std::int32_t block);
  void unmark_idle(std::int32_t block);

  /// Takes a block and gives it one reference and no owner. Returns nullopt if all blocks are held.
  [[nodiscard]] std::optional<std::int32_t> allocate();
  /// Adds a reference to a block, which may be free or evictable.
  void retain(std::int32_t block);
  /// Drops a reference. After the last reference, appends the block to the free list or to its
  /// owner's list of evictable blocks. It is a bug to release a block without references.
  void release(std::int32_t block);
  /// Makes `owner` the owner of a cached block. If `owner` is kNoOwner, the block is not cached.
  void set_owner(std::int32_t block, std::int32_t owner);
  /// Sets the function that `allocate` calls with each block that it evicts; the function must
  /// forget the block's contents. Returns the previous function.
  EvictListener on_evict(EvictListener listener) {
    return std::exchange(evicted_, std::move(listener));
  }

  /// Ends the process if counts and lists disagree. Slow, because it walks all blocks.
  void check() const;

 private:
  /// Index of the list of free blocks. The owners' lists of evictable blocks come after this list.
  static constexpr std::int32_t kFree = 0;
  /// A block's state and its links in a circular list. The last entries of `nodes_` are list heads.
  struct Node {
    std::int32_t references = 0;
    std::int32_t idle_references = 0;
    std::int32_t previous = -1;
    std::int32_t next = -1;
    std::int32_t owner = kNoOwner;

    bool is_idle() const { return idle_references > 0 && idle_references == references; }
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
  void add_references(Node& node, std::int32_t references, std::int32_t idle);
  void link_last(std::int32_t block);
  void unlink(std::int32_t block);
  std::int32_t check_list(std::int32_t list) const;

  std::int32_t total_ = 0;
  std::int32_t evictable_ = 0;
  std::int32_t cached_ = 0;
  std::int32_t idle_ = 0;
  std::int64_t references_ = 0;
  std::int64_t evictions_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> listed_;  ///< number of blocks on each list
  OwnerHeap givers_;  ///< counts cached blocks; the heap has the owners with an evictable block
  EvictListener evicted_;
};

}  // namespace ingot
