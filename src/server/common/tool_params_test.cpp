// Tools of a chat: read, refused or reported.
#include "server/common/tool_params.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace ingot {
namespace {

using Use = ToolChoice::Use;

constexpr std::string_view kF = R"({"type":"function","function":{"name":"f"}})";
constexpr std::string_view kG = R"({"type":"function","function":{"name":"g"}})";

Json json(const std::string& text) { return parse_json(text, "test", "json"); }

/// Reads the tools of a body that has only these members.
RequestTools read(const std::string& members, std::string* warned = nullptr) {
  const Json body = json(cat("{", members, "}"));
  Params params(body);
  RequestTools tools = read_chat_tools(params);
  params.finish();
  if (warned != nullptr && !params.warnings().is_null()) *warned = params.warnings().dump();
  return tools;
}

/// The param of the error about a body's members.
std::string refused(const std::string& members) {
  try {
    read(members);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 400);
    EXPECT_TRUE(error.message.starts_with(error.param)) << error.message;
    return error.param;
  }
  return "nothing";
}

std::string function(std::string_view rest) {
  return cat(R"("tools":[{"type":"function","function":{"name":"f",)", rest, "}}]");
}

std::string custom(std::string_view format) {
  return cat(R"("tools":[{"type":"custom","custom":{"name":"c","format":)", format, "}}]");
}

TEST(ToolParams, ReadsFunctions) {
  const RequestTools found =
      read(function(R"("description":"d","parameters":{"type":"object"},"strict":true)"));
  ASSERT_EQ(found.tools.size(), 1u);
  const Tool& tool = found.tools.front();
  EXPECT_EQ(tool.kind, Tool::Kind::kFunction);
  EXPECT_EQ(tool.name, "f");
  EXPECT_EQ(tool.description, "d");
  EXPECT_EQ(tool.parameters.dump(), R"({"type":"object"})");
  EXPECT_TRUE(tool.is_strict);
  EXPECT_EQ(tool.path, "tools[0].function");
  EXPECT_EQ(found.choice.use, Use::kAuto);
  EXPECT_TRUE(found.choice.parallel);
  EXPECT_FALSE(found.is_legacy);
}

TEST(ToolParams, SchemasThatSayNothingAreNull) {
  for (const char* rest : {R"("parameters":{})", R"("parameters":null)", R"("description":null)"}) {
    EXPECT_TRUE(read(function(rest)).tools.front().parameters.is_null()) << rest;
  }
}

TEST(ToolParams, RefusesBadTools) {
  EXPECT_EQ(refused(R"("tools":{})"), "tools");
  EXPECT_EQ(refused(R"("tools":[1])"), "tools[0]");
  EXPECT_EQ(refused(R"("tools":[{}])"), "tools[0]");
  EXPECT_EQ(refused(R"("tools":[{"type":"web_search"}])"), "tools[0].type");
  EXPECT_EQ(refused(R"("tools":[{"type":"function"}])"), "tools[0]");
  EXPECT_EQ(refused(R"("tools":[{"type":"function","function":{}}])"), "tools[0].function.name");
  EXPECT_EQ(refused(function(R"("parameters":[])")), "tools[0].function.parameters");
  EXPECT_EQ(refused(function(R"("parameters":"x")")), "tools[0].function.parameters");
  EXPECT_EQ(refused(function(R"("strict":1)")), "tools[0].function.strict");
  EXPECT_EQ(refused(function(R"("description":1)")), "tools[0].function.description");
}

TEST(ToolParams, ChecksNames) {
  const auto named = [](const std::string& name) {
    return cat(R"("tools":[{"type":"function","function":{"name":)", Json(name).dump(), "}}]");
  };
  EXPECT_EQ(read(named("a-B_9.x")).tools.front().name, "a-B_9.x");
  EXPECT_EQ(read(named(std::string(128, 'a'))).tools.size(), 1u);
  for (const std::string& name :
       {std::string(), std::string(129, 'a'), std::string("a b"), std::string("\u00e9")}) {
    EXPECT_EQ(refused(named(name)), "tools[0].function.name") << name;
  }
  EXPECT_EQ(refused(cat(R"("tools":[)", kF, ",", kG, ",", kF, "]")), "tools[2].function.name");
}

TEST(ToolParams, TakesAtMost128) {
  const auto many = [](int count) {
    std::string list;
    for (int i = 0; i < count; ++i) {
      list += cat(i > 0 ? "," : "", R"({"type":"function","function":{"name":"f)", i, "\"}}");
    }
    return cat("\"tools\":[", list, "]");
  };
  EXPECT_EQ(read(many(128)).tools.size(), 128u);
  EXPECT_EQ(refused(many(129)), "tools");
}

TEST(ToolParams, WarnsAboutUnknownMembers) {
  std::string warned;
  read(function(R"("colour":1)"), &warned);
  EXPECT_NE(warned.find(R"("param":"tools[0].function.colour","code":"unknown")"), warned.npos)
      << warned;
}

TEST(ToolParams, ReadsChoices) {
  const std::string tools = cat("\"tools\":[", kF, ",", kG, "]");
  const auto choice = [&](std::string_view text) {
    return read(cat(tools, ",\"tool_choice\":", text)).choice;
  };
  EXPECT_EQ(choice("\"auto\"").use, Use::kAuto);
  EXPECT_EQ(choice("\"required\"").use, Use::kRequired);
  EXPECT_TRUE(choice("\"required\"").allowed.empty());
  const std::vector<std::string> g{"g"};
  for (const std::string_view named :
       {R"({"type":"function","function":{"name":"g"}})", R"({"type":"function","name":"g"})"}) {
    EXPECT_EQ(choice(named).use, Use::kRequired);
    EXPECT_EQ(choice(named).allowed, g);
    EXPECT_FALSE(choice(named).parallel);
  }
  const std::string list = cat(R"("mode":"auto","tools":[)", kG, "]}");
  for (const std::string& allowed : {cat(R"({"type":"allowed_tools","allowed_tools":{)", list, "}"),
                                     cat(R"({"type":"allowed_tools",)", list)}) {
    EXPECT_EQ(choice(allowed).use, Use::kAuto);
    EXPECT_EQ(choice(allowed).allowed, g);
    EXPECT_TRUE(choice(allowed).parallel);
  }
}

TEST(ToolParams, ChoiceNoneHidesTools) {
  std::string warned;
  const RequestTools found = read(cat("\"tools\":[", kF, R"(],"tool_choice":"none")"), &warned);
  EXPECT_TRUE(found.empty());
  EXPECT_EQ(found.choice.use, Use::kNone);
  EXPECT_EQ(warned, "");
}

TEST(ToolParams, RefusesBadChoices) {
  const std::string tools = cat("\"tools\":[", kF, "],\"tool_choice\":");
  EXPECT_EQ(refused(cat(tools, "\"x\"")), "tool_choice");
  EXPECT_EQ(refused(cat(tools, "5")), "tool_choice");
  EXPECT_EQ(refused(cat(tools, "{}")), "tool_choice");
  EXPECT_EQ(refused(cat(tools, R"({"type":"web_search"})")), "tool_choice.type");
  EXPECT_EQ(refused(cat(tools, R"({"type":"function"})")), "tool_choice");
  EXPECT_EQ(refused(cat(tools, kG)), "tool_choice");
  EXPECT_EQ(refused(cat(tools, R"({"type":"allowed_tools","mode":"none","tools":[]})")),
            "tool_choice.mode");
  EXPECT_EQ(refused(cat(tools, R"({"type":"allowed_tools","mode":"auto","tools":[]})")),
            "tool_choice.tools");
  EXPECT_EQ(refused(cat(tools, R"({"type":"allowed_tools","mode":"auto","tools":[)", kG, "]}")),
            "tool_choice");
}

TEST(ToolParams, MembersWithoutToolsHaveNoEffect) {
  for (const char* members : {R"("tools":[])", R"("tool_choice":"auto")", R"("tool_choice":"none")",
                              R"("parallel_tool_calls":true)"}) {
    std::string warned;
    const RequestTools found = read(members, &warned);
    EXPECT_TRUE(found.empty());
    EXPECT_EQ(found.choice.use, Use::kNone);
    EXPECT_NE(warned.find("\"ignored\""), warned.npos) << members << warned;
  }
  EXPECT_EQ(refused(R"("tool_choice":"required")"), "tool_choice");
  EXPECT_EQ(refused(R"("tools":[],"tool_choice":"required")"), "tool_choice");
}

TEST(ToolParams, OneCallIfCallsMayNotBeParallel) {
  const std::string tools = cat("\"tools\":[", kF, "],\"parallel_tool_calls\":");
  EXPECT_TRUE(read(cat(tools, "true")).choice.parallel);
  EXPECT_FALSE(read(cat(tools, "false")).choice.parallel);
  EXPECT_EQ(refused(cat(tools, "1")), "parallel_tool_calls");
}

TEST(ToolParams, ReadsOlderFunctions) {
  const std::string functions = R"("functions":[{"name":"f","parameters":{"type":"object"}}])";
  const RequestTools found = read(functions);
  EXPECT_TRUE(found.is_legacy);
  EXPECT_FALSE(found.choice.parallel);
  EXPECT_EQ(found.tools.front().path, "functions[0]");
  const RequestTools named = read(cat(functions, R"(,"function_call":{"name":"f"})"));
  EXPECT_EQ(named.choice.use, Use::kRequired);
  EXPECT_EQ(named.choice.allowed, std::vector<std::string>{"f"});
  EXPECT_TRUE(read(cat(functions, R"(,"function_call":"none")")).empty());
  EXPECT_EQ(refused(cat(functions, R"(,"function_call":{"name":"g"})")), "function_call");
  EXPECT_EQ(refused(cat(functions, ",\"tools\":[", kF, "]")), "functions");
  EXPECT_EQ(refused(R"("functions":[{}])"), "functions[0].name");
}

TEST(ToolParams, ReadsCustomTools) {
  const auto tool = [](std::string_view format) { return read(custom(format)).tools.front(); };
  EXPECT_EQ(tool("null").kind, Tool::Kind::kCustom);
  EXPECT_EQ(tool(R"({"type":"text"})").grammar_kind, Tool::Grammar::kText);
  const Tool regex = tool(R"({"type":"grammar","grammar":{"syntax":"regex","definition":"a+"}})");
  EXPECT_EQ(regex.grammar_kind, Tool::Grammar::kRegex);
  EXPECT_EQ(regex.grammar, "a+");
  const Tool gbnf = tool(R"({"type":"grammar","syntax":"gbnf","definition":"root ::= \"a\""})");
  EXPECT_EQ(gbnf.grammar_kind, Tool::Grammar::kGbnf);
  EXPECT_EQ(gbnf.grammar, "root ::= \"a\"");
}

TEST(ToolParams, TakesLarkOfOneExpression) {
  const auto lark = [](const std::string& definition) {
    return custom(
        cat(R"({"type":"grammar","syntax":"lark","definition":)", Json(definition).dump(), "}"));
  };
  EXPECT_EQ(read(lark("start: /a\\/b\\d+/")).tools.front().grammar, "a/b\\d+");
  EXPECT_EQ(read(lark("\n start : /x/ \n")).tools.front().grammar, "x");
  for (const char* definition : {"start: a\na: /x/", "start: /x/i", "start: /a/ /b/",
                                 "start: \"x\"", "starter: /x/", "start: //", ""}) {
    EXPECT_EQ(refused(lark(definition)), "tools[0].custom.format.definition") << definition;
  }
}

TEST(ToolParams, RefusesBadCustomFormats) {
  EXPECT_EQ(refused(custom("5")), "tools[0].custom.format");
  EXPECT_EQ(refused(custom("{}")), "tools[0].custom.format");
  EXPECT_EQ(refused(custom(R"({"type":"x"})")), "tools[0].custom.format.type");
  EXPECT_EQ(refused(custom(R"({"type":"grammar","syntax":"x","definition":""})")),
            "tools[0].custom.format.syntax");
  EXPECT_EQ(refused(custom(R"({"type":"grammar","grammar":{"syntax":"regex"}})")),
            "tools[0].custom.format.grammar");
}

}  // namespace
}  // namespace ingot
