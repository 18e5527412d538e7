// OwnerHeap: counts the cached blocks of each owner, and finds the owner that must give one.
#pragma once

#include <cstdint>
#include <vector>

#include "base/index.h"

namespace ingot {

/// Counts for every owner, and a binary heap of some owners: most blocks first, then the owner that
/// grew last, so that an owner that asks for more than its share gives a block itself. Nothing
/// allocates after construction; each operation is O(log owners).
class OwnerHeap {
 public:
  /// Owners [0, owners), without blocks, none of them in the heap.
  explicit OwnerHeap(std::int32_t owners = 0);

  std::int32_t blocks(std::int32_t owner) const { return entry(owner).blocks; }
  std::int32_t owners() const { return static_cast<std::int32_t>(entries_.size()); }
  /// Adds `change` blocks to an owner, in the heap or not.
  void add_blocks(std::int32_t owner, std::int32_t change);

  bool empty() const { return order_.empty(); }
  bool contains(std::int32_t owner) const { return entry(owner).place >= 0; }
  /// The first owner of the heap; an empty heap is a bug.
  std::int32_t top() const;
  /// Puts an owner into the heap. One that is in it is a bug.
  void insert(std::int32_t owner);
  /// Takes an owner out of the heap. One that is not in it is a bug.
  void remove(std::int32_t owner);

 private:
  struct Entry {
    std::int32_t blocks = 0;
    std::int32_t place = -1;  ///< index in `order_`; -1: not in the heap
    std::uint64_t grew = 0;   ///< value of `growths_` when it grew last
  };
  const Entry& entry(std::int32_t owner) const { return at(entries_, owner); }
  Entry& entry(std::int32_t owner) { return at(entries_, owner); }
  bool comes_first(std::int32_t a, std::int32_t b) const;
  void set(std::size_t place, std::int32_t owner);
  void settle(std::size_t place);

  std::vector<Entry> entries_;       ///< by owner
  std::vector<std::int32_t> order_;  ///< the heap: owners, parents before their children
  std::uint64_t growths_ = 0;
};

}  // namespace ingot
