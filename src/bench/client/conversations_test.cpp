// Conversations in their spellings, and files that hold none.
#include "bench/client/conversations.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace ingot {
namespace {

TEST(Conversations, AreTheFirstTwoTurns) {
  const auto found = parse_conversations(
      R"([{"id":"x","conversations":[{"from":"human","value":"hello"},{"from":"gpt","value":)"
      R"("hi!"},{"from":"human","value":"more"}]},)"
      R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},)"
      R"({"role":"assistant","content":"bc"}]}])",
      "f");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].prompt, "hello");
  EXPECT_EQ(found[0].answer_bytes, 3U);
  EXPECT_EQ(found[1].prompt, "a");
  EXPECT_EQ(found[1].answer_bytes, 2U);
}

TEST(Conversations, LeaveOutWhatIsNone) {
  const auto found = parse_conversations(
      R"([1,{},{"conversations":[]},{"conversations":[{"from":"human","value":"x"}]},)"
      R"({"conversations":[{"value":""},{"value":"y"}]},{"conversations":[3,4]},)"
      R"({"conversations":[{"value":"q"},{"value":"a"}]}])",
      "f");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].prompt, "q");
}

TEST(Conversations, RefuseOtherFiles) {
  for (const char* text : {"", "{}", "[]", "[{\"conversations\":[]}]", "[", "timestamp,1"}) {
    EXPECT_THROW(parse_conversations(text, "f"), Error) << text;
  }
}

}  // namespace
}  // namespace ingot
