// BlockPool: which blocks of KV memory are in use, and in which order free ones are taken.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ingot {

/// Reference counts and a free list over a fixed number of blocks; every operation is O(1).
///
/// Free blocks are taken in the order in which they became free, so that the contents of a free
/// block stay usable for as long as possible: whoever still knows what is in it may `retain` it
/// back to life.
class BlockPool {
 public:
  explicit BlockPool(std::int32_t blocks);

  std::int32_t total() const { return static_cast<std::int32_t>(nodes_.size()) - 1; }
  std::int32_t free() const { return free_; }
  std::int32_t references(std::int32_t block) const;

  /// The least recently freed block, with one reference; nothing when all are in use.
  [[nodiscard]] std::optional<std::int32_t> allocate();
  /// One reference more; a free block leaves the free list.
  void retain(std::int32_t block);
  /// One reference less; at none the block becomes the most recently freed one. Below none is a
  /// bug.
  void release(std::int32_t block);

  /// Walks all blocks and ends the process when counts and list disagree: O(blocks), for idle
  /// moments and tests.
  void check() const;

 private:
  /// A block's place in the circular free list, of which the last node is the head.
  struct Node {
    std::int32_t references = 0;
    std::int32_t previous = -1;
    std::int32_t next = -1;
  };
  Node& at(std::int32_t block);
  void link_last(std::int32_t block);
  void unlink(std::int32_t block);

  std::vector<Node> nodes_;
  std::int32_t free_ = 0;
};

}  // namespace ingot
