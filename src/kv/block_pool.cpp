// BlockPool: an intrusive, circular, doubly linked free list.
#include "kv/block_pool.h"

#include "base/check.h"

namespace ingot {

BlockPool::BlockPool(std::int32_t blocks) : nodes_(static_cast<std::size_t>(blocks) + 1) {
  nodes_.back().previous = nodes_.back().next = blocks;
  for (std::int32_t b = 0; b < blocks; ++b) link_last(b);
}

BlockPool::Node& BlockPool::at(std::int32_t block) {
  INGOT_CHECK(block >= 0 && block < total(), "block ", block, " of ", total());
  return nodes_[static_cast<std::size_t>(block)];
}

std::int32_t BlockPool::references(std::int32_t block) const {
  return const_cast<BlockPool*>(this)->at(block).references;
}

void BlockPool::link_last(std::int32_t block) {
  Node& head = nodes_.back();
  Node& node = nodes_[static_cast<std::size_t>(block)];
  node.previous = head.previous;
  node.next = total();
  nodes_[static_cast<std::size_t>(head.previous)].next = block;
  head.previous = block;
  ++free_;
}

void BlockPool::unlink(std::int32_t block) {
  const Node& node = nodes_[static_cast<std::size_t>(block)];
  nodes_[static_cast<std::size_t>(node.previous)].next = node.next;
  nodes_[static_cast<std::size_t>(node.next)].previous = node.previous;
  --free_;
}

std::optional<std::int32_t> BlockPool::allocate() {
  if (free_ == 0) return std::nullopt;
  const std::int32_t block = nodes_.back().next;
  retain(block);
  return block;
}

void BlockPool::retain(std::int32_t block) {
  if (at(block).references++ == 0) unlink(block);
}

void BlockPool::release(std::int32_t block) {
  Node& node = at(block);
  INGOT_CHECK(node.references > 0, "block ", block, " is free already");
  if (--node.references == 0) link_last(block);
}

void BlockPool::check() const {
  std::int32_t listed = 0;
  for (std::int32_t b = nodes_.back().next; b != total(); ++listed) {
    const Node& node = nodes_[static_cast<std::size_t>(b)];
    INGOT_CHECK(node.references == 0 && listed < free_, "block ", b, " is listed as free with ",
                node.references, " references");
    b = node.next;
  }
  std::int32_t unused = 0;
  for (std::int32_t b = 0; b < total(); ++b) unused += references(b) == 0 ? 1 : 0;
  INGOT_CHECK(listed == free_ && unused == free_, listed, " listed, ", unused, " unused, ", free_,
              " counted");
}

}  // namespace ingot
