// Calls of tools in messages: the forms that are read, and their arguments.
#include "server/common/message_calls.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace ingot {
namespace {

Json json(const std::string& text) { return parse_json(text, "test", "json"); }

const Json kEmpty = Json::object();

/// The converted calls, and the warnings about them.
std::string read(const std::string& calls, std::string* warned = nullptr) {
  Params params(kEmpty);
  const std::string out = normalised_calls(&params, "messages[1].tool_calls", json(calls)).dump();
  if (warned != nullptr && !params.warnings().is_null()) *warned = params.warnings().dump();
  return out;
}

std::string refused(const std::string& calls) {
  try {
    read(calls);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 400);
    constexpr std::string_view kPlace = "messages[1].tool_calls";
    EXPECT_TRUE(error.param.starts_with(kPlace)) << error.param;
    return error.param.substr(kPlace.size());
  }
  return "nothing";
}

/// A call with these arguments, as JSON.
std::string call(std::string_view arguments) {
  return cat(R"([{"id":"c","type":"function","function":{"name":"f","arguments":)", arguments,
             "}}]");
}

TEST(MessageCalls, ArgumentsBecomeObjects) {
  const std::string expected = call(R"({"a":1})");
  EXPECT_EQ(read(call(R"("{\"a\": 1}")")), expected);
  EXPECT_EQ(read(call(R"({"a":1})")), expected);
  EXPECT_EQ(read(call(R"("")")), call("{}"));
  EXPECT_EQ(read(call("null")), call("{}"));
}

TEST(MessageCalls, CutArgumentsStayText) {
  for (const char* arguments : {R"("{\"a\": 1")", R"("[1]")", R"("x")", R"("1")"}) {
    std::string warned;
    EXPECT_EQ(read(call(arguments), &warned), call(arguments));
    EXPECT_NE(warned.find(R"("messages[1].tool_calls[0].function.arguments","code":"not_json")"),
              warned.npos)
        << warned;
  }
}

TEST(MessageCalls, CustomCallsHaveOneArgument) {
  EXPECT_EQ(read(R"([{"id":"c","type":"custom","custom":{"name":"f","input":"x \"y\""}}])"),
            call(R"({"input":"x \"y\""})"));
}

TEST(MessageCalls, OlderCalls) {
  EXPECT_EQ(normalised_function_call(nullptr, "messages[1].function_call", "c",
                                     json(R"({"name":"f","arguments":"{}"})"))
                .dump(),
            call("{}"));
}

TEST(MessageCalls, RefusesBadCalls) {
  EXPECT_EQ(refused("5"), "");
  EXPECT_EQ(refused("[5]"), "[0]");
  EXPECT_EQ(refused("[{}]"), "[0]");
  EXPECT_EQ(refused(R"([{"function":{}}])"), "[0].function");
  EXPECT_EQ(refused(R"([{"id":5,"function":{"name":"f"}}])"), "[0]");
  EXPECT_EQ(refused(call("5")), "[0].function.arguments");
  EXPECT_EQ(refused(R"([{"type":"custom","custom":{"name":"f"}}])"), "[0].custom");
}

}  // namespace
}  // namespace ingot
