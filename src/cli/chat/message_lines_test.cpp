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
    const auto message = input.add({line});
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
  EXPECT_EQ(messages_of({"\"\"\"", "", "one\"\"\""}), "[\none]");
  EXPECT_EQ(messages_of({"\"\"\"one"}), "...");
}

/// The message of a line, of which all but the ends are pasted; nothing if it is unfinished.
std::optional<InputMessage> message_of(const InputLine& line) {
  MessageLines input;
  return input.add(line);
}

TEST(MessageLines, PastedMarksAreText) {
  for (const std::string_view text :
       {"\"\"\"A docstring.\"\"\"", "docker run \\", "/help\n", "\"\"\"\n\"\"\"", "\n\n\t\n"}) {
    const auto message = message_of({text, 0, 0});
    ASSERT_TRUE(message) << text;
    EXPECT_EQ(message->text, text);
    EXPECT_EQ(message->is_plain, text.find('\n') == std::string_view::npos) << text;
  }
  EXPECT_FALSE(message_of({"pasted\n\\", 0, 1}));
  EXPECT_FALSE(message_of({"\"\"\"pasted\"\"\"", 3, 0}));
  EXPECT_EQ(message_of({"\"\"\"a\nb\"\"\"", 3, 3})->text, "a\nb");
  EXPECT_EQ(message_of({"\"\"pasted", 2, 0})->text, "\"\"pasted");
}

TEST(MessageLines, AMessageHasALineThatGivesItAgain) {
  for (const InputMessage& message :
       {InputMessage{"a", true}, InputMessage{"/help", true}, InputMessage{"/help", false},
        InputMessage{"\"\"\"a\"\"\"", true}, InputMessage{"\"\"\"", false},
        InputMessage{"a\\", true}, InputMessage{"\\", false}, InputMessage{"\"", true}}) {
    const auto again = message_of({line_of(message)});
    ASSERT_TRUE(again) << message.text;
    EXPECT_EQ(again->text, message.text);
  }
  EXPECT_EQ(message_of({line_of({"/help", false})})->is_plain, false);
  EXPECT_EQ(line_of({"a\nb\\", false}), "a\nb\\");
}

TEST(MessageLines, ForgetsWhatHasBegun) {
  MessageLines input;
  input.add({"\"\"\"one"});
  input.clear();
  EXPECT_FALSE(input.has_begun());
  EXPECT_EQ(input.add({"two"})->text, "two");
}

}  // namespace
}  // namespace ingot
