// OwnerHeap: a binary heap whose entries are sifted up and down.
#include "kv/owner_heap.h"

#include "base/check.h"
#include "kv/mutant.h"

namespace ingot {

OwnerHeap::OwnerHeap(std::int32_t owners) : entries_(to_size(owners)) {
  order_.reserve(entries_.size());
}

std::int32_t OwnerHeap::top() const {
  INGOT_CHECK(!empty(), "no owner has a block");
  return order_.front();
}

bool OwnerHeap::comes_first(std::int32_t a, std::int32_t b) const {
  if (INGOT_MUTANT(21)) return a < b;
  if (blocks(a) != blocks(b)) return blocks(a) > blocks(b);
  return entry(a).grew > entry(b).grew;
}

void OwnerHeap::set(std::size_t place, std::int32_t owner) {
  order_[place] = owner;
  entry(owner).place = static_cast<std::int32_t>(place);
}

/// Sifts the owner at index `place` up or down.
void OwnerHeap::settle(std::size_t place) {
  const std::int32_t owner = order_[place];
  while (place > 0 && comes_first(owner, order_[(place - 1) / 2])) {
    set(place, order_[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  for (std::size_t child = 2 * place + 1; child < order_.size(); child = 2 * place + 1) {
    if (child + 1 < order_.size() && comes_first(order_[child + 1], order_[child])) ++child;
    if (!comes_first(order_[child], owner)) break;
    set(place, order_[child]);
    place = child;
  }
  set(place, owner);
}

void OwnerHeap::add_blocks(std::int32_t owner, std::int32_t change) {
  Entry& e = entry(owner);
  e.blocks += change;
  if (change > 0) e.grew = ++growths_;
  if (e.place >= 0) settle(to_size(e.place));
}

void OwnerHeap::insert(std::int32_t owner) {
  INGOT_CHECK(!contains(owner), "owner ", owner, " has a place");
  order_.push_back(owner);
  settle(order_.size() - 1);
}

void OwnerHeap::remove(std::int32_t owner) {
  INGOT_CHECK(contains(owner), "owner ", owner, " has no place");
  const auto place = to_size(entry(owner).place);
  entry(owner).place = -1;
  const std::int32_t last = order_.back();
  order_.pop_back();
  if (last == owner) return;
  set(place, last);
  settle(place);
}

}  // namespace ingot
