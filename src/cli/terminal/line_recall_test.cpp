// Recall: moving and searching among earlier messages.
#include "cli/terminal/line_recall.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

LineRecall recall_of(const std::vector<std::string>& messages) {
  LineRecall recall;
  for (const std::string& m : messages) recall.add(m);
  return recall;
}

TEST(LineRecall, MovesAmongMessagesAndKeepsTheNewText) {
  LineRecall recall = recall_of({"one", "two", "two"});
  EXPECT_EQ(recall.newer(), std::nullopt);
  EXPECT_EQ(recall.older("new"), "two");
  EXPECT_EQ(recall.older("two"), "one");
  EXPECT_EQ(recall.older("one"), std::nullopt);
  EXPECT_EQ(recall.newer(), "two");
  EXPECT_EQ(recall.newer(), "new");
  EXPECT_EQ(recall.newer(), std::nullopt);
}

TEST(LineRecall, FindsOlderMessages) {
  LineRecall recall = recall_of({"a cat", "a dog", "cats"});
  EXPECT_EQ(recall.search("ca", true), "cats");
  EXPECT_EQ(recall.search("cat", true), "cats");
  EXPECT_EQ(recall.search("cat", false), "a cat");
  EXPECT_EQ(recall.search("cat", false), std::nullopt);
  EXPECT_EQ(recall.search("cat", true), "a cat");
  EXPECT_EQ(recall.newer(), "a dog");
}

TEST(LineRecall, KeepsTheNewestMessages) {
  LineRecall recall;
  for (std::size_t i = 0; i <= LineRecall::kMessagesMax; ++i) recall.add(std::to_string(i));
  EXPECT_EQ(recall.search("0", true), "1000");
  std::size_t count = 1;
  while (recall.older("")) ++count;
  EXPECT_EQ(count, LineRecall::kMessagesMax);
}

}  // namespace
}  // namespace ingot
