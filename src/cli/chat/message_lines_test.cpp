// Messages of one line and of several.
#include "cli/chat/message_lines.h"

#include <gtest/gtest.h>

#include <vector>

namespace ingot {
namespace {

/// Messages in brackets, commands' lines in braces, and what has begun behind.
std::string messages_of(const std::vector<std::string_view>& lines) {
  MessageLines input;
  std::string all;
  for (const std::string_view line : lines) {
    const auto message = input.add(line);
    if (!message) continue;
    all += (message->is_plain ? "{" : "[") + message->text + (message->is_plain ? "}" : "]");
  }
  return all + (input.has_begun() ? "..." : "");
}

TEST(MessageLines, ALineIsAMessage) {
  EXPECT_EQ(messages_of({"hello", "", "/help", " \"\"\""}), "{hello}{}{/help}{ \"\"\"}");
}

TEST(MessageLines, ABackslashAtTheEndGoesOn) {
  EXPECT_EQ(messages_of({"one\\", "two\\", "three", "four"}), "[one\ntwo\nthree]{four}");
  EXPECT_EQ(messages_of({"one\\", ""}), "[one\n]");
  EXPECT_EQ(messages_of({"one\\", "\"\"\"two"}), "[one\n\"\"\"two]");
  EXPECT_EQ(messages_of({"\\"}), "...");
}

TEST(MessageLines, FencesHoldTextAsItIs) {
  EXPECT_EQ(messages_of({"\"\"\"", "one\\", "", "/two", "\"\"\"", "three"}),
            "[one\\\n\n/two]{three}");
  EXPECT_EQ(messages_of({"\"\"\"one", "two\"\"\""}), "[one\ntwo]");
  EXPECT_EQ(messages_of({"\"\"\"/help\"\"\""}), "[/help]");
  EXPECT_EQ(messages_of({"\"\"\"\"\"\""}), "[]");
  EXPECT_EQ(messages_of({"\"\"\"one", "", "\"\"\""}), "[one\n]");
  EXPECT_EQ(messages_of({"\"\"\"one"}), "...");
}

TEST(MessageLines, ForgetsWhatHasBegun) {
  MessageLines input;
  input.add("\"\"\"one");
  input.clear();
  EXPECT_FALSE(input.has_begun());
  EXPECT_EQ(input.add("two")->text, "two");
}

}  // namespace
}  // namespace ingot
