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

EditBuffer draft_of(std::string_view text) {
  EditBuffer buffer;
  EXPECT_TRUE(buffer.insert(text, InputSource::kTyped));
  return buffer;
}

TEST(LineRecall, MovesAmongMessagesAndKeepsTheNewText) {
  LineRecall recall = recall_of({"one", "two", "two"});
  EditBuffer text = draft_of("new");
  EXPECT_FALSE(recall.newer(text));
  EXPECT_TRUE(recall.older(text));
  EXPECT_EQ(text.text(), "two");
  EXPECT_TRUE(recall.older(text));
  EXPECT_EQ(text.text(), "one");
  EXPECT_FALSE(recall.older(text));
  EXPECT_EQ(text.text(), "one");
  EXPECT_TRUE(recall.newer(text));
  EXPECT_EQ(text.text(), "two");
  EXPECT_TRUE(recall.newer(text));
  EXPECT_EQ(text.text(), "new");
  EXPECT_FALSE(recall.newer(text));
}

TEST(LineRecall, KeepsEditedTextsAndWhatIsPasted) {
  LineRecall recall = recall_of({"one", "two"});
  EditBuffer text;
  EXPECT_TRUE(text.insert("/new", InputSource::kPasted));
  EXPECT_TRUE(recall.older(text));
  EXPECT_TRUE(text.insert("!", InputSource::kTyped));
  EXPECT_TRUE(recall.older(text));
  EXPECT_EQ(text.text(), "one");
  EXPECT_TRUE(recall.newer(text));
  EXPECT_EQ(text.text(), "two!");
  EXPECT_TRUE(recall.newer(text));
  EXPECT_EQ(text.text(), "/new");
  EXPECT_EQ(text.typed_front(), 0u);
  recall.restart();
  EXPECT_TRUE(recall.older(text));
  EXPECT_EQ(text.text(), "two");
}

TEST(LineRecall, FindsOlderMessages) {
  LineRecall recall = recall_of({"a cat", "a dog", "cats"});
  EditBuffer text = draft_of("draft");
  recall.keep(text);
  EXPECT_TRUE(recall.search("ca", true, text));
  EXPECT_EQ(text.text(), "cats");
  EXPECT_TRUE(recall.search("cat", true, text));
  EXPECT_EQ(text.text(), "cats");
  EXPECT_TRUE(recall.search("cat", false, text));
  EXPECT_EQ(text.text(), "a cat");
  EXPECT_FALSE(recall.search("cat", false, text));
  EXPECT_TRUE(recall.search("cat", true, text));
  EXPECT_EQ(text.text(), "a cat");
  EXPECT_TRUE(recall.newer(text));
  EXPECT_EQ(text.text(), "a dog");
  EXPECT_TRUE(recall.newer(text));
  EXPECT_TRUE(recall.newer(text));
  EXPECT_EQ(text.text(), "draft");
}

TEST(LineRecall, KeepsTheNewestMessages) {
  LineRecall recall;
  for (std::size_t i = 0; i <= LineRecall::kMessagesMax; ++i) recall.add(std::to_string(i));
  EditBuffer text;
  EXPECT_TRUE(recall.search("0", true, text));
  EXPECT_EQ(text.text(), "1000");
  std::size_t count = 1;
  while (recall.older(text)) ++count;
  EXPECT_EQ(count, LineRecall::kMessagesMax);
}

}  // namespace
}  // namespace ingot
