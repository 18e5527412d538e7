// BlockPool: which blocks of KV memory are in use, and in which order the others are taken.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "kv/owner_heap.h"

namespace ingot {

/// Reference counts over a fixed number of blocks; every operation is O(log owners) at most.
///
/// A block that nobody refers to is free, or evictable: somebody knows what is in it (the prefix
/// index) and may `retain` it back to life. Free blocks are taken first. Then, of the owners that
/// have an evictable block, the one of most known blocks, held or not, gives that which was
/// released longest ago. So nobody takes kept blocks from an owner that has less than an equal
/// share of the pool while an owner that has more could give one.
class BlockPool {
 public:
  static constexpr std::int32_t kNoOwner = -1;
  using EvictListener = std::function<void(std::int32_t block)>;

  explicit BlockPool(std::int32_t blocks);

  /// Known blocks are of owners [0, owners), at first of one. While nothing is known.
  void set_owners(std::int32_t owners);

  std::int32_t total() const { return total_; }
  std::int32_t free() const { return listed_[kFree]; }
  std::int32_t evictable() const { return evictable_; }
  /// Blocks that `allocate` could give.
  std::int32_t available() const { return free() + evictable(); }
  std::int32_t references(std::int32_t block) const { return at(block).references; }
  /// Whose share a block counts against; kNoOwner where nobody knows what is in it.
  std::int32_t owner(std::int32_t block) const { return at(block).owner; }
  bool is_indexed(std::int32_t block) const { return owner(block) != kNoOwner; }
  /// Whether its one holder may write to it: nobody else refers to it or knows what is in it.
  bool is_writable(std::int32_t block) const {
    return references(block) == 1 && !is_indexed(block);
  }

  /// A block with one reference that nobody knows the contents of; nothing when all are in use.
  [[nodiscard]] std::optional<std::int32_t> allocate();
  /// One reference more; an unused block is in use again.
  void retain(std::int32_t block);
  /// One reference less; at none it joins the free or its owner's evictable ones as their
  /// youngest. Below none is a bug.
  void release(std::int32_t block);
  /// Says whose share a block counts against, or with kNoOwner that nobody knows what is in it.
  void set_owner(std::int32_t block, std::int32_t owner);
  /// `listener` is called with an evictable block before `allocate` gives it away, and forgets it.
  /// Returns who was called until now.
  EvictListener on_evict(EvictListener listener) {
    return std::exchange(evicted_, std::move(listener));
  }

  /// Walks all blocks and ends the process when counts and lists disagree: O(blocks), for idle
  /// moments and tests.
  void check() const;

 private:
  /// The list of free blocks; those of the owners' evictable ones follow.
  static constexpr std::int32_t kFree = 0;
  /// A block's place in the circular list that it is on; the last nodes are the lists' heads.
  struct Node {
    std::int32_t references = 0;
    std::int32_t previous = -1;
    std::int32_t next = -1;
    std::int32_t owner = kNoOwner;
  };
  const Node& at(std::int32_t block) const;
  Node& at(std::int32_t block) { return const_cast<Node&>(std::as_const(*this).at(block)); }
  std::int32_t lists() const { return static_cast<std::int32_t>(listed_.size()); }
  std::int32_t head(std::int32_t list) const { return total() + list; }
  static std::int32_t list_of(std::int32_t owner) { return owner + 1; }
  static_assert(kNoOwner + 1 == kFree);
  std::int32_t& listed(std::int32_t list) { return listed_[static_cast<std::size_t>(list)]; }
  void link_last(std::int32_t block);
  void unlink(std::int32_t block);
  std::int32_t check_list(std::int32_t list) const;

  std::int32_t total_ = 0;
  std::int32_t evictable_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> listed_;  ///< blocks on each list
  OwnerHeap givers_;                  ///< known blocks by owner; in it, who has an evictable one
  EvictListener evicted_;
};

}  // namespace ingot
