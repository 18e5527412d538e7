// Calls of tools in messages: the forms that are read, and their arguments.
#include "server/common/message_calls.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace ingot {
namespace {

Json calls_json(const std::string& text) { return parse_json(text, "test", "json"); }

const Json kNoMembers = Json::object();

/// The converted calls, and the warnings about them.
std::string read_calls(const std::string& calls, std::string* warned = nullptr) {
  Params params(kNoMembers);
  const std::string out =
      normalised_calls(&params, "messages[1].tool_calls", calls_json(calls)).dump();
  if (warned != nullptr && !params.warnings().is_null()) *warned = params.warnings().dump();
  return out;
}

std::string refused_calls(const std::string& calls) {
  try {
    read_calls(calls);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 400);
    constexpr std::string_view kPlace = "messages[1].tool_calls";
    EXPECT_TRUE(error.param.starts_with(kPlace)) << error.param;
    return error.param.substr(kPlace.size());
  }
  return "nothing";
}

/// A call with these arguments, as JSON.
std::string call_with(std::string_view arguments) {
  return cat(R"([{"id":"c","type":"function","function":{"name":"f","arguments":)", arguments,
             "}}]");
}

TEST(MessageCalls, ArgumentsBecomeObjects) {
  const std::string expected = call_with(R"({"a":1})");
  EXPECT_EQ(read_calls(call_with(R"("{\"a\": 1}")")), expected);
  EXPECT_EQ(read_calls(call_with(R"({"a":1})")), expected);
  EXPECT_EQ(read_calls(call_with(R"("")")), call_with("{}"));
  EXPECT_EQ(read_calls(call_with("null")), call_with("{}"));
}

TEST(MessageCalls, CutArgumentsStayText) {
  for (const char* arguments : {R"("{\"a\": 1")", R"("[1]")", R"("x")", R"("1")"}) {
    std::string warned;
    EXPECT_EQ(read_calls(call_with(arguments), &warned), call_with(arguments));
    EXPECT_NE(warned.find(R"("messages[1].tool_calls[0].function.arguments","code":"not_json")"),
              warned.npos)
        << warned;
  }
}

TEST(MessageCalls, CustomCallsHaveOneArgument) {
  EXPECT_EQ(read_calls(R"([{"id":"c","type":"custom","custom":{"name":"f","input":"x \"y\""}}])"),
            call_with(R"({"input":"x \"y\""})"));
}

TEST(MessageCalls, OlderCalls) {
  EXPECT_EQ(normalised_function_call(nullptr, "messages[1].function_call", "c",
                                     calls_json(R"({"name":"f","arguments":"{}"})"))
                .dump(),
            call_with("{}"));
}

TEST(MessageCalls, RefusesBadCalls) {
  EXPECT_EQ(refused_calls("5"), "");
  EXPECT_EQ(refused_calls("[5]"), "[0]");
  EXPECT_EQ(refused_calls("[{}]"), "[0]");
  EXPECT_EQ(refused_calls(R"([{"function":{}}])"), "[0].function");
  EXPECT_EQ(refused_calls(R"([{"id":5,"function":{"name":"f"}}])"), "[0]");
  EXPECT_EQ(refused_calls(call_with("5")), "[0].function.arguments");
  EXPECT_EQ(refused_calls(R"([{"type":"custom","custom":{"name":"f"}}])"), "[0].custom");
}

}  // namespace
}  // namespace ingot
