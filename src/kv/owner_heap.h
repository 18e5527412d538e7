// OwnerHeap: how many blocks are known of each owner, and who of those that can give one has
// most.
#pragma once

#include <cstdint>
#include <vector>

namespace ingot {

/// Counts for every owner, and a binary heap of some of them: most blocks first, of equals the
/// owner that grew last, so that who asks for more than its share gives it. Nothing allocates
/// after construction; every operation is O(log owners).
class OwnerHeap {
 public:
  /// For owners [0, owners), without blocks, and none of them in the heap.
  explicit OwnerHeap(std::int32_t owners = 0);

  std::int32_t blocks(std::int32_t owner) const { return entry(owner).blocks; }
  std::int32_t owners() const { return static_cast<std::int32_t>(entries_.size()); }
  /// An owner, in the heap or not, has `change` blocks more.
  void add_blocks(std::int32_t owner, std::int32_t change);

  bool empty() const { return order_.empty(); }
  bool contains(std::int32_t owner) const { return entry(owner).place >= 0; }
  /// The first owner of the heap; an empty one has none, and asking it is a bug.
  std::int32_t top() const;
  /// Puts an owner into the heap that is not in it.
  void insert(std::int32_t owner);
  /// Takes an owner out that is in it.
  void remove(std::int32_t owner);

 private:
  struct Entry {
    std::int32_t blocks = 0;
    std::int32_t place = -1;  ///< in `order_`; -1 = none
    std::uint64_t grew = 0;   ///< when, in `growths_`
  };
  const Entry& entry(std::int32_t owner) const { return entries_[static_cast<std::size_t>(owner)]; }
  Entry& entry(std::int32_t owner) { return entries_[static_cast<std::size_t>(owner)]; }
  bool comes_first(std::int32_t a, std::int32_t b) const;
  void set(std::size_t place, std::int32_t owner);
  void settle(std::size_t place);

  std::vector<Entry> entries_;       ///< by owner
  std::vector<std::int32_t> order_;  ///< owners; parents come before their children
  std::uint64_t growths_ = 0;
};

}  // namespace ingot
