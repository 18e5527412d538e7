// Tests of reply parsers: what each family's replies mean, and that pieces make no difference.
#include "text/chat/tools/syntax_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "load/json_object.h"
#include "text/chat/tools/syntax_test_util.h"

namespace ingot {
namespace {

using testing::parse_reply;
using testing::ParsedReply;
using testing::syntax_named;

std::vector<Tool> weather_tools() {
  const char* parameters = R"({"type": "object", "properties": {"city": {"type": "string"},
      "days": {"type": "integer"}, "tags": {"type": "array"},
      "note": {"type": ["string", "null", "number"]}}})";
  return {{.name = "weather", .parameters = parse_json(parameters, "test", "")},
          {.name = "now"},
          {.kind = Tool::Kind::kCustom, .name = "shell"}};
}

/// Parses in pieces of each size. The events must not depend on it.
ParsedReply parse(std::string_view syntax, std::string_view text, bool in_reasoning = false) {
  const ParsedReply whole =
      parse_reply(syntax_named(syntax), weather_tools(), text, text.size(), in_reasoning);
  for (std::size_t piece = 1; piece < 8; ++piece) {
    const ParsedReply cut =
        parse_reply(syntax_named(syntax), weather_tools(), text, piece, in_reasoning);
    EXPECT_EQ(cut.log, whole.log) << text << " in pieces of " << piece;
  }
  return whole;
}

TEST(SyntaxParser, CallsContentAndReasoning) {
  const ParsedReply reply =
      parse("hermes",
            "<think>\nso\n</think>\n\nLet me see.\n<tool_call>\n{\"name\": "
            "\"weather\", \"arguments\": {\"city\": \"Köln\"}}\n</tool_call>\n"
            "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\nDone.");
  EXPECT_EQ(reply.log,
            "R(so\n)C(Let me see.)B(weather)A({\"city\": \"Köln\"})EB(now)A({})EC(Done.)");
}

void expect_parts(std::string_view text, bool in_reasoning, std::string_view reasoning,
                  std::string_view content) {
  const ParsedReply reply = parse("hermes", text, in_reasoning);
  EXPECT_EQ(reply.reasoning, reasoning) << text;
  EXPECT_EQ(reply.content, content) << text;
}

TEST(SyntaxParser, ReasoningIsWhatStandsBetweenTheTags) {
  expect_parts("<think>so\nand so\n</think>\n\nThe answer.", false, "so\nand so\n", "The answer.");
  expect_parts("<think>\nso</think>The answer.", false, "so", "The answer.");
  expect_parts("The answer.", false, "", "The answer.");
  expect_parts("", false, "", "");
  expect_parts("<think></think>The answer.", false, "", "The answer.");
}

TEST(SyntaxParser, ReasoningMayBeginInThePrompt) {
  expect_parts("so</think>The answer.", true, "so", "The answer.");
  expect_parts("\n so", true, "so", "");
  expect_parts("", true, "", "");
}

TEST(SyntaxParser, ReasoningMayNotEnd) {
  expect_parts("<think>and then", false, "and then", "");
  expect_parts("and then </thi", true, "and then </thi", "");
  expect_parts("<thi", false, "", "<thi");
}

TEST(SyntaxParser, ReadsWhatOnlyLooksLikeTags) {
  expect_parts("a < b, and a <b> c", false, "", "a < b, and a <b> c");
  expect_parts("<thinking>no", false, "", "<thinking>no");
  expect_parts("no </think> here", false, "", "no </think> here");
  expect_parts("a </thin </think>b", true, "a </thin ", "b");
  expect_parts("<</think>b", true, "<", "b");
}

TEST(SyntaxParser, ArgumentsPassByteForByte) {
  EXPECT_EQ(parse("hermes",
                  "<tool_call>{ \"name\" : \"now\",\"arguments\":{\"a\" :[1, {\"b\":\"}\\\"\"}]} }"
                  "</tool_call>")
                .log,
            "B(now)A({\"a\" :[1, {\"b\":\"}\\\"\"}]})E");
}

TEST(SyntaxParser, ArgumentsMayComeBeforeTheName) {
  EXPECT_EQ(
      parse("hermes", "<tool_call>{\"arguments\": {\"a\": 1}, \"name\": \"now\"}</tool_call>").log,
      "B(now)A({\"a\": 1})E");
}

TEST(SyntaxParser, WhatIsNoCallIsContent) {
  for (const char* text :
       {"a <tool_call> b", "<tool_call>\n{\"nam", "<tool_call>{\"x\": 1}</tool_call>", "<tool_cal",
        "<tool_call>[1]</tool_call>", "<<tool_call", "x < y\n\n<b", "<tool_call><tool_call>"}) {
    EXPECT_EQ(parse("hermes", text).log, std::string("C(") + text + ")");
  }
  EXPECT_EQ(parse("hermes", "<tool_call><tool_call>{\"name\": \"now\", \"arguments\": {}}").log,
            "C(<tool_call>)B(now)A({})E");
}

TEST(SyntaxParser, ACutCallHasNoEnd) {
  EXPECT_EQ(
      parse("hermes", "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"K").log,
      "B(weather)A({\"city\": \"K)");
  EXPECT_EQ(parse("qwen3-coder", "<tool_call>\n<function=weather>\n<parameter=city>\nKö").log,
            "B(weather)A({\"city\": \"Kö)");
}

TEST(SyntaxParser, ListsOfObjects) {
  EXPECT_EQ(parse("mistral-nemo",
                  "Hm. [TOOL_CALLS][{\"name\": \"weather\", \"arguments\": {\"days\": 2}, \"id\": "
                  "\"abcdefghi\"}, {\"name\": \"now\", \"arguments\": {}}]")
                .log,
            "C(Hm.)B(weather)A({\"days\": 2})EB(now)A({})E");
  EXPECT_EQ(
      parse("command-r7b",
            "<|START_THINKING|>I plan.<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": "
            "\"0\", \"tool_name\": \"now\", \"parameters\": {}}\n]<|END_ACTION|>")
          .log,
      "C(<|START_THINKING|>I plan.<|END_THINKING|>)B(now)A({})E");
}

TEST(SyntaxParser, BareObjectsAreCallsOfKnownToolsOnly) {
  EXPECT_EQ(parse("llama3", "{\"name\": \"now\", \"parameters\": {}}").log, "B(now)A({})E");
  EXPECT_EQ(parse("llama3",
                  "{\"name\": \"now\", \"parameters\": {}}; {\"name\": \"now\", \"parameters\": "
                  "{\"a\": 1}}")
                .log,
            "B(now)A({})EB(now)A({\"a\": 1})E");
  for (const char* text :
       {"{\"name\": \"Ann\", \"parameters\": {}}", "{\"name\": \"now\"}",
        "Look: {\"name\": \"now\", \"parameters\": {}}", "{\"name\": \"now\", \"age\": 3}"}) {
    EXPECT_EQ(parse("llama3", text).log, std::string("C(") + text + ")");
  }
}

TEST(SyntaxParser, NamesBeforeJson) {
  EXPECT_EQ(parse("mistral", "[TOOL_CALLS]weather[ARGS]{\"days\": 1}[TOOL_CALLS]now[ARGS]{}").log,
            "B(weather)A({\"days\": 1})EB(now)A({})E");
  EXPECT_EQ(
      parse("kimi-k2",
            "Yes.<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0"
            "<|tool_call_argument_begin|>{\"days\": 1}<|tool_call_end|><|tool_calls_section_end|>")
          .log,
      "C(Yes.)B(weather)A({\"days\": 1})E");
  EXPECT_EQ(
      parse("deepseek-v3",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```"
            "<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{\"a\": "
            "1}\n```"
            "<｜tool▁call▁end｜><｜tool▁calls▁end｜>")
          .log,
      "B(now)A({})EB(now)A({\"a\": 1})E");
  EXPECT_EQ(parse("apertus",
                  "<|tools_prefix|>[{\"now\": {}}, {\"weather\": {\"days\": 1}}]<|tools_suffix|>")
                .log,
            "B(now)A({})EB(weather)A({\"days\": 1})E");
}

TEST(SyntaxParser, ValuesBetweenTagsFollowTheSchema) {
  EXPECT_EQ(
      parse("qwen3-coder",
            "<tool_call>\n<function=weather>\n<parameter=city>\n\n\"17\" </b>\n\n</parameter>\n"
            "<parameter=days>\n17\n</parameter>\n<parameter=note>\nnull\n</parameter>\n"
            "<parameter=other>\ntrue story\n</parameter>\n</function>\n</tool_call>")
          .log,
      "B(weather)A({\"city\": \"\\n\\\"17\\\" </b>\\n\", \"days\": 17, \"note\": null, "
      "\"other\": \"true story\"})E");
  EXPECT_EQ(parse("glm",
                  "<tool_call>weather<arg_key>city</arg_key><arg_value>a</arg_value>"
                  "<arg_key>tags</arg_key><arg_value>[\"x\"]</arg_value></tool_call>")
                .log,
            "B(weather)A({\"city\": \"a\", \"tags\": [\"x\"]})E");
  EXPECT_EQ(parse("glm", "<tool_call>now</tool_call>").log, "B(now)A({})E");
  EXPECT_EQ(
      parse("deepseek-v4",
            "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"now\">\n<｜DSML｜parameter name=\"a\" "
            "string=\"true\">17</｜DSML｜parameter>\n<｜DSML｜parameter name=\"b\" "
            "string=\"false\">17</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>")
          .log,
      "B(now)A({\"a\": \"17\", \"b\": 17})E");
}

/// Puts MiniMax's control token in front of each tag.
std::string elements(std::string_view text) {
  constexpr std::string_view kMark = "]<]minimax[>[";
  std::string out;
  for (const char c : text) {
    if (c == '<') out += kMark;
    out += c;
  }
  return out;
}

TEST(SyntaxParser, ElementsHoldElements) {
  EXPECT_EQ(
      parse("minimax-m3",
            "So." + elements("<tool_call>\n<invoke name=\"weather\"><city>\n\"17\"\n</city>"
                             "<days>17</days><tags><item>a</item><item>17</item><item></item>"
                             "<item><k>1</k><l>b</l></item></tags><note>null</note></invoke>\n"
                             "<invoke name=\"now\"></invoke>\n</tool_call>"))
          .log,
      "C(So.)B(weather)A({\"city\": \"\\n\\\"17\\\"\\n\", \"days\": 17, \"tags\": [\"a\", 17, "
      "\"\", {\"k\": 1, \"l\": \"b\"}], \"note\": null})EB(now)A({})E");
  // A string ends at its own tag alone, and an array may be empty.
  EXPECT_EQ(parse("minimax-m3",
                  elements("<tool_call><invoke name=\"weather\"><city>a<b>c</b></city><tags></tags>"
                           "</invoke></tool_call>"))
                .log,
            "B(weather)A({\"city\": \"a]<]minimax[>[<b>c]<]minimax[>[</b>\", \"tags\": []})E");
  // Texts that are broken or cut.
  EXPECT_EQ(parse("minimax-m3", elements("<tool_call><invoke name=\"weather\"><days>1</tags>")).log,
            "B(weather)A({\"days\": 1)C(>)");
  EXPECT_EQ(parse("minimax-m3", elements("<tool_call><invoke name=\"weather\"><city>Kö")).log,
            "B(weather)A({\"city\": \"Kö)");
  EXPECT_EQ(parse("minimax-m3",
                  elements("<tool_call><invoke name=\"shell\"><input>ls \"a\"</input></invoke>"))
                .log,
            "B(shell)A(ls \"a\")E");
}

TEST(SyntaxParser, Literals) {
  EXPECT_EQ(
      parse("lfm2",
            "<|tool_call_start|>[weather(city='a\\'\"b\\n', days=-2, tags=[True, None, 'x', {'k': "
            "(1, 2.5)}]), now()]<|tool_call_end|>So.")
          .log,
      "B(weather)A({\"city\": \"a'\\\"b\\n\", \"days\": -2, \"tags\": [true, null, \"x\", "
      "{\"k\": [1, 2.5]}]})EB(now)A({})EC(So.)");
  EXPECT_EQ(
      parse(
          "gemma4",
          "<|tool_call>call:weather{city:<|\"|>a<|\"b<|\"|>,tags:[1,{k:<|\"|><|\"|>}]}<tool_call|>")
          .log,
      "B(weather)A({\"city\": \"a<|\\\"b\", \"tags\": [1, {\"k\": \"\"}]})E");
  EXPECT_EQ(parse("pythonic", "[now()]").log, "B(now)A({})E");
  EXPECT_EQ(parse("pythonic", "[never()]").log, "C([never()])");
}

TEST(SyntaxParser, HarmonyHasChannels) {
  EXPECT_EQ(
      parse("harmony",
            "<|channel|>analysis<|message|>I think.<|end|><|start|>assistant<|channel|>commentary"
            "<|message|>Let me look.<|end|><|start|>assistant<|channel|>commentary "
            "to=functions.weather <|constrain|>json<|message|>{\"days\": 1}<|call|>")
          .log,
      "R(I think.)C(Let me look.)B(weather)A({\"days\": 1})E");
  EXPECT_EQ(parse("harmony", " to=functions.now<|channel|>commentary json<|message|>{}").log,
            "B(now)A({})E");
  EXPECT_EQ(parse("harmony", "<|channel|>final<|message|>Done.<|return|>").log, "C(Done.)");
}

TEST(SyntaxParser, ParsesOtherFramesOfMessages) {
  EXPECT_EQ(parse("kimi-k3",
                  "I "
                  "think.<|close|>think<|sep|><|open|>response<|sep|>Hm.<|close|>response<|sep|><|"
                  "open|>tools"
                  "<|sep|><|open|>call tool=\"now\" index=\"1\"<|sep|><|open|>argument key=\"a\" "
                  "type=\"number\"<|sep|>1<|close|>argument<|sep|><|close|>call<|sep|><|close|>"
                  "tools<|sep|>",
                  true)
                .log,
            "R(I think.)C(Hm.)B(now)A({\"a\": 1})E");
  EXPECT_EQ(parse("muse",
                  " to=self<|message|>I think.<|eom|><|start|>assistant "
                  "to=now<|message|><atem:function_calls>\n"
                  "<atem:invoke "
                  "name=\"now\">\n</atem:invoke>\n</atem:function_calls><|eom|><|start|>assistant "
                  "to=user<|message|>Done.<|eot|>")
                .log,
            "R(I think.)B(now)A({})EC(Done.)");
}

TEST(SyntaxParser, CustomToolsHaveText) {
  EXPECT_EQ(parse("hermes",
                  "<tool_call>\n{\"name\": \"shell\", \"arguments\": {\"input\": \"ls "
                  "\\u00e9\\n\\\"\\ud83d\\ude00\"}}"
                  "\n</tool_call>")
                .log,
            "B(shell)A(ls é\n\"😀)E");
  EXPECT_EQ(
      parse(
          "qwen3-coder",
          "<tool_call>\n<function=shell>\n<parameter=input>\n{\"a\"\n}\n</parameter>\n</function>\n"
          "</tool_call>")
          .log,
      "B(shell)A({\"a\"\n})E");
}

TEST(SyntaxParser, TellsWhereItIs) {
  const ReplySyntax& syntax = syntax_named("hermes");
  SyntaxParser parser({.syntax = &syntax, .reasoning = {.open = "<think>", .close = "</think>"}},
                      weather_tools());
  std::vector<ReplyEvent> events;
  parser.add("<think>a", events);
  EXPECT_TRUE(parser.is_in_reasoning());
  parser.add("</think>b<tool_call>{\"name\": \"now\"", events);
  EXPECT_FALSE(parser.is_in_reasoning());
  EXPECT_TRUE(parser.is_in_call());
  parser.add(", \"arguments\": {", events);
  EXPECT_EQ(events.back().text, "{");  // arguments come as they are read
  parser.add("}}", events);
  EXPECT_FALSE(parser.is_in_call());
}

TEST(SyntaxParser, WithoutToolsCallsAreText) {
  const ReplySyntax& syntax = syntax_named("hermes");
  SyntaxParser parser({.syntax = &syntax, .finds_calls = false}, {});
  std::vector<ReplyEvent> events;
  parser.add("a <tool_call>", events);
  ASSERT_EQ(events.size(), 1U);  // nothing is held
  EXPECT_EQ(events[0].text, "a <tool_call>");
}

TEST(SyntaxParser, ReadsLongTextsInLinearTime) {
  // Each text would take hours if bytes were read again and again.
  constexpr std::size_t kTimes = 100'000;
  for (const std::string_view part : {"<tool_call>", "   ", "<", "<tool_call>{\"arguments\":[\""}) {
    std::string text;
    for (std::size_t i = 0; i < kTimes; ++i) text += part;
    const ParsedReply reply =
        parse_reply(syntax_named("hermes"), weather_tools(), text, 4096, false);
    EXPECT_GE(reply.log.size(), text.size());
  }
}

}  // namespace
}  // namespace ingot
