// BlockPool: which blocks of KV memory are in use, and in which order the others are taken.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace ingot {

/// Reference counts over a fixed number of blocks; every operation is O(1).
///
/// A block that nobody refers to is free, or evictable: somebody knows what is in it (the prefix
/// index) and may `retain` it back to life. Free blocks are taken first, then the evictable one
/// that was released longest ago.
class BlockPool {
 public:
  explicit BlockPool(std::int32_t blocks);

  std::int32_t total() const { return static_cast<std::int32_t>(nodes_.size()) - kLists; }
  std::int32_t free() const { return counts_[kFree]; }
  std::int32_t evictable() const { return counts_[kEvictable]; }
  /// Blocks that `allocate` could give.
  std::int32_t available() const { return free() + evictable(); }
  std::int32_t references(std::int32_t block) const { return at(block).references; }
  bool is_indexed(std::int32_t block) const { return at(block).indexed; }
  /// Whether its one holder may write to it: nobody else refers to it or knows what is in it.
  bool is_writable(std::int32_t block) const {
    return references(block) == 1 && !is_indexed(block);
  }

  /// A block with one reference that nobody knows the contents of; nothing when all are in use.
  [[nodiscard]] std::optional<std::int32_t> allocate();
  /// One reference more; an unused block is in use again.
  void retain(std::int32_t block);
  /// One reference less; at none it joins the free or the evictable ones as their youngest. Below
  /// none is a bug.
  void release(std::int32_t block);
  /// Says whether somebody knows what is in the block.
  void set_indexed(std::int32_t block, bool indexed);
  /// Called with an evictable block before `allocate` gives it away; it is not indexed any more.
  void on_evict(std::function<void(std::int32_t block)> listener) {
    evicted_ = std::move(listener);
  }

  /// Walks all blocks and ends the process when counts and lists disagree: O(blocks), for idle
  /// moments and tests.
  void check() const;

 private:
  enum List : std::int32_t { kFree, kEvictable, kLists };
  /// A block's place in the circular list that it is on; the last nodes are the lists' heads.
  struct Node {
    std::int32_t references = 0;
    std::int32_t previous = -1;
    std::int32_t next = -1;
    bool indexed = false;
  };
  const Node& at(std::int32_t block) const;
  Node& at(std::int32_t block) { return const_cast<Node&>(std::as_const(*this).at(block)); }
  std::int32_t head(List list) const { return total() + list; }
  static List list_of(const Node& node) { return node.indexed ? kEvictable : kFree; }
  void link_last(std::int32_t block);
  void unlink(std::int32_t block);
  std::int32_t check_list(List list) const;

  std::vector<Node> nodes_;
  std::int32_t counts_[kLists] = {};
  std::function<void(std::int32_t)> evicted_;
};

}  // namespace ingot
