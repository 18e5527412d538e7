// Tools of a chat: what their file may hold, and how a reply becomes a message with calls.
#include "cli/chat/chat_tools.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace ingot {
namespace {

using Kind = ReplyEvent::Kind;

std::string tools_refusal(std::string_view text) {
  try {
    parse_chat_tools(text, "f.json");
    return "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    EXPECT_EQ(error.message().substr(0, 8), "f.json: ") << error.message();
    return error.message().substr(8);
  }
}

TEST(ChatTools, ReadsAFile) {
  const auto tools = parse_chat_tools(R"([
    {"type": "function", "command": ["date", "-u"],
     "function": {"name": "get_time", "description": "The time", "strict": true,
                  "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}}},
    {"type": "function", "command": ["ls"], "function": {"name": "list-files"}}])",
                                      "f.json");
  ASSERT_EQ(tools.size(), 2U);
  EXPECT_EQ(tools[0].tool.name, "get_time");
  EXPECT_EQ(tools[0].tool.description, "The time");
  EXPECT_TRUE(tools[0].tool.is_strict);
  EXPECT_EQ(tools[0].tool.path, "f.json: tools[0].function");
  EXPECT_NE(tools[0].tool.parameters.find("properties"), nullptr);
  EXPECT_EQ(tools[0].command, (std::vector<std::string>{"date", "-u"}));
  EXPECT_TRUE(tools[1].tool.parameters.is_null());
  EXPECT_FALSE(tools[1].tool.is_strict);
}

std::string one_tool(std::string_view function, std::string_view command) {
  return cat(R"([{"type": "function", "function": )", function, R"(, "command": )", command, "}]");
}

TEST(ChatTools, SaysWhatIsWrong) {
  const std::string_view good = R"({"name": "f"})";
  EXPECT_EQ(tools_refusal(one_tool(good, R"(["x"])")), "taken");
  EXPECT_EQ(tools_refusal("{}"), "tools: is an object, expected an array");
  EXPECT_EQ(tools_refusal("[]"), "tools: has 0 entries, possible are 1 to 128");
  EXPECT_EQ(tools_refusal("[1]"), "tools[0]: is an integer, expected an object");
  EXPECT_EQ(tools_refusal("[{}]"), "tools[0].type: is missing");
  EXPECT_EQ(tools_refusal(R"([{"type": "custom"}])"), R"(tools[0].type: is not "function")");
  EXPECT_EQ(tools_refusal(R"([{"type": "function", "x": 1}])"),
            "tools[0]: has an unknown member x");
  EXPECT_EQ(tools_refusal(one_tool("{}", "[]")), "tools[0].function.name: is missing");
  EXPECT_EQ(tools_refusal(one_tool(R"({"name": "a b"})", R"(["x"])")),
            "tools[0].function.name: expected 1 to 64 of a-z A-Z 0-9 _ -");
  EXPECT_EQ(tools_refusal(one_tool(R"({"name": "f", "parameters": []})", R"(["x"])")),
            "tools[0].function.parameters: is an array, expected an object");
  EXPECT_EQ(tools_refusal(one_tool(good, "[]")),
            "tools[0].command: has 0 words, possible are 1 to 256");
  EXPECT_EQ(tools_refusal(one_tool(good, R"("ls -l")")),
            "tools[0].command: is a string, expected an array of strings");
  EXPECT_EQ(tools_refusal(one_tool(good, R"([""])")),
            "tools[0].command[0]: is empty, expected a program");
  EXPECT_EQ(tools_refusal(one_tool(good, R"(["x", "\u0000"])")),
            "tools[0].command[1]: has a NUL character");
  EXPECT_EQ(tools_refusal(R"([{"type": "function", "function": {"name": "f"}, "command": ["x"]},
                        {"type": "function", "function": {"name": "f"}, "command": ["y"]}])"),
            "tools[1].function.name: f is the name of two tools");
  EXPECT_NE(tools_refusal("[{"), "taken");
}

/// Gives the events of a script: one list for each piece, and one for the end.
class ScriptedParser final : public ReplyParser {
 public:
  explicit ScriptedParser(std::vector<std::vector<ReplyEvent>> script)
      : script_(std::move(script)) {}
  void add(std::string_view /*piece*/, std::vector<ReplyEvent>& events) override { finish(events); }
  void finish(std::vector<ReplyEvent>& events) override {
    for (const ReplyEvent& event : script_[next_]) events.push_back(event);
    ++next_;
  }
  bool is_in_reasoning() const override { return false; }
  bool is_in_call() const override { return false; }

 private:
  std::vector<std::vector<ReplyEvent>> script_;
  std::size_t next_ = 0;
};

TEST(ToolReply, BecomesAMessage) {
  ToolReply reply(std::make_unique<ScriptedParser>(std::vector<std::vector<ReplyEvent>>{
                      {{Kind::kReasoning, "hm"}},
                      {{Kind::kReasoning, "m"}, {Kind::kContent, "I look."}},
                      {{Kind::kCallBegin, "f", 0}, {Kind::kCallArguments, "{\"a\"", 0}},
                      {{Kind::kCallArguments, ":1}", 0}, {Kind::kCallEnd, "", 0}},
                      {{Kind::kCallBegin, "g", 1}, {Kind::kCallArguments, "{", 1}}}),
                  7);
  EXPECT_EQ(reply.add("x"), "<think>\nhm");
  EXPECT_EQ(reply.add("x"), "m\n</think>\n\nI look.");
  EXPECT_EQ(reply.add("x"), "");
  EXPECT_EQ(reply.add("x"), "");
  EXPECT_EQ(reply.finish(), "");
  const ChatMessage message = reply.take();
  EXPECT_EQ(message.role, "assistant");
  EXPECT_EQ(message.reasoning, "hmm");
  EXPECT_EQ(message.content, "I look.");
  // The second call is not complete.
  EXPECT_EQ(message.calls, (std::vector<ChatCall>{{"call00007", "f", "{\"a\":1}"}}));
}

}  // namespace
}  // namespace ingot
