// DomainHeap: how many blocks are known of each domain, and who of those that can give one has
// most.
#pragma once

#include <cstdint>
#include <vector>

namespace ingot {

/// Counts for every domain, and a binary heap of some of them: most blocks first, of equals the
/// domain that grew last, so that who asks for more than its share gives it. Nothing allocates
/// after construction; every operation is O(log domains).
class DomainHeap {
 public:
  /// For domains [0, domains), without blocks, and none of them in the heap.
  explicit DomainHeap(std::int32_t domains = 0);

  std::int32_t blocks(std::int32_t domain) const { return entry(domain).blocks; }
  std::int32_t domains() const { return static_cast<std::int32_t>(entries_.size()); }
  /// A domain, in the heap or not, has `change` blocks more.
  void add_blocks(std::int32_t domain, std::int32_t change);

  bool empty() const { return order_.empty(); }
  bool contains(std::int32_t domain) const { return entry(domain).place >= 0; }
  /// The first domain of the heap; an empty one has none, and asking it is a bug.
  std::int32_t top() const;
  /// Puts a domain into the heap that is not in it.
  void insert(std::int32_t domain);
  /// Takes a domain out that is in it.
  void remove(std::int32_t domain);

 private:
  struct Entry {
    std::int32_t blocks = 0;
    std::int32_t place = -1;  ///< in `order_`; -1 = none
    std::uint64_t grew = 0;   ///< when, in `growths_`
  };
  const Entry& entry(std::int32_t domain) const {
    return entries_[static_cast<std::size_t>(domain)];
  }
  Entry& entry(std::int32_t domain) { return entries_[static_cast<std::size_t>(domain)]; }
  bool comes_first(std::int32_t a, std::int32_t b) const;
  void set(std::size_t place, std::int32_t domain);
  void settle(std::size_t place);

  std::vector<Entry> entries_;       ///< by domain
  std::vector<std::int32_t> order_;  ///< domains; parents come before their children
  std::uint64_t growths_ = 0;
};

}  // namespace ingot
