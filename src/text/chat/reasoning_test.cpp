// Reasoning and content, apart from each other however the text comes.
#include "text/chat/reasoning.h"

#include <gtest/gtest.h>

#include <string>

namespace ingot {
namespace {

struct Said {
  std::string reasoning;
  std::string content;
};

Said split(std::string_view text, std::size_t piece, bool begins_inside) {
  ReasoningSplitter splitter(begins_inside);
  Said said;
  const auto take = [&](const ReasoningSplitter::Parts& parts) {
    said.reasoning += parts.reasoning;
    said.content += parts.content;
  };
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    take(splitter.add(text.substr(0, piece)));
  }
  take(splitter.finish());
  return said;
}

void expect(std::string_view text, bool begins_inside, std::string_view reasoning,
            std::string_view content) {
  for (std::size_t piece = 1; piece <= text.size() + 1; ++piece) {
    const Said said = split(text, piece, begins_inside);
    EXPECT_EQ(said.reasoning, reasoning) << text << " in pieces of " << piece;
    EXPECT_EQ(said.content, content) << text << " in pieces of " << piece;
  }
}

TEST(Reasoning, IsWhatStandsBetweenTheTags) {
  expect("<think>so\nand so\n</think>\n\nThe answer.", false, "so\nand so\n", "The answer.");
  expect("<think>\nso</think>The answer.", false, "so", "The answer.");
  expect("The answer.", false, "", "The answer.");
  expect("", false, "", "");
  expect("<think></think>The answer.", false, "", "The answer.");
}

TEST(Reasoning, MayBeginInThePrompt) {
  expect("so</think>The answer.", true, "so", "The answer.");
  expect("\n so", true, "so", "");
  expect("", true, "", "");
}

TEST(Reasoning, MayNotEnd) {
  expect("<think>and then", false, "and then", "");
  expect("and then </thi", true, "and then </thi", "");
  expect("<thi", false, "", "<thi");
}

TEST(Reasoning, LooksLikeTagsThatAreNone) {
  expect("a < b, and a <b> c", false, "", "a < b, and a <b> c");
  expect("<thinking>no", false, "", "<thinking>no");
  expect("no </think> here", false, "", "no </think> here");
  expect("a </thin </think>b", true, "a </thin ", "b");
  expect("<</think>b", true, "<", "b");
}

TEST(Reasoning, IsSeenInTemplatesAndPrompts) {
  EXPECT_TRUE(has_reasoning("{{ '<think>' }} </think>"));
  EXPECT_FALSE(has_reasoning("{{ messages }}"));
  EXPECT_TRUE(opens_reasoning("<|assistant|>\n<think>\n"));
  EXPECT_FALSE(opens_reasoning("<think>\n</think>\n\n"));
  EXPECT_FALSE(opens_reasoning("<|assistant|>\n"));
}

}  // namespace
}  // namespace ingot
