// Tools of a chat: read, refused or reported.
#include "server/common/tool_params.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "server/common/custom_tool_format.h"

namespace ingot {
namespace {

using ChoiceUse = ToolChoice::Use;

constexpr std::string_view kF = R"({"type":"function","function":{"name":"f"}})";
constexpr std::string_view kG = R"({"type":"function","function":{"name":"g"}})";

Json tools_json(const std::string& text) { return parse_json(text, "test", "json"); }

/// Reads the tools of a body that has only these members.
RequestTools tools_of(const std::string& members, std::string* warned = nullptr) {
  const Json body = tools_json(cat("{", members, "}"));
  Params params(body);
  RequestTools tools = read_chat_tools(params);
  params.finish();
  if (warned != nullptr && !params.warnings().is_null()) *warned = params.warnings().dump();
  return tools;
}

/// The param of the error about a body's members.
std::string refused_tools(const std::string& members) {
  try {
    tools_of(members);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 400);
    EXPECT_TRUE(error.message.starts_with(error.param)) << error.message;
    return error.param;
  }
  return "nothing";
}

std::string function_tool(std::string_view rest) {
  return cat(R"("tools":[{"type":"function","function":{"name":"f",)", rest, "}}]");
}

std::string custom_tool(std::string_view format) {
  return cat(R"("tools":[{"type":"custom","custom":{"name":"c","format":)", format, "}}]");
}

TEST(ToolParams, ReadsFunctions) {
  const RequestTools found =
      tools_of(function_tool(R"("description":"d","parameters":{"type":"object"},"strict":true)"));
  ASSERT_EQ(found.tools.size(), 1u);
  const Tool& tool = found.tools.front();
  EXPECT_EQ(tool.kind, Tool::Kind::kFunction);
  EXPECT_EQ(tool.name, "f");
  EXPECT_EQ(tool.description, "d");
  EXPECT_EQ(tool.parameters.dump(), R"({"type":"object"})");
  EXPECT_TRUE(tool.is_strict);
  EXPECT_EQ(tool.path, "tools[0].function");
  EXPECT_EQ(found.choice.use, ChoiceUse::kAuto);
  EXPECT_TRUE(found.choice.parallel);
  EXPECT_FALSE(found.is_legacy);
}

TEST(ToolParams, SchemasThatSayNothingAreNull) {
  for (const char* rest : {R"("parameters":{})", R"("parameters":null)", R"("description":null)"}) {
    EXPECT_TRUE(tools_of(function_tool(rest)).tools.front().parameters.is_null()) << rest;
  }
}

TEST(ToolParams, RefusesBadTools) {
  EXPECT_EQ(refused_tools(R"("tools":{})"), "tools");
  EXPECT_EQ(refused_tools(R"("tools":[1])"), "tools[0]");
  EXPECT_EQ(refused_tools(R"("tools":[{}])"), "tools[0]");
  EXPECT_EQ(refused_tools(R"("tools":[{"type":"web_search"}])"), "tools[0].type");
  EXPECT_EQ(refused_tools(R"("tools":[{"type":"function"}])"), "tools[0]");
  EXPECT_EQ(refused_tools(R"("tools":[{"type":"function","function":{}}])"),
            "tools[0].function.name");
  EXPECT_EQ(refused_tools(function_tool(R"("parameters":[])")), "tools[0].function.parameters");
  EXPECT_EQ(refused_tools(function_tool(R"("parameters":"x")")), "tools[0].function.parameters");
  EXPECT_EQ(refused_tools(function_tool(R"("strict":1)")), "tools[0].function.strict");
  EXPECT_EQ(refused_tools(function_tool(R"("description":1)")), "tools[0].function.description");
}

TEST(ToolParams, ChecksNames) {
  const auto named = [](const std::string& name) {
    return cat(R"("tools":[{"type":"function","function":{"name":)", Json(name).dump(), "}}]");
  };
  EXPECT_EQ(tools_of(named("a-B_9.x")).tools.front().name, "a-B_9.x");
  EXPECT_EQ(tools_of(named(std::string(128, 'a'))).tools.size(), 1u);
  for (const std::string& name :
       {std::string(), std::string(129, 'a'), std::string("a b"), std::string("\u00e9")}) {
    EXPECT_EQ(refused_tools(named(name)), "tools[0].function.name") << name;
  }
  EXPECT_EQ(refused_tools(cat(R"("tools":[)", kF, ",", kG, ",", kF, "]")),
            "tools[2].function.name");
}

TEST(ToolParams, TakesAtMost128) {
  const auto many = [](int count) {
    std::string list;
    for (int i = 0; i < count; ++i) {
      list += cat(i > 0 ? "," : "", R"({"type":"function","function":{"name":"f)", i, "\"}}");
    }
    return cat("\"tools\":[", list, "]");
  };
  EXPECT_EQ(tools_of(many(128)).tools.size(), 128u);
  EXPECT_EQ(refused_tools(many(129)), "tools");
}

TEST(ToolParams, WarnsAboutUnknownMembers) {
  std::string warned;
  tools_of(function_tool(R"("colour":1)"), &warned);
  EXPECT_NE(warned.find(R"("param":"tools[0].function.colour","code":"unknown")"), warned.npos)
      << warned;
}

TEST(ToolParams, ReadsChoices) {
  const std::string tools = cat("\"tools\":[", kF, ",", kG, "]");
  const auto choice = [&](std::string_view text) {
    return tools_of(cat(tools, ",\"tool_choice\":", text)).choice;
  };
  EXPECT_EQ(choice("\"auto\"").use, ChoiceUse::kAuto);
  EXPECT_EQ(choice("\"required\"").use, ChoiceUse::kRequired);
  EXPECT_TRUE(choice("\"required\"").allowed.empty());
  const std::vector<std::string> g{"g"};
  for (const std::string_view named :
       {R"({"type":"function","function":{"name":"g"}})", R"({"type":"function","name":"g"})"}) {
    EXPECT_EQ(choice(named).use, ChoiceUse::kRequired);
    EXPECT_EQ(choice(named).allowed, g);
    EXPECT_FALSE(choice(named).parallel);
  }
  const std::string list = cat(R"("mode":"auto","tools":[)", kG, "]}");
  for (const std::string& allowed : {cat(R"({"type":"allowed_tools","allowed_tools":{)", list, "}"),
                                     cat(R"({"type":"allowed_tools",)", list)}) {
    EXPECT_EQ(choice(allowed).use, ChoiceUse::kAuto);
    EXPECT_EQ(choice(allowed).allowed, g);
    EXPECT_TRUE(choice(allowed).parallel);
  }
}

TEST(ToolParams, ChoiceNoneHidesTools) {
  std::string warned;
  const RequestTools found = tools_of(cat("\"tools\":[", kF, R"(],"tool_choice":"none")"), &warned);
  EXPECT_TRUE(found.empty());
  EXPECT_EQ(found.choice.use, ChoiceUse::kNone);
  EXPECT_EQ(warned, "");
}

TEST(ToolParams, RefusesBadChoices) {
  const std::string tools = cat("\"tools\":[", kF, "],\"tool_choice\":");
  EXPECT_EQ(refused_tools(cat(tools, "\"x\"")), "tool_choice");
  EXPECT_EQ(refused_tools(cat(tools, "5")), "tool_choice");
  EXPECT_EQ(refused_tools(cat(tools, "{}")), "tool_choice");
  EXPECT_EQ(refused_tools(cat(tools, R"({"type":"web_search"})")), "tool_choice.type");
  EXPECT_EQ(refused_tools(cat(tools, R"({"type":"function"})")), "tool_choice");
  EXPECT_EQ(refused_tools(cat(tools, kG)), "tool_choice");
  EXPECT_EQ(refused_tools(cat(tools, R"({"type":"allowed_tools","mode":"none","tools":[]})")),
            "tool_choice.mode");
  EXPECT_EQ(refused_tools(cat(tools, R"({"type":"allowed_tools","mode":"auto","tools":[]})")),
            "tool_choice.tools");
  EXPECT_EQ(
      refused_tools(cat(tools, R"({"type":"allowed_tools","mode":"auto","tools":[)", kG, "]}")),
      "tool_choice");
}

TEST(ToolParams, MembersWithoutToolsHaveNoEffect) {
  for (const char* members : {R"("tools":[])", R"("tool_choice":"auto")", R"("tool_choice":"none")",
                              R"("parallel_tool_calls":true)"}) {
    std::string warned;
    const RequestTools found = tools_of(members, &warned);
    EXPECT_TRUE(found.empty());
    EXPECT_EQ(found.choice.use, ChoiceUse::kNone);
    EXPECT_NE(warned.find("\"ignored\""), warned.npos) << members << warned;
  }
  EXPECT_EQ(refused_tools(R"("tool_choice":"required")"), "tool_choice");
  EXPECT_EQ(refused_tools(R"("tools":[],"tool_choice":"required")"), "tool_choice");
}

TEST(ToolParams, OneCallIfCallsMayNotBeParallel) {
  const std::string tools = cat("\"tools\":[", kF, "],\"parallel_tool_calls\":");
  EXPECT_TRUE(tools_of(cat(tools, "true")).choice.parallel);
  EXPECT_FALSE(tools_of(cat(tools, "false")).choice.parallel);
  EXPECT_EQ(refused_tools(cat(tools, "1")), "parallel_tool_calls");
}

TEST(ToolParams, ReadsOlderFunctions) {
  const std::string functions = R"("functions":[{"name":"f","parameters":{"type":"object"}}])";
  const RequestTools found = tools_of(functions);
  EXPECT_TRUE(found.is_legacy);
  EXPECT_FALSE(found.choice.parallel);
  EXPECT_EQ(found.tools.front().path, "functions[0]");
  const RequestTools named = tools_of(cat(functions, R"(,"function_call":{"name":"f"})"));
  EXPECT_EQ(named.choice.use, ChoiceUse::kRequired);
  EXPECT_EQ(named.choice.allowed, std::vector<std::string>{"f"});
  EXPECT_TRUE(tools_of(cat(functions, R"(,"function_call":"none")")).empty());
  EXPECT_EQ(refused_tools(cat(functions, R"(,"function_call":{"name":"g"})")), "function_call");
  EXPECT_EQ(refused_tools(cat(functions, ",\"tools\":[", kF, "]")), "functions");
  EXPECT_EQ(refused_tools(R"("functions":[{}])"), "functions[0].name");
}

TEST(ToolParams, ReadsCustomTools) {
  const auto tool = [](std::string_view format) {
    return tools_of(custom_tool(format)).tools.front();
  };
  EXPECT_EQ(tool("null").kind, Tool::Kind::kCustom);
  EXPECT_EQ(tool(R"({"type":"text"})").grammar_kind, Tool::Grammar::kText);
  const Tool regex = tool(R"({"type":"grammar","grammar":{"syntax":"regex","definition":"a+"}})");
  EXPECT_EQ(regex.grammar_kind, Tool::Grammar::kRegex);
  EXPECT_EQ(regex.grammar, "a+");
  const Tool gbnf = tool(R"({"type":"grammar","syntax":"gbnf","definition":"root ::= \"a\""})");
  EXPECT_EQ(gbnf.grammar_kind, Tool::Grammar::kGbnf);
  EXPECT_EQ(gbnf.grammar, "root ::= \"a\"");
}

TEST(ToolParams, TakesLark) {
  const auto lark = [](const std::string& definition) {
    return custom_tool(
        cat(R"({"type":"grammar","syntax":"lark","definition":)", Json(definition).dump(), "}"));
  };
  EXPECT_EQ(tools_of(lark("start: /a\\/b\\d+/")).tools.front().grammar, "a/b\\d+");
  EXPECT_EQ(tools_of(lark("\n start : /x/ \n")).tools.front().grammar, "x");
  for (const char* definition :
       {"start: a\na: /x/", "start: /a/ /b/", "start: \"x\"", "start: /x/i",
        "start: \"x\"\n%ignore \"y\"", "start: \"x\" | start \"y\""}) {
    EXPECT_EQ(tools_of(lark(definition)).tools.front().grammar_kind, Tool::Grammar::kGbnf)
        << definition;
  }
  for (const char* definition :
       {"start: /x/x", "start: /(?=x)x/ \"y\"", "starter: /x/", "start: start \"x\"", ""}) {
    std::string warned;
    const Tool tool = tools_of(lark(definition), &warned).tools.front();
    EXPECT_EQ(tool.grammar_kind, Tool::Grammar::kText) << definition;
    EXPECT_NE(warned.find(R"("tools[0].custom.format.definition","code":"not_enforced")"),
              warned.npos)
        << warned;
  }
}

TEST(ToolParams, LarkTakesWhatLarkTakes) {
  const auto lark = [](const std::string& definition) {
    return custom_tool(
        cat(R"({"type":"grammar","syntax":"lark","definition":)", Json(definition).dump(), "}"));
  };
  // Escapes that ECMA-262 reads otherwise are translated, or give free text.
  for (const char* definition : {"start: /\\W/", "start: /\\s/", "start: /a\\S/"}) {
    EXPECT_EQ(tools_of(lark(definition)).tools.front().grammar_kind, Tool::Grammar::kGbnf)
        << definition;
  }
  std::string warned;
  EXPECT_EQ(tools_of(lark("start: /\\bx/"), &warned).tools.front().grammar_kind,
            Tool::Grammar::kText);
  const Tool tool = tools_of(lark("start: A \"a\"\nA: /a+/"), &warned).tools.front();
  EXPECT_EQ(tool.grammar_kind, Tool::Grammar::kGbnf);
  EXPECT_NE(warned.find("Lark takes the longest text of A"), warned.npos) << warned;
}

TEST(ToolParams, LarkSpendsFromOneBudget) {
  std::string rule = "start: \"x\"";
  for (int i = 0; i < 800; ++i) rule += " | /x" + std::to_string(i) + "+/";
  CompileBudget budget;
  const Json none = tools_json("{}");
  Params params(none);
  const Json format =
      tools_json(cat(R"({"type":"grammar","syntax":"lark","definition":)", Json(rule).dump(), "}"));
  Tool tool;
  for (int i = 0; i < 128; ++i) read_custom_format(params, "format", format, tool, budget);
  EXPECT_LT(budget.left(), CompileBudget::kStepsMax / 2);
}

TEST(ToolParams, RefusesBadCustomFormats) {
  EXPECT_EQ(refused_tools(custom_tool("5")), "tools[0].custom.format");
  EXPECT_EQ(refused_tools(custom_tool("{}")), "tools[0].custom.format");
  EXPECT_EQ(refused_tools(custom_tool(R"({"type":"x"})")), "tools[0].custom.format.type");
  EXPECT_EQ(refused_tools(custom_tool(R"({"type":"grammar","syntax":"x","definition":""})")),
            "tools[0].custom.format.syntax");
  EXPECT_EQ(refused_tools(custom_tool(R"({"type":"grammar","grammar":{"syntax":"regex"}})")),
            "tools[0].custom.format.grammar");
}

}  // namespace
}  // namespace ingot
