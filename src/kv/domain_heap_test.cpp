// The heap of domains, by hand and against a naive model.
#include "kv/domain_heap.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <utility>

namespace ingot {
namespace {

TEST(DomainHeap, TheDomainOfMostBlocksComesFirst) {
  DomainHeap heap(3);
  EXPECT_TRUE(heap.empty());
  heap.add_blocks(1, 5);
  heap.add_blocks(2, 7);
  EXPECT_TRUE(heap.empty()) << "counted, and no more";
  heap.insert(1);
  heap.insert(2);
  EXPECT_EQ(heap.top(), 2);
  heap.add_blocks(2, -3);
  EXPECT_EQ(heap.top(), 1);
  heap.remove(1);
  EXPECT_FALSE(heap.contains(1));
  EXPECT_EQ(heap.top(), 2);
  EXPECT_EQ(heap.blocks(1), 5);
}

TEST(DomainHeap, OfEqualsTheOneThatGrewLastComesFirst) {
  DomainHeap heap(2);
  for (const std::int32_t domain : {0, 1}) heap.add_blocks(domain, 1);
  for (const std::int32_t domain : {0, 1}) heap.insert(domain);
  EXPECT_EQ(heap.top(), 1);
  heap.add_blocks(0, 1);
  heap.add_blocks(0, -1);
  EXPECT_EQ(heap.top(), 0);
  heap.remove(1);
  heap.insert(1);
  EXPECT_EQ(heap.top(), 0) << "coming back is no growth";
}

TEST(DomainHeapDeathTest, PlacesAreTakenOnceAndLeftOnce) {
  DomainHeap heap(1);
  EXPECT_DEATH(heap.top(), "no domain has a block");
  EXPECT_DEATH(heap.remove(0), "domain 0 has no place");
  heap.insert(0);
  EXPECT_DEATH(heap.insert(0), "domain 0 has a place");
}

TEST(DomainHeap, AgreesWithANaiveModelUnderRandomUse) {
  constexpr std::int32_t kDomains = 21;
  struct Domain {
    std::int32_t blocks = 0;
    int grew = 0;
    bool is_in = false;
    auto rank() const { return std::pair(blocks, grew); }
  };
  DomainHeap heap(kDomains);
  std::array<Domain, kDomains> domains;
  for (std::int32_t d = 0; d < kDomains; ++d) {
    heap.add_blocks(d, 1);
    domains[static_cast<std::size_t>(d)] = {.blocks = 1, .grew = d - kDomains};
  }
  std::mt19937 rng(3);
  for (int i = 1; i <= 20000; ++i) {
    const auto d = static_cast<std::int32_t>(rng() % kDomains);
    Domain& domain = domains[static_cast<std::size_t>(d)];
    if (rng() % 3 > 0) {
      const std::int32_t change = domain.blocks > 0 && rng() % 2 == 0 ? -1 : 1;
      domain.blocks += change;
      if (change > 0) domain.grew = i;
      heap.add_blocks(d, change);
    } else {
      domain.is_in ? heap.remove(d) : heap.insert(d);
      domain.is_in = !domain.is_in;
    }
    const Domain* most = nullptr;
    for (const Domain& other : domains) {
      if (other.is_in && (most == nullptr || other.rank() > most->rank())) most = &other;
    }
    ASSERT_EQ(heap.empty(), most == nullptr);
    ASSERT_EQ(heap.blocks(d), domain.blocks);
    ASSERT_EQ(heap.contains(d), domain.is_in);
    if (most == nullptr) continue;
    ASSERT_EQ(heap.top(), most - domains.data());
  }
}

}  // namespace
}  // namespace ingot
