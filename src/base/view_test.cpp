// Tests of View and of the text helpers that messages are made with.
#include "base/view.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "base/function_ref.h"
#include "base/order.h"

namespace ingot {
namespace {

TEST(View, RowsAndSlices) {
  std::array<float, 12> data{};
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
  const View view = f32_view(data.data(), 4, 3);
  EXPECT_TRUE(view);
  EXPECT_FALSE(View{});
  EXPECT_EQ(view.row_bytes, 12);
  EXPECT_EQ(view.row<float>(2)[1], 7.0f);
  const View part = view.slice(1, 2);
  EXPECT_EQ(part.rows, 2);
  EXPECT_EQ(part.cols, 3);
  EXPECT_EQ(part.row<float>(0)[0], 3.0f);
  EXPECT_EQ(view.slice(4, 0).rows, 0);
}

TEST(ViewDeathTest, SlicesOutsideAreBugs) {
  std::array<float, 12> data{};
  const View view = f32_view(data.data(), 4, 3);
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  EXPECT_DEATH(view.slice(-1, 1), "rows -1 \\+ 1 of 4");
  EXPECT_DEATH(view.slice(3, 2), "rows 3 \\+ 2 of 4");
  EXPECT_DEATH(view.slice(0, -1), "rows 0 \\+ -1 of 4");
  EXPECT_DEATH(view.slice(kHuge, kHuge), "of 4");
}

TEST(FunctionRef, CallsWhatItRefersTo) {
  int sum = 0;
  auto add = [&sum](int value) { return sum += value; };
  const FunctionRef<int(int)> ref = add;
  EXPECT_EQ(ref(3), 3);
  const FunctionRef<int(int)> copy = ref;
  EXPECT_EQ(copy(4), 7);
  const auto constant = [](int value) { return value + 1; };
  EXPECT_EQ(FunctionRef<int(int)>(constant)(1), 2);
}

TEST(Order, IsTheSecond) {
  EXPECT_EQ(kOrderVersion, 2);
  EXPECT_STREQ(kNumericsProfile, "canon-1");
}

}  // namespace
}  // namespace ingot
