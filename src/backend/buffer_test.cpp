// Host memory: alignment, zeros, and the life of an arena's pieces.
#include "backend/buffer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <span>

namespace ingot {
namespace {

bool holds(const Buffer& buffer, std::byte value) {
  const std::span bytes(buffer.data(), static_cast<std::size_t>(buffer.bytes()));
  return std::all_of(bytes.begin(), bytes.end(), [value](std::byte b) { return b == value; });
}

void fill(Buffer& buffer, std::byte value) { std::fill_n(buffer.data(), buffer.bytes(), value); }

TEST(HostArena, BlocksAreZeroAlignedAndApart) {
  HostArena arena;
  std::deque<Buffer> blocks;
  // Across the ends of several extents, and pieces that are too large for one.
  for (const std::int64_t bytes : {1, 64, 65, 4096, 3 << 20, 16 << 20, (16 << 20) + 1, 20 << 20}) {
    for (int i = 0; i < 5; ++i) {
      Buffer& block = blocks.emplace_back(arena.allocate(bytes));
      ASSERT_EQ(block.bytes(), bytes);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % 64, 0U);
      ASSERT_TRUE(holds(block, std::byte{0}));
      fill(block, std::byte(blocks.size()));
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) EXPECT_TRUE(holds(blocks[i], std::byte(i + 1)));
  EXPECT_FALSE(arena.allocate(0));
}

TEST(HostArena, BlocksStayWhenOthersAndTheArenaGo) {
  Buffer kept;
  {
    HostArena arena;
    Buffer first = arena.allocate(1000);
    kept = arena.allocate(1000);
    fill(kept, std::byte{7});
    Buffer large = arena.allocate(20 << 20);
    for (int i = 0; i < 100; ++i) arena.allocate(10 << 20);
  }
  EXPECT_TRUE(holds(kept, std::byte{7}));
}

/// Whether there is memory at an address.
bool is_mapped(const std::byte* at) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(at) / page * page;
  unsigned char state = 0;
  return mincore(reinterpret_cast<void*>(start), page, &state) == 0;
}

TEST(HostArena, MemoryGoesWithTheLastBlock) {
  constexpr std::int64_t kBytes = 8 << 20;  // mapped by itself where blocks do not share
  HostArena arena;
  Buffer first = arena.allocate(kBytes);
  const std::byte* at = first.data();
  Buffer second = arena.allocate(kBytes);
  for (int i = 0; i < 10; ++i) arena.allocate(kBytes);  // another extent
  second = {};
  EXPECT_TRUE(is_mapped(at));
  first = {};
  EXPECT_FALSE(is_mapped(at));
}

}  // namespace
}  // namespace ingot
