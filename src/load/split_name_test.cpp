// Tests of the names of split files.
#include "load/split_name.h"

#include <gtest/gtest.h>

#include <string>

namespace ingot {
namespace {

TEST(SplitName, IsTakenApart) {
  const auto split = parse_split_name("llama-2-00002-of-00013.gguf");
  ASSERT_TRUE(split);
  EXPECT_EQ(split->stem, "llama-2");
  EXPECT_EQ(split->part, 2);
  EXPECT_EQ(split->parts, 13);
  EXPECT_EQ(parse_split_name("Q4/m-99999-of-99999.gguf")->parts, 99999);
}

TEST(SplitName, OtherNames) {
  const std::string good = "m-00002-of-00013.gguf";
  ASSERT_TRUE(parse_split_name(good));
  for (std::size_t i = 1; i < good.size(); ++i) {
    std::string changed = good;
    changed[i] = '?';
    EXPECT_FALSE(parse_split_name(changed)) << changed;
    EXPECT_FALSE(parse_split_name(good.substr(i))) << good.substr(i);
    EXPECT_FALSE(parse_split_name(good.substr(0, i))) << good.substr(0, i);
  }
}

}  // namespace
}  // namespace ingot
