// BlockPool: circular, doubly linked lists of free and evictable blocks.
#include "kv/block_pool.h"

#include "base/check.h"
#include "base/index.h"
#include "kv/mutant.h"

namespace ingot {

BlockPool::BlockPool(std::int32_t blocks) : total_(blocks), nodes_(to_size(blocks)) {
  set_owners(1);
  for (std::int32_t b = 0; b < blocks; ++b) link_last(b);
}

void BlockPool::set_owners(std::int32_t owners) {
  for (std::int32_t b = 0; b < total(); ++b) INGOT_CHECK(!is_indexed(b), "block ", b, " is known");
  listed_.resize(to_size(owners) + 1);
  givers_ = OwnerHeap(owners);
  const auto before = static_cast<std::int32_t>(nodes_.size());
  nodes_.resize(to_size(head(lists())));
  for (std::int32_t i = before; i < head(lists()); ++i) {
    Node& list = at(nodes_, i);
    list.previous = list.next = i;
  }
}

const BlockPool::Node& BlockPool::node_at(std::int32_t block) const {
  INGOT_CHECK(block >= 0 && block < total(), "block ", block, " of ", total());
  return at(nodes_, block);
}

void BlockPool::link_last(std::int32_t block) {
  Node& node = at(nodes_, block);
  const std::int32_t list = list_of(node.owner);
  Node& head_node = at(nodes_, head(list));
  node.previous = head_node.previous;
  node.next = head(list);
  at(nodes_, head_node.previous).next = block;
  head_node.previous = block;
  ++listed(list);
  if (list == kFree) return;
  ++evictable_;
  if (listed(list) == 1) givers_.insert(node.owner);
}

void BlockPool::unlink(std::int32_t block) {
  const Node& node = at(nodes_, block);
  const std::int32_t list = list_of(node.owner);
  at(nodes_, node.previous).next = node.next;
  at(nodes_, node.next).previous = node.previous;
  --listed(list);
  if (list == kFree) return;
  --evictable_;
  if (listed(list) == 0) givers_.remove(node.owner);
}

std::optional<std::int32_t> BlockPool::allocate() {
  if (available() == 0) return std::nullopt;
  const bool evicts = free() == 0;
  const std::int32_t list = evicts ? list_of(givers_.top()) : kFree;
  const std::int32_t block = at(nodes_, head(list)).next;
  retain(block);
  if (evicts && !INGOT_MUTANT(6)) {
    ++evictions_;
    if (evicted_) evicted_(block);
    set_owner(block, kNoOwner);
  }
  return block;
}

/// Changes a block's numbers of references and idle references.
void BlockPool::add_references(Node& node, std::int32_t references, std::int32_t idle) {
  const bool was_idle = node.is_idle();
  node.references += references;
  node.idle_references += idle;
  references_ += references;
  idle_ += (node.is_idle() ? 1 : 0) - (was_idle ? 1 : 0);
}

void BlockPool::mark_idle(std::int32_t block) {
  Node& node = node_at(block);
  INGOT_CHECK(node.idle_references < node.references, "block ", block, " has ", node.references,
              " references, and all are idle");
  add_references(node, 0, 1);
}

void BlockPool::unmark_idle(std::int32_t block) {
  Node& node = node_at(block);
  INGOT_CHECK(node.idle_references > 0, "block ", block, " has no idle reference");
  add_references(node, 0, -1);
}

void BlockPool::retain(std::int32_t block) {
  Node& node = node_at(block);
  if (node.references == 0) unlink(block);
  add_references(node, 1, INGOT_MUTANT(29) && node.is_idle() ? 1 : 0);
}

void BlockPool::release(std::int32_t block) {
  Node& node = node_at(block);
  INGOT_CHECK(node.references > 0, "block ", block, " is free already");
  add_references(node, -1, 0);
  if (node.references > 0) return;
  link_last(block);
  if (INGOT_MUTANT(3)) link_last(block);
}

void BlockPool::set_owner(std::int32_t block, std::int32_t owner) {
  Node& node = node_at(block);
  INGOT_CHECK(list_of(owner) >= kFree && list_of(owner) < lists(), "owner ", owner, " of ",
              lists() - 1);
  if (node.owner == owner) return;
  if (node.references == 0) unlink(block);
  if (node.owner != kNoOwner) givers_.add_blocks(node.owner, -1);
  if (owner != kNoOwner) givers_.add_blocks(owner, 1);
  cached_ += (owner != kNoOwner ? 1 : 0) - (node.owner != kNoOwner ? 1 : 0);
  node.owner = owner;
  if (node.references == 0) link_last(block);
}

/// Checks a list's links and owners. Returns its number of blocks.
std::int32_t BlockPool::check_list(std::int32_t list) const {
  const std::int32_t counted = at(listed_, list);
  std::int32_t blocks = 0;
  for (std::int32_t b = at(nodes_, head(list)).next; b != head(list); ++blocks) {
    const Node& node = node_at(b);
    INGOT_CHECK(node.references == 0 && list_of(node.owner) == list && blocks < counted, "block ",
                b, " with ", node.references, " references is on list ", list);
    INGOT_CHECK(at(nodes_, node.next).previous == b, "block ", b, " is on the list twice");
    b = node.next;
  }
  INGOT_CHECK(blocks == counted, blocks, " on list ", list, ", counted ", counted);
  return blocks;
}

void BlockPool::check() const {
  std::int32_t unused = 0, cached = 0, idle = 0;
  std::int64_t held = 0;
  std::vector<std::int32_t> known(to_size(givers_.owners()));
  for (std::int32_t b = 0; b < total(); ++b) {
    unused += references(b) == 0 ? 1 : 0;
    held += references(b);
    idle += is_idle(b) ? 1 : 0;
    if (!is_indexed(b)) continue;
    ++cached;
    ++at(known, owner(b));
  }
  INGOT_CHECK(held == references_ && cached == cached_, held, " references, counted ", references_,
              "; ", cached, " cached, counted ", cached_);
  INGOT_CHECK(idle == idle_, idle, " idle, counted ", idle_);
  for (std::int32_t o = 0; o < givers_.owners(); ++o) {
    const std::int32_t blocks = at(known, o);
    INGOT_CHECK(blocks == givers_.blocks(o), blocks, " known of owner ", o, ", counted ",
                givers_.blocks(o));
  }
  std::int32_t listed = 0;
  for (std::int32_t list = 0; list < lists(); ++list) listed += check_list(list);
  INGOT_CHECK(unused == available() && unused == listed, unused, " unused, ", available(),
              " counted, ", listed, " on lists");
}

}  // namespace ingot
