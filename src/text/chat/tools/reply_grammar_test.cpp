// Tests of the grammars of replies, for a template of each kind of call.
#include "text/chat/tools/reply_grammar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "constraint/constraint.h"
#include "constraint/lark.h"
#include "load/json_object.h"
#include "text/chat/tools/dialect_test_util.h"
#include "text/chat/tools/syntax_test_util.h"

namespace ingot {
namespace {

using testing::accepts;
using testing::kTemplates;
using testing::Model;
using testing::models;
using testing::parse_with;
using testing::ParsedReply;
using testing::reply_grammar;

/// What a kind of call looks like. "%n" stands for the tool's name.
struct Kind {
  std::string_view dialect;
  std::string_view begin;   ///< up to the arguments of "weather"
  std::string_view city;    ///< the argument city, with the value %s
  std::string_view days;    ///< the argument days, with the value %s, behind city
  std::string_view end;     ///< from the end of the arguments on
  std::string_view empty;   ///< a whole call without arguments
  std::string_view custom;  ///< a whole call of a custom tool, with the text %s
  std::string_view between{};
};

constexpr std::array kKinds = {
    Kind{.dialect = "hermes",
         .begin = "<tool_call>\n{\"name\": \"%n\", \"arguments\": {",
         .city = "\"city\": \"%s\"",
         .days = ", \"days\": %s",
         .end = "}}\n</tool_call>",
         .empty = "<tool_call>\n{\"name\": \"%n\", \"arguments\": {}}\n</tool_call>",
         .custom = "<tool_call>\n{\"name\": \"%n\", \"arguments\": {\"input\": "
                   "\"%s\"}}\n</tool_call>",
         .between = "\n"},
    Kind{.dialect = "mistral",
         .begin = "[TOOL_CALLS]%n[ARGS]{",
         .city = "\"city\": \"%s\"",
         .days = ", \"days\": %s",
         .end = "}",
         .empty = "[TOOL_CALLS]%n[ARGS]{}",
         .custom = "[TOOL_CALLS]%n[ARGS]{\"input\": \"%s\"}"},
    Kind{.dialect = "qwen3-coder",
         .begin = "<tool_call>\n<function=%n>\n",
         .city = "<parameter=city>\n%s\n</parameter>\n",
         .days = "<parameter=days>\n%s\n</parameter>\n",
         .end = "</function>\n</tool_call>",
         .empty = "<tool_call>\n<function=%n>\n</function>\n</tool_call>",
         .custom = "<tool_call>\n<function=%n>\n<parameter=input>\n%s\n</parameter>\n</function>\n"
                   "</tool_call>",
         .between = "\n"},
    Kind{.dialect = "lfm2",
         .begin = "<|tool_call_start|>[%n(",
         .city = "city=\"%s\"",
         .days = ", days=%s",
         .end = ")]<|tool_call_end|>",
         .empty = "<|tool_call_start|>[%n()]<|tool_call_end|>",
         .custom = "<|tool_call_start|>[%n(input='%s')]<|tool_call_end|>"},
    Kind{.dialect = "harmony",
         .begin = "<|channel|>commentary to=functions.%n <|constrain|>json<|message|>{",
         .city = "\"city\": \"%s\"",
         .days = ", \"days\": %s",
         .end = "}",
         .empty = "<|channel|>commentary to=functions.%n <|constrain|>json<|message|>{}",
         .custom = "<|channel|>commentary to=functions.%n <|constrain|>json<|message|>{\"input\": "
                   "\"%s\"}"},
};

std::string filled(std::string_view text, std::string_view name, std::string_view value = {}) {
  std::string out(text);
  if (const auto at = out.find("%n"); at != std::string::npos) out.replace(at, 2, name);
  if (const auto at = out.find("%s"); at != std::string::npos) out.replace(at, 2, value);
  return out;
}
std::string weather_call(const Kind& kind, std::string_view city, std::string_view days) {
  return filled(kind.begin, "weather") + filled(kind.city, "", city) + filled(kind.days, "", days) +
         std::string(kind.end);
}

std::vector<Tool> two_tools() {
  const char* weather = R"({"type": "object", "properties": {"city": {"type": "string",
      "maxLength": 8}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
      "required": ["city", "days"], "additionalProperties": false})";
  return {{.name = "weather", .parameters = parse_json(weather, "test", ""), .path = "tools[0]"},
          {.name = "now",
           .parameters = json_object({{"type", "object"}, {"additionalProperties", false}}),
           .path = "tools[1]"}};
}

/// Calls `check` with the first template of each kind.
template <class Check>
void for_each_kind(Check&& check) {
  for (const Kind& kind : kKinds) {
    const Model* found = nullptr;
    for (const Model& model : models()) {
      if (found == nullptr && model.dialect->name() == kind.dialect) found = &model;
    }
    ASSERT_NE(found, nullptr) << kind.dialect;
    SCOPED_TRACE(found->name);
    check(kind, *found);
  }
}

/// How far a grammar reads a text.
std::string_view read_part(const std::shared_ptr<const MatcherGrammar>& grammar,
                           std::string_view text) {
  Matcher matcher(grammar);
  std::size_t at = 0;
  while (at < text.size() && matcher.accept_bytes(text.substr(at, 1))) ++at;
  return text.substr(0, at);
}

/// Text before a call.
constexpr std::string_view kSpoken = "Let me look. ";

TEST(ReplyGrammar, AutoConstrainsCallsOnceTheyBegin) {
  INGOT_NEEDS_SHARED(kTemplates);
  for_each_kind([](const Kind& kind, const Model& model) {
    const auto grammar = reply_grammar(model, {}, two_tools());
    const std::string good = weather_call(kind, "Ems", "3");
    EXPECT_EQ(read_part(grammar, good), good);
    EXPECT_TRUE(accepts(grammar, good));
    EXPECT_TRUE(accepts(grammar, std::string(kSpoken) + good));
    EXPECT_TRUE(accepts(grammar, filled(kind.empty, "now")));
    EXPECT_TRUE(accepts(grammar, "No call, but {\"name\": 1} and [x]."));
    EXPECT_FALSE(accepts(grammar, filled(kind.empty, "weather")));   // lacks arguments
    EXPECT_FALSE(accepts(grammar, weather_call(kind, "Ems", "0")));  // below the minimum
    EXPECT_FALSE(accepts(grammar, weather_call(kind, "Ems", "3.5")));
    EXPECT_FALSE(accepts(grammar, weather_call(kind, "Ems", "10")));
    EXPECT_FALSE(accepts(grammar, weather_call(kind, "Castrop-Rauxel", "3")));  // too long
    EXPECT_FALSE(accepts(grammar, weather_call(kind, "Ems", "\"3\"")));
    EXPECT_FALSE(accepts(grammar, filled(kind.empty, "never")));
    EXPECT_FALSE(accepts(grammar, std::string(kSpoken) + filled(kind.empty, "never")));
  });
}

TEST(ReplyGrammar, AutoIsReadBack) {
  INGOT_NEEDS_SHARED(kTemplates);
  for_each_kind([](const Kind& kind, const Model& model) {
    const std::string text = std::string(kSpoken) + weather_call(kind, "Ems", "3");
    const auto parser = model.dialect->make_parser({}, two_tools());
    const ParsedReply reply = parse_with(*parser, text, 3);
    EXPECT_EQ(reply.content, "Let me look.");
    ASSERT_EQ(reply.calls.size(), 1U);
    EXPECT_EQ(reply.calls[0].arguments, R"({"city": "Ems", "days": 3})");
  });
}

TEST(ReplyGrammar, NoneHasNoCalls) {
  INGOT_NEEDS_SHARED(kTemplates);
  for_each_kind([](const Kind& kind, const Model& model) {
    const auto grammar = reply_grammar(model, {.use = ToolChoice::Use::kNone}, two_tools());
    EXPECT_TRUE(accepts(grammar, "Just text <b>."));
    EXPECT_FALSE(accepts(grammar, weather_call(kind, "Ems", "3")));
    EXPECT_FALSE(accepts(grammar, std::string(kSpoken) + filled(kind.empty, "now")));
  });
}

TEST(ReplyGrammar, OnlyAllowedToolsAreCalled) {
  INGOT_NEEDS_SHARED(kTemplates);
  for_each_kind([](const Kind& kind, const Model& model) {
    for (const auto use : {ToolChoice::Use::kAuto, ToolChoice::Use::kRequired}) {
      const auto grammar = reply_grammar(model, {.use = use, .allowed = {"now"}}, two_tools());
      EXPECT_TRUE(accepts(grammar, filled(kind.empty, "now")));
      EXPECT_FALSE(accepts(grammar, weather_call(kind, "Ems", "3")));
    }
  });
}

TEST(ReplyGrammar, OneCallOrMore) {
  INGOT_NEEDS_SHARED(kTemplates);
  for_each_kind([](const Kind& kind, const Model& model) {
    std::string two =
        filled(kind.empty, "now") + std::string(kind.between) + weather_call(kind, "Ems", "3");
    if (kind.dialect == "lfm2") {
      two = "<|tool_call_start|>[now(), weather(city=\"Ems\", days=3)]<|tool_call_end|>";
    }
    for (const auto use : {ToolChoice::Use::kAuto, ToolChoice::Use::kRequired}) {
      const auto one = reply_grammar(model, {.use = use, .parallel = false}, two_tools());
      EXPECT_TRUE(accepts(one, filled(kind.empty, "now")));
      EXPECT_FALSE(accepts(one, two)) << read_part(one, two);
      if (kind.dialect == "harmony") continue;  // its messages have one call
      const auto more = reply_grammar(model, {.use = use}, two_tools());
      EXPECT_TRUE(accepts(more, two)) << read_part(more, two);
    }
  });
}

TEST(ReplyGrammar, RequiredHasOnlyCalls) {
  INGOT_NEEDS_SHARED(kTemplates);
  for_each_kind([](const Kind& kind, const Model& model) {
    const auto grammar = reply_grammar(model, {.use = ToolChoice::Use::kRequired}, two_tools());
    const std::string call = weather_call(kind, "Ems", "3");
    EXPECT_TRUE(accepts(grammar, call));
    EXPECT_FALSE(accepts(grammar, std::string(kSpoken) + call));
    EXPECT_FALSE(accepts(grammar, call + " Done."));
    EXPECT_FALSE(accepts(grammar, "Done."));
  });
}

TEST(ReplyGrammar, CustomToolsHaveTheTextsOfTheirGrammar) {
  INGOT_NEEDS_SHARED(kTemplates);
  struct Case {
    Tool::Grammar kind;
    std::string_view grammar;
    std::string_view good, bad;
  };
  const std::array cases = {
      Case{Tool::Grammar::kText, "", "any text: 1 + 1", ""},
      Case{Tool::Grammar::kRegex, "[a-c]{2,3}", "abc", "abd"},
      Case{Tool::Grammar::kGbnf, "root ::= \"x\" [0-9]+", "x12", "y12"},
  };
  for_each_kind([&](const Kind& kind, const Model& model) {
    for (const Case& each : cases) {
      std::vector<Tool> tools = {{.kind = Tool::Kind::kCustom,
                                  .name = "shell",
                                  .grammar_kind = each.kind,
                                  .grammar = std::string(each.grammar),
                                  .path = "tools[0].custom"}};
      for (const auto use : {ToolChoice::Use::kAuto, ToolChoice::Use::kRequired}) {
        const auto grammar = reply_grammar(model, {.use = use}, tools);
        const std::string good = filled(kind.custom, "shell", each.good);
        EXPECT_TRUE(accepts(grammar, good)) << read_part(grammar, good) << " of " << good;
        if (!each.bad.empty()) {
          EXPECT_FALSE(accepts(grammar, filled(kind.custom, "shell", each.bad)));
        }
        EXPECT_FALSE(accepts(grammar, filled(kind.empty, "shell")));
        const auto parser = model.dialect->make_parser({}, tools);
        const ParsedReply reply = parse_with(*parser, good, 5);
        ASSERT_EQ(reply.calls.size(), 1U) << good;
        EXPECT_EQ(reply.calls[0].arguments, each.good);
      }
    }
  });
}

/// A whole call of the custom tool "shell" with any text.
std::string custom_call(const Kind& kind, std::string_view text) {
  if (kind.dialect == "qwen3-coder") return filled(kind.custom, "shell", text);
  std::string quoted = Json(text).dump();
  std::string call(kind.custom);
  if (kind.dialect == "lfm2") {
    call.replace(call.find("'%s'"), 4, "\"%s\"");
  }
  return filled(call, "shell", quoted.substr(1, quoted.size() - 2));
}

TEST(ReplyGrammar, CustomGrammarsMayHaveLinesQuotesAndRecursion) {
  INGOT_NEEDS_SHARED(kTemplates);
  struct Case {
    std::string grammar;
    std::vector<std::string_view> good, bad;
  };
  CompileBudget budget;
  const std::string patch =
      translate_lark(
          "start: \"*** Begin\" LF hunk+ \"*** End\" LF?\n"
          "hunk: \"*** Update File: \" /(.+)/ LF ((\"+\" | \"-\" | \" \") /(.*)/ LF)+\n"
          "%import common.LF",
          budget)
          .gbnf;
  const std::vector<Case> cases = {
      {"root ::= list\nlist ::= \"[\" (item (\",\\n\\t\" item)*)? \"]\"\nitem ::= list | "
       "[^\\[\\],\\n]+",
       {"[]", "[[a],\n\t\"b\\c\"]", "[\x01\x1f\x7f é😀]"},
       {"[[]", "[a,b]", "[a,\nb]", ""}},
      {"root ::= \"(\" root? \")\"", {"()", "((()))"}, {"(()", "x"}},
      {patch,
       {"*** Begin\n*** Update File: a.py\n-x = \"1\"\n+x = '\\n'\n \n*** End"},
       {"*** Begin\n*** End", "*** Begin\n*** Update File: a.py\nx\n*** End"}}};
  for_each_kind([&](const Kind& kind, const Model& model) {
    for (const Case& each : cases) {
      const std::vector<Tool> tools = {{.kind = Tool::Kind::kCustom,
                                        .name = "shell",
                                        .grammar_kind = Tool::Grammar::kGbnf,
                                        .grammar = each.grammar,
                                        .path = "tools[0].custom"}};
      const auto grammar = reply_grammar(model, {.use = ToolChoice::Use::kRequired}, tools);
      for (const std::string_view text : each.good) {
        const std::string call = custom_call(kind, text);
        EXPECT_TRUE(accepts(grammar, call)) << read_part(grammar, call) << " of " << call;
        const auto parser = model.dialect->make_parser({}, tools);
        const ParsedReply reply = parse_with(*parser, call, 5);
        ASSERT_EQ(reply.calls.size(), 1U) << call;
        EXPECT_EQ(reply.calls[0].arguments, text);
      }
      for (const std::string_view text : each.bad) {
        EXPECT_FALSE(accepts(grammar, custom_call(kind, text))) << text;
      }
    }
  });
}

constexpr std::string_view kOrder = R"({"type": "object", "properties": {
    "name": {"type": "string", "maxLength": 9}, "counts": {"type": "array", "minItems": 1,
    "maxItems": 2, "items": {"type": "integer", "minimum": 1}}, "place": {"type": "object",
    "properties": {"street": {"type": "string"}, "near": {"$ref": "#/$defs/place"},
    "open": {"type": ["boolean", "null"]}}, "required": ["street"]}, "any": {},
    "maybe": {"anyOf": [{"type": "array", "items": {"enum": ["x", "y"]}}, {"type": "null"}]}},
    "required": ["name", "counts"], "additionalProperties": false, "$defs": {"place": {"type":
    "object", "properties": {"street": {"type": "string"}, "near": {"$ref": "#/$defs/place"}},
    "required": ["street"], "additionalProperties": false}}})";

TEST(ReplyGrammar, ElementsFitTheSchemaAtEveryDepth) {
  INGOT_NEEDS_SHARED(kTemplates);
  const auto model = std::find_if(models().begin(), models().end(), [](const Model& each) {
    return each.dialect->name() == "minimax-m3";
  });
  ASSERT_NE(model, models().end());
  const Json schema = parse_json(kOrder, "test", "");
  const std::vector<Tool> tools = {{.name = "order", .parameters = schema, .path = "tools[0]"}};
  const auto grammar = reply_grammar(*model, {.use = ToolChoice::Use::kRequired}, tools);
  const auto call = [](const std::string& arguments) {
    std::string out;
    for (const char c :
         "<tool_call>\n<invoke name=\"order\">" + arguments + "</invoke>\n</tool_call>") {
      out += c == '<' ? "]<]minimax[>[<" : std::string(1, c);
    }
    return out;
  };
  const std::string required = "<name>a</name><counts><item>1</item></counts>";
  for (const char* more :
       {"", "<place><street>b</street><near><street></street></near><open>null</open></place>",
        "<any><k>1</k></any>", "<any><item>a</item><item><item>1</item></item></any>",
        "<any>text</any>", "<any>17</any>", "<maybe></maybe>", "<maybe>null</maybe>",
        "<maybe><item>x</item><item>y</item></maybe>"}) {
    const bool is_declared = std::string_view(more) != "<any><k>1</k></any>";
    EXPECT_EQ(accepts(grammar, call(required + more)), is_declared) << more;
  }
  for (const char* bad :
       {"", "<name>a</name>", "<name>a</name><counts></counts>",
        "<name>a</name><counts><item>0</item></counts>",
        "<name>a</name><counts><item>1</item><item>1</item><item>1</item></counts>",
        "<counts><item>1</item></counts><name>a</name>",
        "<name>too long a name</name><counts><item>1</item></counts>",
        "<name>a</name><counts><item>1</item></counts><place></place>",
        "<name>a</name><counts><item>1</item></counts><place><street>b</street><x>1</x></place>",
        "<name>a</name><counts><item>1</item></counts><maybe><item>z</item></maybe>"}) {
    EXPECT_FALSE(accepts(grammar, call(bad))) << bad;
  }
  // Arguments of random texts fit the schema as JSON.
  const auto json =
      compile_constraint({.form = ConstraintSpec::JsonSchema{.schema = schema, .is_strict = true}},
                         testing::byte_trie(*model->dialect));
  std::mt19937 random(48);
  const auto markers = model->dialect->markers();
  std::size_t finished = 0;
  for (int round = 0; round < 60; ++round) {
    const auto text = testing::random_walk(grammar, 256 + markers.size(), random, markers);
    if (!text) continue;
    ++finished;
    const ParsedReply reply = parse_with(*model->dialect->make_parser({}, tools), *text, 5);
    ASSERT_GE(reply.calls.size(), 1U) << *text;
    for (const ParsedReply::Call& each : reply.calls) {
      EXPECT_TRUE(each.has_end) << *text;
      EXPECT_TRUE(accepts(json->grammar, each.arguments)) << *text << "\n" << each.arguments;
    }
  }
  EXPECT_GT(finished, 5U);
}

TEST(ReplyGrammar, ErrorsBeginWithTheToolsPath) {
  INGOT_NEEDS_SHARED(kTemplates);
  for_each_kind([](const Kind& /*kind*/, const Model& model) {
    const auto message_of = [&](Tool tool) {
      try {
        reply_grammar(model, {}, std::vector<Tool>{std::move(tool)});
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInvalid);
        return std::string(error.what());
      }
      return std::string();
    };
    const std::string bad_schema =
        message_of({.name = "f",
                    .parameters = parse_json(
                        R"({"type": "object", "properties": {"a": {"type": "bool"}}})", "test", ""),
                    .path = "tools[3].function"});
    EXPECT_TRUE(bad_schema.starts_with("tools[3].function.parameters/properties/a")) << bad_schema;
    const std::string bad_grammar = message_of({.kind = Tool::Kind::kCustom,
                                                .name = "f",
                                                .grammar_kind = Tool::Grammar::kRegex,
                                                .grammar = "(a",
                                                .path = "tools[4].custom"});
    EXPECT_TRUE(bad_grammar.starts_with("tools[4].custom.grammar")) << bad_grammar;
  });
}

TEST(ReplyGrammar, WhatStrictToolsCannotEnforceIsAnError) {
  INGOT_NEEDS_SHARED(kTemplates);
  for_each_kind([](const Kind& /*kind*/, const Model& model) {
    const auto notes_of = [&](bool is_strict) {
      std::vector<SchemaNote> notes;
      const char* schema = R"({"type": "object", "properties": {"a": {"type": "array",
          "uniqueItems": true, "items": {"type": "object"}}}, "additionalProperties": false})";
      const std::vector<Tool> tools = {{.name = "f",
                                        .parameters = parse_json(schema, "test", ""),
                                        .is_strict = is_strict,
                                        .path = "tools[0].function"}};
      reply_grammar(model, {}, tools, {}, &notes);
      return notes;
    };
    const auto notes = notes_of(false);
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_EQ(notes[0].pointer, "tools[0].function.parameters/properties/a/uniqueItems");
    EXPECT_THROW(notes_of(true), Error);
  });
}

TEST(ReplyGrammar, ToolsWithoutPropertiesHaveEachKeyOnce) {
  INGOT_NEEDS_SHARED(kTemplates);
  for_each_kind([](const Kind& kind, const Model& model) {
    const std::vector<Tool> tools = {{.name = "weather", .path = "tools[0].function"}};
    const auto grammar = reply_grammar(model, {.use = ToolChoice::Use::kRequired}, tools);
    EXPECT_TRUE(accepts(grammar, filled(kind.empty, "weather")));
    const std::string once =
        filled(kind.begin, "weather") + filled(kind.city, "", "a") + std::string(kind.end);
    EXPECT_TRUE(accepts(grammar, once)) << read_part(grammar, once);
    const std::string separator = kind.days.starts_with(", ") ? ", " : "";
    const std::string twice = filled(kind.begin, "weather") + filled(kind.city, "", "a") +
                              separator + filled(kind.city, "", "a") + std::string(kind.end);
    const bool has_json = kind.end.starts_with("}");
    EXPECT_EQ(accepts(grammar, twice), !has_json);
    if (has_json) return;
    // Texts between tags may repeat a key. The parser takes the first.
    const ParsedReply reply = parse_with(*model.dialect->make_parser({}, tools), twice, 3);
    ASSERT_EQ(reply.calls.size(), 1U);
    EXPECT_EQ(reply.calls[0].arguments, R"({"city": "a"})");
  });
}

std::shared_ptr<const MatcherGrammar> content_grammar(const Model& model, const ReplyBegin& begin) {
  Grammar grammar;
  CompileBudget budget;
  const NodeId content =
      grammar.choice({grammar.literal("yes", budget), grammar.literal("no", budget)});
  grammar.set_root(model.dialect->add_content_reply(grammar, begin, content, budget));
  return make_matcher_grammar(std::move(grammar), testing::byte_trie(*model.dialect), budget);
}

/// Finishes a text that begins with `before`: ends its reasoning, then takes what leads to "no".
/// Nothing if the grammar does not allow this.
std::optional<std::string> finished_text(const std::shared_ptr<const MatcherGrammar>& grammar,
                                         const ToolDialect& dialect, const ReplyBegin& begin,
                                         const std::string& before) {
  Matcher matcher(grammar);
  if (!matcher.accept_bytes(before)) return std::nullopt;
  const auto parser = dialect.make_parser(begin, {});
  std::vector<ReplyEvent> events;
  parser->add(before, events);
  std::string text = before;
  while (!matcher.is_complete()) {
    std::string next;
    const auto mask = matcher.mask();
    for (std::size_t id = 256; id-- > 0;) {
      if ((mask[id / 32] >> (id % 32) & 1U) != 0) next = static_cast<char>(id);
    }
    for (const std::string_view wanted : {"o", "n"}) {
      const auto id = static_cast<std::size_t>(wanted[0]);
      if ((mask[id / 32] >> (id % 32) & 1U) != 0) next = wanted;
    }
    if (parser->is_in_reasoning()) next = dialect.reasoning_end();
    EXPECT_TRUE(matcher.accept_bytes(next)) << text;
    text += next;
    parser->add(next, events);
    if (text.size() > 1000) return text;
  }
  return text;
}

TEST(ReplyGrammar, ContentIsWhatTheConstraintAllows) {
  INGOT_NEEDS_SHARED(kTemplates);
  for (const Model& model : models()) {
    SCOPED_TRACE(model.name);
    const auto& dialect = *model.dialect;
    const std::string open(dialect.reasoning_begin()), close(dialect.reasoning_end());
    ASSERT_EQ(open.empty(), close.empty());
    // Each begin of a reply, and texts before the content.
    struct Case {
      ReplyBegin begin;
      std::string before;
    };
    std::vector<Case> cases = {{{}, ""}, {{}, "\n\n"}};
    if (!close.empty()) {
      const ReplyBegin may{.can_reason = true}, inside{.in_reasoning = true, .can_reason = true};
      for (const char* space : {"", "\n", "\n\n"}) {
        cases.push_back({may, space});
        cases.push_back({may, open + "so" + close + space});
        cases.push_back({inside, "so" + close + space});
      }
    }
    for (const Case& each : cases) {
      const auto grammar = content_grammar(model, each.begin);
      // The text until the grammar allows the content, with the frames that it forces.
      const auto text = finished_text(grammar, dialect, each.begin, each.before);
      if (!text) continue;
      const ParsedReply reply = parse_with(*dialect.make_parser(each.begin, {}), *text, 3);
      EXPECT_TRUE(reply.content == "no" || reply.content == "yes")
          << *text << ": " << reply.content;
    }
  }
}

TEST(ReplyGrammar, ReasoningComesBeforeAllElse) {
  INGOT_NEEDS_SHARED(kTemplates);
  for_each_kind([](const Kind& kind, const Model& model) {
    const std::string open(model.dialect->reasoning_begin());
    const std::string close(model.dialect->reasoning_end());
    if (close.empty()) return;
    const std::string next = kind.dialect == "harmony" ? "<|start|>assistant" : "";
    const std::string call = weather_call(kind, "Ems", "3");
    const ReplyBegin may{.can_reason = true}, inside{.in_reasoning = true, .can_reason = true};
    for (const auto use : {ToolChoice::Use::kAuto, ToolChoice::Use::kRequired}) {
      const auto both = reply_grammar(model, {.use = use}, two_tools(), may);
      const auto closed = reply_grammar(model, {.use = use}, two_tools(), inside);
      EXPECT_TRUE(accepts(both, call));
      for (const std::string& thought : {std::string("hm"), "hm " + call}) {
        const std::string rest = thought + close + next + call;
        EXPECT_TRUE(accepts(both, open + rest)) << read_part(both, open + rest);
        EXPECT_TRUE(accepts(closed, rest)) << read_part(closed, rest);
        const auto parser = model.dialect->make_parser(inside, two_tools());
        const ParsedReply reply = parse_with(*parser, rest, 4);
        EXPECT_EQ(reply.reasoning, thought);
        EXPECT_EQ(reply.calls.size(), 1U);
      }
      const std::string bad = "hm" + close + next + weather_call(kind, "Ems", "0");
      EXPECT_FALSE(accepts(closed, bad));
    }
  });
}

}  // namespace
}  // namespace ingot
