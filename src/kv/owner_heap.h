// OwnerHeap: counts each owner's cached blocks, and finds the owner whose block is evicted next.
#pragma once

#include <cstdint>
#include <vector>

#include "base/index.h"

namespace ingot {

/// Counts the blocks of all owners, and keeps some owners in a binary heap. At the top is the owner
/// with the most blocks; among equal owners, the one that grew last. So an owner that grows beyond
/// its share loses a block. Only the constructor allocates memory. Operations are O(log owners).
class OwnerHeap {
 public:
  /// Starts each owner with 0 blocks and outside the heap. Owners are numbered from 0.
  explicit OwnerHeap(std::int32_t owners = 0);

  std::int32_t blocks(std::int32_t owner) const { return entry(owner).blocks; }
  std::int32_t owners() const { return static_cast<std::int32_t>(entries_.size()); }
  /// Adds `change` to an owner's number of blocks. The owner may be outside the heap.
  void add_blocks(std::int32_t owner, std::int32_t change);

  bool empty() const { return order_.empty(); }
  bool contains(std::int32_t owner) const { return entry(owner).place >= 0; }
  /// Returns the owner at the top of the heap. It is a bug if the heap is empty.
  std::int32_t top() const;
  /// Puts an owner into the heap. It is a bug if the heap contains the owner already.
  void insert(std::int32_t owner);
  /// Takes an owner out of the heap. It is a bug if the heap does not contain the owner.
  void remove(std::int32_t owner);

 private:
  struct Entry {
    std::int32_t blocks = 0;
    std::int32_t place = -1;  ///< index in `order_`; -1: not in the heap
    std::uint64_t grew = 0;   ///< value of `growths_` when `blocks` last grew
  };
  const Entry& entry(std::int32_t owner) const { return at(entries_, owner); }
  Entry& entry(std::int32_t owner) { return at(entries_, owner); }
  bool comes_first(std::int32_t a, std::int32_t b) const;
  void set(std::size_t place, std::int32_t owner);
  void settle(std::size_t place);

  std::vector<Entry> entries_;       ///< the entry of each owner
  std::vector<std::int32_t> order_;  ///< owners in heap order: parents before their children
  std::uint64_t growths_ = 0;
};

}  // namespace ingot
