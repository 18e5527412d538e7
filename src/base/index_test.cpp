// Tests of at and to_size: the element, its reference, and bounds.
#include "base/index.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace ingot {
namespace {

enum class Color : std::uint8_t { kRed, kGreen };

TEST(Index, GivesTheElementOfEveryKindOfContainer) {
  std::vector<int> numbers{10, 11, 12};
  const std::array<int, 2> pair{20, 21};
  const int plain[] = {30, 31};
  const std::span<int> view = numbers;
  EXPECT_EQ(at(numbers, std::int32_t{1}), 11);
  EXPECT_EQ(at(numbers, std::int64_t{2}), 12);
  EXPECT_EQ(at(view, std::ptrdiff_t{0}), 10);
  EXPECT_EQ(at(view.subspan(1), 1), 12);
  EXPECT_EQ(at(pair, 1), 21);
  EXPECT_EQ(at(plain, 1), 31);
  EXPECT_EQ(at(std::string("abc"), 2), 'c');
  EXPECT_EQ(at(pair, Color::kGreen), 21);
  static_assert(at(std::array{1, 2}, 1) == 2);
}

TEST(Index, GivesAReferenceAsConstAsTheContainer) {
  std::vector<int> numbers{10, 11};
  at(numbers, 1) = 12;
  EXPECT_EQ(numbers[1], 12);
  EXPECT_EQ(&at(numbers, 1), &numbers[1]);
  static_assert(std::is_same_v<decltype(at(numbers, 0)), int&>);
  static_assert(std::is_same_v<decltype(at(std::as_const(numbers), 0)), const int&>);
  std::vector<bool> flags{false, false};
  at(flags, 1) = true;
  EXPECT_TRUE(flags[1]);
}

TEST(Index, CountsBecomeSizes) {
  static_assert(std::is_same_v<decltype(to_size(std::int32_t{3})), std::size_t>);
  EXPECT_EQ(std::vector<int>(to_size(std::int64_t{3})).size(), 3u);
  static_assert(!Sized<int*>);
}

#ifndef NDEBUG
TEST(IndexDeathTest, AnIndexOutsideIsABug) {
  const std::vector<int> numbers{10, 11};
  EXPECT_DEATH(at(numbers, 2), "index 2 of 2");
  EXPECT_DEATH(at(numbers, -1), "index -1 of 2");
  EXPECT_DEATH(to_size(-1), "count -1");
}
#endif

}  // namespace
}  // namespace ingot
