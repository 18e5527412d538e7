// Tests of arguments that are elements: the grammar keeps to the schema at every depth, names what
// it cannot keep, and writes only what the parser reads.
#include "text/chat/tools/element_arguments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/small_stack_test_util.h"
#include "constraint/constraint.h"
#include "text/chat/tools/dialect_test_util.h"
#include "text/chat/tools/syntax_test_util.h"

namespace ingot {
namespace {

using testing::kTemplates;
using testing::Model;
using testing::models;
using testing::parse_with;
using testing::ParsedReply;

const Model& element_model() {
  return *std::find_if(models().begin(), models().end(),
                       [](const Model& each) { return each.dialect->name() == "minimax-m3"; });
}

/// A call of f with tags that have the model's mark in front of them.
std::string element_call(std::string_view arguments) {
  std::string out;
  for (const char c :
       cat("<tool_call>\n<invoke name=\"f\">", arguments, "</invoke>\n</tool_call>")) {
    out += c == '<' ? "]<]minimax[>[<" : std::string(1, c);
  }
  return out;
}

/// The calls of a tool with the given parameters.
class Calls {
 public:
  explicit Calls(std::string_view parameters, bool is_strict = false)
      : tools_({{.name = "f",
                 .parameters = parse_json(parameters, "test", ""),
                 .is_strict = is_strict,
                 .path = "tools[0]"}}) {
    const ToolChoice forced = {.use = ToolChoice::Use::kRequired, .parallel = false};
    try {
      grammar_ = testing::reply_grammar(element_model(), forced, tools_, {}, &notes_);
    } catch (const Error& error) {
      error_ = error.message();
    }
  }

  /// How the parser reads arguments that the grammar allows; "no" if it does not.
  std::string read(std::string_view arguments) const {
    const std::string text = element_call(arguments);
    if (grammar_ == nullptr || !testing::accepts(grammar_, text)) return "no";
    return parsed(text);
  }
  /// Checks random texts against the whole schema.
  void walk(int rounds) const {
    const auto json = compile_constraint(
        {.form = ConstraintSpec::JsonSchema{.schema = tools_[0].parameters, .is_strict = true}},
        testing::byte_trie(*element_model().dialect));
    std::mt19937 random(52);
    const auto markers = element_model().dialect->markers();
    int finished = 0;
    for (int round = 0; round < rounds; ++round) {
      const auto text = testing::random_walk(grammar_, 256 + markers.size(), random, markers);
      if (!text) continue;
      ++finished;
      const std::string arguments = parsed(*text);
      EXPECT_TRUE(testing::accepts(json->grammar, arguments)) << *text << "\n" << arguments;
    }
    EXPECT_GT(finished, 0);
  }
  /// Where what cannot be enforced stands in the parameters, joined.
  std::string notes() const {
    std::string out;
    for (const SchemaNote& note : notes_) {
      out += cat(out.empty() ? "" : " ",
                 note.pointer.substr(std::string("tools[0].parameters").size()));
    }
    return out;
  }
  const std::string& error() const { return error_; }

 private:
  std::string parsed(std::string_view text) const {
    const ParsedReply reply =
        parse_with(*element_model().dialect->make_parser({}, tools_), text, 5);
    const bool is_whole = reply.calls.size() == 1 && reply.calls[0].has_end;
    return is_whole ? reply.calls[0].arguments : cat("broken: ", reply.log);
  }

  std::vector<Tool> tools_;
  std::vector<SchemaNote> notes_;
  std::shared_ptr<const MatcherGrammar> grammar_;
  std::string error_;
};

/// A tool whose one argument, x, is required.
Calls calls_of(std::string_view schema, std::string_view definitions = "{}",
               bool is_strict = false) {
  return Calls(
      cat(R"({"type": "object", "properties": {"x": )", schema,
          R"(}, "required": ["x"], "additionalProperties": false, "$defs": )", definitions, "}"),
      is_strict);
}

TEST(ElementArguments, X02LongChainsOfReferencesDoNotRecurse) {
  INGOT_NEEDS_SHARED(kTemplates);
  struct Link {
    const char* before;
    const char* after;
  };
  const Link links[] = {{R"({"type":"object","properties":{"n":)", "}}"},
                        {R"({"type":"array","items":)", "}"},
                        {R"({"allOf":[)", "]}"}};
  constexpr int kSteps = 2000;
  constexpr std::size_t kStackBytes = std::size_t{1} << 20;  // about 500 for each step
  for (const auto& [before, after] : links) {
    std::string definitions = "{";
    for (int i = 0; i < kSteps; ++i) {
      definitions +=
          cat("\"d", i, "\":", before, R"({"$ref":"#/$defs/d)", i + 1, "\"}", after, ",");
    }
    definitions += cat("\"d", kSteps, R"(":{"type":"null"}})");
    run_on_stack_of(kStackBytes, [&] {
      for (const bool is_strict : {false, true}) {
        const Calls calls = calls_of(R"({"$ref":"#/$defs/d0"})", definitions, is_strict);
        EXPECT_TRUE(calls.error().empty() || calls.error().find("complex") != std::string::npos ||
                    calls.error().find("cannot be enforced") != std::string::npos)
            << calls.error();
      }
    });
  }
}

TEST(ElementArguments, ElementsThatNeverEndAreAnError) {
  INGOT_NEEDS_SHARED(kTemplates);
  const Calls calls = calls_of(R"({"$ref": "#/$defs/a"})", R"({"a": {"type": "object",
      "properties": {"b": {"$ref": "#/$defs/a"}}, "required": ["b"]}})");
  EXPECT_EQ(calls.error(),
            "tools[0].parameters/properties/x: allows no text in this model's form of calls");
}

TEST(ElementArguments, RequiredNamesThatAreNotDeclaredFitAdditionalProperties) {
  INGOT_NEEDS_SHARED(kTemplates);
  const Calls numbers = calls_of(R"({"type": "object", "required": ["k"],
                                     "additionalProperties": {"type": "integer"}})");
  EXPECT_EQ(numbers.notes(), "");
  EXPECT_EQ(numbers.read("<x><k>17</k></x>"), R"({"x": {"k": 17}})");
  EXPECT_EQ(numbers.read("<x><k>text</k></x>"), "no");
  const Calls texts = calls_of(R"({"type": "object", "required": ["k"],
                                   "additionalProperties": {"type": "string"}})");
  EXPECT_EQ(texts.read("<x><k>17</k></x>"), R"({"x": {"k": "17"}})");
  const Calls outer(R"({"type": "object", "required": ["k"],
                        "additionalProperties": {"type": "string"}})");
  EXPECT_EQ(outer.read("<k>17</k>"), R"({"k": "17"})");
  // Such an object has no text, but null has.
  const Calls none = calls_of(R"({"type": ["object", "null"], "required": ["k"],
                                  "additionalProperties": false})");
  EXPECT_EQ(none.read("<x><k>1</k></x>"), "no");
  EXPECT_EQ(none.read("<x>null</x>"), R"({"x": null})");
}

TEST(ElementArguments, BoundsOfAlternativesAndReferencesAreKept) {
  INGOT_NEEDS_SHARED(kTemplates);
  // Without "items" in the alternatives.
  const Calls plain =
      calls_of(R"({"anyOf": [{"type": "array", "minItems": 2}, {"type": "null"}]})");
  EXPECT_EQ(plain.read("<x></x>"), "no");
  EXPECT_EQ(plain.read("<x><item>1</item></x>"), "no");
  EXPECT_EQ(plain.read("<x><item>1</item><item>2</item></x>"), R"({"x": [1, 2]})");
  EXPECT_EQ(plain.notes(), "");
  // Bounds outside, items inside; bounds beside a reference.
  for (const Calls& calls :
       {calls_of(R"({"maxItems": 1, "anyOf": [{"type": "array", "minItems": 1, "items": {"type":
                     "integer"}}, {"type": "null"}]})"),
        calls_of(R"({"$ref": "#/$defs/a", "minItems": 1})",
                 R"({"a": {"type": "array", "maxItems": 1, "items": {"type": "integer"}}})"),
        calls_of(R"({"type": "array", "allOf": [{"minItems": 1, "items": {"type": "integer"}},
                     {"maxItems": 1}]})")}) {
    EXPECT_EQ(calls.notes(), "");
    EXPECT_EQ(calls.read("<x></x>"), "no");
    EXPECT_EQ(calls.read("<x><item>1</item></x>"), R"({"x": [1]})");
    EXPECT_EQ(calls.read("<x><item>a</item></x>"), "no");
    EXPECT_EQ(calls.read("<x><item>1</item><item>2</item></x>"), "no");
  }
  const Calls object =
      calls_of(R"({"required": ["k"], "anyOf": [{"type": "object", "properties": {"k": {"type":
                   "string"}, "l": {"type": "integer"}}}, {"type": "null"}]})");
  EXPECT_EQ(object.notes(), "");
  EXPECT_EQ(object.read("<x><l>1</l></x>"), "no");
  EXPECT_EQ(object.read("<x><k>1</k></x>"), R"({"x": {"k": "1"}})");
}

TEST(ElementArguments, ATypeBesideAReferenceDecidesHowATextReads) {
  INGOT_NEEDS_SHARED(kTemplates);
  const Calls text = calls_of(R"({"$ref": "#/$defs/a", "type": "string"})", R"({"a": {}})");
  EXPECT_EQ(text.read("<x>17</x>"), R"({"x": "17"})");
  const Calls list = calls_of(R"({"$ref": "#/$defs/a", "type": "array"})", R"({"a": {}})");
  EXPECT_EQ(list.read("<x></x>"), R"({"x": []})");
  EXPECT_EQ(list.read("<x>17</x>"), "no");
}

TEST(ElementArguments, WhatCannotBeEnforcedIsNotedAtEveryDepth) {
  INGOT_NEEDS_SHARED(kTemplates);
  struct Case {
    const char* schema;
    const char* notes;
  };
  const Case cases[] = {
      // Alternatives beside items or properties.
      {R"({"type": "array", "items": {}, "anyOf": [{"minItems": 1}, {"maxItems": 9}]})",
       "/properties/x/anyOf"},
      {R"({"type": "object", "properties": {"a": {}, "b": {}}, "oneOf": [{"required": ["a"]},
           {"required": ["b"]}]})",
       "/properties/x/oneOf"},
      // Beside a reference, and behind it.
      {R"({"$ref": "#/$defs/a", "minProperties": 2})",
       "/properties/x/minProperties /$defs/a/maxProperties"},
      {R"({"type": "object", "minProperties": 1, "anyOf": [{"properties": {"k": {}}}]})",
       "/properties/x/minProperties"},
      {R"({"type": "array", "uniqueItems": true, "anyOf": [{"items": {}, "contains": {}}]})",
       "/properties/x/uniqueItems /properties/x/anyOf/0/contains"},
      {R"({"type": "object", "properties": {"a~/b": {"type": "array", "uniqueItems": true}}})",
       "/properties/x/properties/a~0~1b/uniqueItems"},
      // Two schemas for one part.
      {R"({"type": "object", "properties": {"k": {"type": "integer"}}, "allOf": [{"properties":
           {"k": {"minimum": 1}}}]})",
       "/properties/x/allOf/0/properties/k"},
      {R"({"type": "array", "items": {"type": "integer"}, "allOf": [{"items": {"minimum": 1}}]})",
       "/properties/x/allOf/0/items"},
  };
  for (const Case& each : cases) {
    constexpr std::string_view kDefinitions =
        R"({"a": {"type": "object", "properties": {"k": {}}, "maxProperties": 3}})";
    EXPECT_EQ(calls_of(each.schema, kDefinitions).error(), "") << each.schema;
    EXPECT_EQ(calls_of(each.schema, kDefinitions).notes(), each.notes) << each.schema;
    const std::string strict = calls_of(each.schema, kDefinitions, true).error();
    const std::string_view notes = each.notes;
    const std::string_view first = notes.substr(0, notes.find(' '));
    EXPECT_EQ(strict, cat("tools[0].parameters", first,
                          ": cannot be enforced in this model's form of calls"))
        << each.schema;
  }
  // Old drafts ignore what stands beside a reference.
  const Calls old(R"({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
      "properties": {"x": {"$ref": "#/definitions/a", "minProperties": 9}}, "required": ["x"],
      "definitions": {"a": {"type": "object", "properties": {"k": {"type": "integer"}}}}})");
  EXPECT_EQ(old.notes(), "");
  EXPECT_EQ(old.read("<x><k>1</k></x>"), R"({"x": {"k": 1}})");
}

TEST(ElementArguments, WalksOfPartsOfSchemasFit) {
  INGOT_NEEDS_SHARED(kTemplates);
  calls_of(R"({"$ref": "#/$defs/a", "required": ["l", "u"]})",
           R"({"a": {"type": "object", "properties": {"k": {"type": "string", "maxLength": 3},
               "l": {"type": ["array", "null"], "items": {"$ref": "#/$defs/b"}, "allOf": [{
               "maxItems": 2}]}}, "allOf": [{"required": ["k"]}], "additionalProperties": {"type":
               ["array", "boolean"], "items": {"enum": ["p", 1]}, "minItems": 1, "maxItems": 2}},
               "b": {"anyOf": [{"type": "null"}, {"type": "object", "required": ["k"],
               "additionalProperties": {"type": "integer"}}]}})",
           true)
      .walk(40);
  calls_of(R"({"maxItems": 2, "anyOf": [{"type": "boolean"}, {"type": "array", "minItems": 1,
               "items": {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "integer"}]}}]})",
           "{}", true)
      .walk(20);
}

TEST(ElementArguments, NamesThatTagsCannotHoldAreNotWritten) {
  INGOT_NEEDS_SHARED(kTemplates);
  for (const std::string& name :
       {std::string("a>b"), std::string("/a"), std::string(), std::string(254, 'n')}) {
    const std::string optional =
        cat(R"({"type": "object", "properties": {")", name, R"(": {"type": "integer"}}})");
    const std::string pointer = cat("/properties/", name == "/a" ? "~1a" : name);
    for (const bool is_inner : {false, true}) {
      const auto calls = [&](const std::string& schema, bool is_strict) {
        return is_inner ? calls_of(schema, "{}", is_strict) : Calls(schema, is_strict);
      };
      const std::string place = cat(is_inner ? "/properties/x" : "", pointer);
      EXPECT_EQ(calls(optional, false).notes(), place);
      EXPECT_EQ(calls(optional, false).read(is_inner ? "<x></x>" : ""),
                is_inner ? R"({"x": {}})" : "{}");
      EXPECT_TRUE(calls(optional, true).error().starts_with(cat("tools[0].parameters", place)))
          << calls(optional, true).error();
      const std::string required =
          cat(optional.substr(0, optional.size() - 1), R"(, "required": [")", name, "\"]}");
      EXPECT_TRUE(calls(required, false)
                      .error()
                      .ends_with(": allows no text in this model's form of calls"))
          << calls(required, false).error();
    }
  }
  const std::string longest(253, 'n');
  EXPECT_EQ(
      Calls(cat(R"({"type": "object", "properties": {")", longest, R"(": {"type": "integer"}}})"))
          .read(cat("<", longest, ">1</", longest, ">")),
      cat("{\"", longest, "\": 1}"));
}

TEST(ElementArguments, ARepliesDepthHasNoLimit) {
  INGOT_NEEDS_SHARED(kTemplates);
  const Calls calls = calls_of(R"({"$ref": "#/$defs/a"})", R"({"a": {"type": "object",
      "properties": {"b": {"$ref": "#/$defs/a"}}, "additionalProperties": false}})");
  std::string text, json;
  constexpr int kDepth = 1'000;
  for (int i = 0; i < kDepth; ++i) {
    text += "<b>";
    json += "{\"b\": ";
  }
  json += "{}";
  for (int i = 0; i < kDepth; ++i) {
    text += "</b>";
    json += "}";
  }
  EXPECT_EQ(calls.read(cat("<x>", text, "</x>")), cat("{\"x\": ", json, "}"));
}

}  // namespace
}  // namespace ingot
