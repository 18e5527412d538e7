// Tests of messages with calls and results: what templates get, and that no text is lost.
#include "text/chat/tools/chat_tools.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/error.h"
#include "load/json_object.h"
#include "text/chat/system_messages.h"
#include "text/chat/tools/dialect_test_util.h"

namespace ingot {
namespace {

using testing::kTemplates;
using testing::Model;
using testing::models;

Json parsed(std::string_view text) { return parse_json(text, "test", ""); }

Json rewritten(const DialectFacts& facts, std::string_view messages) {
  ChatInput input;
  input.messages = parsed(messages);
  add_chat_tools(input, {}, facts);
  return input.messages;
}

TEST(ChatTools, AResultHasTheNameOfTheLastCallWithItsId) {
  DialectFacts facts;
  facts.writes_results = true;
  facts.calls = DialectFacts::Calls::kObject;
  const Json messages = rewritten(facts, R"([
      {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "a"}}]},
      {"role": "tool", "tool_call_id": "1", "content": "x"},
      {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "b"}}]},
      {"role": "tool", "tool_call_id": "1", "content": "y"}])");
  EXPECT_EQ(*(*messages.as_array())[1].find_string("name"), "a");
  EXPECT_EQ(*(*messages.as_array())[3].find_string("name"), "b");
}

TEST(ChatTools, ResultsAndTheUsersTextAreOneMessage) {
  const DialectFacts facts;  // a template that does not write results
  const Json text = rewritten(facts, R"([{"role": "tool", "content": "x"},
      {"role": "tool", "content": "y"}, {"role": "user", "content": "And?"}])");
  ASSERT_EQ(text.as_array()->size(), 1U);
  EXPECT_EQ(*(*text.as_array())[0].find_string("content"),
            "<tool_response>\nx\n</tool_response>\n<tool_response>\ny\n</tool_response>\nAnd?");
  const Json parts = rewritten(facts, R"([{"role": "tool", "content": "x"}, {"role": "user",
      "content": [{"type": "image"}, {"type": "text", "text": "And?"}]}])");
  ASSERT_EQ(parts.as_array()->size(), 1U);
  const Json::Array& content = *(*parts.as_array())[0].find("content")->as_array();
  ASSERT_EQ(content.size(), 3U);
  EXPECT_EQ(*content[0].find_string("text"), "<tool_response>\nx\n</tool_response>\n");
  EXPECT_EQ(*content[1].find_string("type"), "image");
}

TEST(ChatTools, ResultsComeInTheOrderOfTheirCalls) {
  DialectFacts facts;
  facts.writes_results = true;
  facts.calls = DialectFacts::Calls::kObject;
  const Json messages = rewritten(facts, R"([
      {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "a"}},
                                           {"id": "2", "function": {"name": "b"}}]},
      {"role": "tool", "tool_call_id": "9", "content": "z"},
      {"role": "tool", "tool_call_id": "2", "content": "y"},
      {"role": "tool", "tool_call_id": "1", "content": "x"},
      {"role": "tool", "tool_call_id": "2", "content": "more"},
      {"role": "user", "content": "And?"}])");
  std::string contents;
  for (const Json& message : *messages.as_array()) {
    if (const std::string* text = message.find_string("content")) contents += *text + ",";
  }
  EXPECT_EQ(contents, ",x,y,more,z,And?,");
}

TEST(ChatTools, ManyResultsOfManyCallsAreSorted) {
  DialectFacts facts;
  facts.writes_results = true;
  facts.calls = DialectFacts::Calls::kObject;
  constexpr int kCalls = 60'000;
  Json calls = Json::array();
  for (int i = 0; i < kCalls; ++i) {
    calls.push(json_object({{"id", std::to_string(i)}, {"name", "f"}}));
  }
  ChatInput input;
  input.messages.push(json_object({{"role", "assistant"}, {"tool_calls", std::move(calls)}}));
  for (int i = kCalls; i-- > 0;) {
    input.messages.push(json_object(
        {{"role", "tool"}, {"tool_call_id", std::to_string(i)}, {"content", std::to_string(i)}}));
  }
  add_chat_tools(input, {}, facts);
  const Json::Array& messages = *input.messages.as_array();
  ASSERT_EQ(messages.size(), std::size_t{kCalls} + 1);
  for (int i = 0; i < kCalls; ++i) {
    ASSERT_EQ(*messages[static_cast<std::size_t>(i) + 1].find_string("content"), std::to_string(i));
  }
}

TEST(ChatTools, TellsWhatIsLost) {
  DialectFacts facts;
  facts.calls = DialectFacts::Calls::kObject;
  facts.joins_text = false;
  constexpr std::string_view kMessages = R"([{"role": "user", "content": "a"},
      {"role": "assistant", "content": "b", "reasoning": "c", "tool_calls": [{"name": "f"}]},
      {"role": "assistant", "content": "d", "tool_calls": [{"name": "f"}]},
      {"role": "assistant", "content": "e"}])";
  ChatInput input;
  input.messages = parsed(kMessages);
  const std::vector<LostParts> lost = add_chat_tools(input, {}, facts);
  ASSERT_EQ(lost.size(), 2U);
  EXPECT_EQ(lost[0].member, "content");
  EXPECT_EQ(lost[0].first, 1U);
  EXPECT_EQ(lost[0].messages, 2U);
  EXPECT_EQ(lost[1].member, "reasoning_content");
  EXPECT_EQ(lost[1].messages, 1U);
  facts.reasoning_key = "thinking";
  facts.joins_text = true;
  facts.joins_thoughts = false;
  input.messages = parsed(kMessages);
  const std::vector<LostParts> other = add_chat_tools(input, {}, facts);
  ASSERT_EQ(other.size(), 1U);
  EXPECT_EQ(other[0].member, "reasoning_content");
}

TEST(ChatTools, TextBesideCallsIsWritten) {
  INGOT_NEEDS_SHARED(kTemplates);
  // These templates write no text beside calls.
  const std::set<std::string> refusing = {"Mistral-Small-3.2-24B-Instruct-2506",
                                          "mistralai-Mistral-Nemo-Instruct-2407"};
  const std::vector<Tool> tools = {{.name = "weather", .path = "tools[0].function"}};
  for (const Model& model : models()) {
    for (const bool has_thought : {false, true}) {
      ChatInput input;
      input.now.tm_mday = 1;
      Json reply = parsed(R"({"role": "assistant", "content": "qjsaid", "tool_calls": [{"id":
          "callabc12", "type": "function", "function": {"name": "weather", "arguments":
          "{\"city\": \"qjcity\"}"}}]})");
      if (has_thought) reply.set("reasoning_content", "qjthought");
      input.messages.push(json_object({{"role", "user"}, {"content", "qjasked"}}));
      input.messages.push(std::move(reply));
      input.messages.push(
          parsed(R"({"role": "tool", "tool_call_id": "callabc12", "content": "qjsun"})"));
      const std::vector<LostParts> lost = model.dialect->add_tools(input, tools, {});
      const auto loses = [&](std::string_view member) {
        return std::any_of(lost.begin(), lost.end(), [&](const LostParts& part) {
          EXPECT_EQ(part.first, 1U) << model.name;
          return part.member == member;
        });
      };
      const auto name_of = [](std::size_t) { return std::string("message"); };
      const std::string prompt = render_fitted(*model.chat_template, input, name_of).text.bytes;
      EXPECT_NE(prompt.find("qjcity"), std::string::npos) << model.name;
      EXPECT_NE(prompt.find("qjsun"), std::string::npos) << model.name;
      EXPECT_EQ(prompt.find("qjsaid") == std::string::npos, refusing.count(model.name) == 1)
          << model.name << (has_thought ? " with thought" : "");
      // The dialect tells what is lost, and nothing else.
      EXPECT_EQ(prompt.find("qjsaid") == std::string::npos, loses("content")) << model.name;
      // This template means to write the reasoning of the last message alone.
      if (model.name == "Apriel-1.6-15b-Thinker-fixed") continue;
      const bool is_thought_lost = has_thought && prompt.find("qjthought") == std::string::npos;
      EXPECT_EQ(is_thought_lost, loses("reasoning_content")) << model.name << "\n" << prompt;
    }
  }
}

}  // namespace
}  // namespace ingot
