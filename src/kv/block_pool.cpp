// BlockPool: two intrusive, circular, doubly linked lists.
#include "kv/block_pool.h"

#include "base/check.h"
#include "base/mutant.h"

namespace ingot {

BlockPool::BlockPool(std::int32_t blocks) : nodes_(static_cast<std::size_t>(blocks + kLists)) {
  for (const List list : {kFree, kEvictable}) {
    Node& node = nodes_[static_cast<std::size_t>(head(list))];
    node.previous = node.next = head(list);
  }
  for (std::int32_t b = 0; b < blocks; ++b) link_last(b);
}

const BlockPool::Node& BlockPool::at(std::int32_t block) const {
  INGOT_CHECK(block >= 0 && block < total(), "block ", block, " of ", total());
  return nodes_[static_cast<std::size_t>(block)];
}

void BlockPool::link_last(std::int32_t block) {
  Node& node = nodes_[static_cast<std::size_t>(block)];
  const List list = list_of(node);
  Node& head_node = nodes_[static_cast<std::size_t>(head(list))];
  node.previous = head_node.previous;
  node.next = head(list);
  nodes_[static_cast<std::size_t>(head_node.previous)].next = block;
  head_node.previous = block;
  ++counts_[list];
}

void BlockPool::unlink(std::int32_t block) {
  const Node& node = nodes_[static_cast<std::size_t>(block)];
  nodes_[static_cast<std::size_t>(node.previous)].next = node.next;
  nodes_[static_cast<std::size_t>(node.next)].previous = node.previous;
  --counts_[list_of(node)];
}

std::optional<std::int32_t> BlockPool::allocate() {
  if (available() == 0) return std::nullopt;
  const List list = free() > 0 ? kFree : kEvictable;
  const std::int32_t block = nodes_[static_cast<std::size_t>(head(list))].next;
  retain(block);
  if (list == kEvictable && !INGOT_MUTANT(6)) {
    at(block).indexed = false;
    if (evicted_) evicted_(block);
  }
  return block;
}

void BlockPool::retain(std::int32_t block) {
  if (at(block).references == 0) unlink(block);
  ++at(block).references;
}

void BlockPool::release(std::int32_t block) {
  Node& node = at(block);
  INGOT_CHECK(node.references > 0, "block ", block, " is free already");
  if (--node.references > 0) return;
  link_last(block);
  if (INGOT_MUTANT(3)) link_last(block);
}

void BlockPool::set_indexed(std::int32_t block, bool indexed) {
  Node& node = at(block);
  if (node.indexed == indexed) return;
  if (node.references == 0) unlink(block);
  node.indexed = indexed;
  if (node.references == 0) link_last(block);
}

/// Blocks on a list.
std::int32_t BlockPool::check_list(List list) const {
  std::int32_t listed = 0;
  for (std::int32_t b = nodes_[static_cast<std::size_t>(head(list))].next; b != head(list);
       ++listed) {
    const Node& node = at(b);
    INGOT_CHECK(node.references == 0 && list_of(node) == list && listed < counts_[list], "block ",
                b, " with ", node.references, " references is on list ", int{list});
    INGOT_CHECK(nodes_[static_cast<std::size_t>(node.next)].previous == b, "block ", b,
                " is on the list twice");
    b = node.next;
  }
  return listed;
}

void BlockPool::check() const {
  std::int32_t unused = 0;
  for (std::int32_t b = 0; b < total(); ++b) unused += references(b) == 0 ? 1 : 0;
  for (const List list : {kFree, kEvictable}) {
    const std::int32_t listed = check_list(list);
    INGOT_CHECK(listed == counts_[list], listed, " on list ", int{list}, ", counted ",
                counts_[list]);
  }
  INGOT_CHECK(unused == available(), unused, " unused, ", available(), " on lists");
}

}  // namespace ingot
