// Tests of OwnerHeap, by hand and against a naive model.
#include "kv/owner_heap.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <utility>

#include "base/index.h"

namespace ingot {
namespace {

TEST(OwnerHeap, TheOwnerOfMostBlocksComesFirst) {
  OwnerHeap heap(3);
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

TEST(OwnerHeap, OfEqualsTheOneThatGrewLastComesFirst) {
  OwnerHeap heap(2);
  for (const std::int32_t owner : {0, 1}) heap.add_blocks(owner, 1);
  for (const std::int32_t owner : {0, 1}) heap.insert(owner);
  EXPECT_EQ(heap.top(), 1);
  heap.add_blocks(0, 1);
  heap.add_blocks(0, -1);
  EXPECT_EQ(heap.top(), 0);
  heap.remove(1);
  heap.insert(1);
  EXPECT_EQ(heap.top(), 0) << "coming back is no growth";
}

TEST(OwnerHeapDeathTest, PlacesAreTakenOnceAndLeftOnce) {
  OwnerHeap heap(1);
  EXPECT_DEATH(heap.top(), "no owner has a block");
  EXPECT_DEATH(heap.remove(0), "owner 0 has no place");
  heap.insert(0);
  EXPECT_DEATH(heap.insert(0), "owner 0 has a place");
}

TEST(OwnerHeap, AgreesWithANaiveModelUnderRandomUse) {
  constexpr std::int32_t kOwners = 21;
  struct Owner {
    std::int32_t blocks = 0;
    int grew = 0;
    bool is_in = false;
    auto rank() const { return std::pair(blocks, grew); }
  };
  OwnerHeap heap(kOwners);
  std::array<Owner, kOwners> owners;
  for (std::int32_t o = 0; o < kOwners; ++o) {
    heap.add_blocks(o, 1);
    at(owners, o) = {.blocks = 1, .grew = o - kOwners};
  }
  std::mt19937 rng(3);
  for (int i = 1; i <= 20000; ++i) {
    const auto o = static_cast<std::int32_t>(rng() % kOwners);
    Owner& owner = at(owners, o);
    if (rng() % 3 > 0) {
      const std::int32_t change = owner.blocks > 0 && rng() % 2 == 0 ? -1 : 1;
      owner.blocks += change;
      if (change > 0) owner.grew = i;
      heap.add_blocks(o, change);
    } else {
      owner.is_in ? heap.remove(o) : heap.insert(o);
      owner.is_in = !owner.is_in;
    }
    const Owner* most = nullptr;
    for (const Owner& other : owners) {
      if (other.is_in && (most == nullptr || other.rank() > most->rank())) most = &other;
    }
    ASSERT_EQ(heap.empty(), most == nullptr);
    ASSERT_EQ(heap.blocks(o), owner.blocks);
    ASSERT_EQ(heap.contains(o), owner.is_in);
    if (most == nullptr) continue;
    ASSERT_EQ(heap.top(), most - owners.data());
  }
}

}  // namespace
}  // namespace ingot
