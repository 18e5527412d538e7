// DomainHeap: sifting up and down.
#include "kv/domain_heap.h"

#include "base/check.h"
#include "base/mutant.h"

namespace ingot {

DomainHeap::DomainHeap(std::int32_t domains) : entries_(static_cast<std::size_t>(domains)) {
  order_.reserve(entries_.size());
}

std::int32_t DomainHeap::top() const {
  INGOT_CHECK(!empty(), "no domain has a block");
  return order_.front();
}

bool DomainHeap::comes_first(std::int32_t a, std::int32_t b) const {
  if (INGOT_MUTANT(21)) return a < b;
  if (blocks(a) != blocks(b)) return blocks(a) > blocks(b);
  return entry(a).grew > entry(b).grew;
}

void DomainHeap::set(std::size_t place, std::int32_t domain) {
  order_[place] = domain;
  entry(domain).place = static_cast<std::int32_t>(place);
}

/// Moves the domain at `place` to where it belongs.
void DomainHeap::settle(std::size_t place) {
  const std::int32_t domain = order_[place];
  while (place > 0 && comes_first(domain, order_[(place - 1) / 2])) {
    set(place, order_[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  for (std::size_t child = 2 * place + 1; child < order_.size(); child = 2 * place + 1) {
    if (child + 1 < order_.size() && comes_first(order_[child + 1], order_[child])) ++child;
    if (!comes_first(order_[child], domain)) break;
    set(place, order_[child]);
    place = child;
  }
  set(place, domain);
}

void DomainHeap::add_blocks(std::int32_t domain, std::int32_t change) {
  Entry& e = entry(domain);
  e.blocks += change;
  if (change > 0) e.grew = ++growths_;
  if (e.place >= 0) settle(static_cast<std::size_t>(e.place));
}

void DomainHeap::insert(std::int32_t domain) {
  INGOT_CHECK(!contains(domain), "domain ", domain, " has a place");
  order_.push_back(domain);
  settle(order_.size() - 1);
}

void DomainHeap::remove(std::int32_t domain) {
  INGOT_CHECK(contains(domain), "domain ", domain, " has no place");
  const auto place = static_cast<std::size_t>(entry(domain).place);
  entry(domain).place = -1;
  const std::int32_t last = order_.back();
  order_.pop_back();
  if (last == domain) return;
  set(place, last);
  settle(place);
}

}  // namespace ingot
