// Editing by characters, words and lines.
#include "cli/terminal/edit_buffer.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

/// A buffer with this typed text, and the cursor at its end.
EditBuffer typed(std::string_view text) {
  EditBuffer buffer;
  EXPECT_TRUE(buffer.insert(text, InputSource::kTyped));
  return buffer;
}

/// The text with a bar at the cursor.
std::string shown(const EditBuffer& buffer) {
  EditBuffer copy = buffer;
  EXPECT_TRUE(copy.insert("|", InputSource::kTyped));
  return copy.text();
}

TEST(EditBuffer, MovesAndErasesByCharacters) {
  EditBuffer buffer = typed("ae\u0301\u6f22");
  buffer.left();
  EXPECT_EQ(shown(buffer), "ae\u0301|\u6f22");
  buffer.left();
  EXPECT_EQ(shown(buffer), "a|e\u0301\u6f22");
  buffer.erase_right();
  EXPECT_EQ(shown(buffer), "a|\u6f22");
  buffer.erase_left();
  buffer.erase_left();
  buffer.right();
  buffer.right();
  EXPECT_EQ(shown(buffer), "\u6f22|");
  buffer.erase_right();
  EXPECT_EQ(shown(buffer), "\u6f22|");
}

TEST(EditBuffer, MovesInLines) {
  EditBuffer buffer = typed("first\n\nthe last");
  EXPECT_FALSE(buffer.line_down());
  EXPECT_TRUE(buffer.line_up());
  EXPECT_EQ(shown(buffer), "first\n|\nthe last");
  EXPECT_TRUE(buffer.line_up());
  EXPECT_EQ(shown(buffer), "|first\n\nthe last");
  EXPECT_FALSE(buffer.line_up());
  buffer.line_end();
  EXPECT_EQ(shown(buffer), "first|\n\nthe last");
  EXPECT_TRUE(buffer.line_down());
  EXPECT_TRUE(buffer.line_down());
  buffer.line_end();
  buffer.line_start();
  EXPECT_EQ(shown(buffer), "first\n\n|the last");
}

TEST(EditBuffer, CutsAndInsertsWhatWasCut) {
  EditBuffer buffer = typed("one two \nthree");
  buffer.kill_to_start();
  EXPECT_EQ(shown(buffer), "one two \n|");
  EXPECT_TRUE(buffer.line_up());
  EXPECT_TRUE(buffer.yank());
  EXPECT_EQ(shown(buffer), "three|one two \n");
  buffer.kill_to_end();
  EXPECT_EQ(shown(buffer), "three|\n");
  EXPECT_TRUE(buffer.yank());
  buffer.kill_word();
  EXPECT_EQ(shown(buffer), "threeone |\n");
  buffer.kill_word();
  buffer.kill_word();
  EXPECT_EQ(shown(buffer), "|\n");
}

TEST(EditBuffer, SwapsCharacters) {
  EditBuffer buffer = typed("abc");
  buffer.transpose();
  EXPECT_EQ(shown(buffer), "acb|");
  buffer.line_start();
  buffer.transpose();
  EXPECT_EQ(shown(buffer), "a|cb");
  buffer.transpose();
  EXPECT_EQ(shown(buffer), "ca|b");
  EditBuffer().transpose();
}

TEST(EditBuffer, KnowsWhatIsTyped) {
  EditBuffer buffer = typed("\u00e9");
  EXPECT_EQ(buffer.typed_front(), 2u);
  EXPECT_EQ(buffer.typed_back(), 2u);
  EXPECT_TRUE(buffer.insert("pasted", InputSource::kPasted));
  EXPECT_TRUE(buffer.insert("xyz", InputSource::kTyped));
  EXPECT_EQ(buffer.text(), "\u00e9pastedxyz");
  EXPECT_EQ(buffer.typed_front(), 2u);
  EXPECT_EQ(buffer.typed_back(), 3u);
}

TEST(EditBuffer, HasALimit) {
  EditBuffer buffer = typed(std::string(EditBuffer::kBytesMax - 3, 'x') + "\u6f22");
  EXPECT_FALSE(buffer.insert("y", InputSource::kTyped));
  EXPECT_EQ(buffer.cursor(), EditBuffer::kBytesMax - 2);
  buffer.erase_left();
  EXPECT_FALSE(buffer.insert("\U0001F600", InputSource::kTyped));
  EXPECT_TRUE(buffer.insert("\u00e9", InputSource::kTyped));
  EXPECT_FALSE(buffer.insert("\u00e9", InputSource::kTyped));
  EXPECT_TRUE(buffer.insert("y", InputSource::kTyped));
  EXPECT_EQ(buffer.text().size(), EditBuffer::kBytesMax);
  buffer.kill_to_start();
  EXPECT_TRUE(buffer.yank());
  EXPECT_FALSE(buffer.yank());
}

}  // namespace
}  // namespace ingot
