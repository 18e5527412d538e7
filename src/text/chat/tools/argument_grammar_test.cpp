// Tests of arguments: what grammars allow is what parsers read, for schemas of all kinds.
#include "text/chat/tools/argument_grammar.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "load/json_object.h"
#include "text/chat/tools/dialect_test_util.h"
#include "text/chat/tools/syntax_test_util.h"

namespace ingot {
namespace {

using testing::kTemplates;
using testing::Model;
using testing::models;
using testing::parse_with;
using testing::ParsedReply;
using testing::random_walk;
using testing::reply_grammar;

std::vector<Tool> one_tool(std::string_view parameters, bool is_strict = false) {
  return {{.name = "f",
           .parameters = parse_json(parameters, "test", ""),
           .is_strict = is_strict,
           .path = "tools[0].function"}};
}

/// One template of each dialect.
const std::vector<const Model*>& dialects() {
  static const std::vector<const Model*> all = [] {
    std::vector<const Model*> found;
    std::set<std::string_view> names;
    for (const Model& model : models()) {
      if (names.insert(model.dialect->name()).second) found.push_back(&model);
    }
    return found;
  }();
  return all;
}

const Model& dialect(std::string_view name) {
  for (const Model* model : dialects()) {
    if (model->dialect->name() == name) return *model;
  }
  throw std::out_of_range(std::string(name));
}

constexpr ToolChoice kForced = {.use = ToolChoice::Use::kRequired, .parallel = false};

/// The texts that calls of qwen3-coder write for the argument "x".
class Values {
 public:
  explicit Values(std::string_view schema)
      : tools_(one_tool(
            cat(R"({"type": "object", "properties": {"x": )", schema, R"(}, "required": ["x"]})"))),
        grammar_(reply_grammar(dialect("qwen3-coder"), kForced, tools_)) {}

  /// Whether the grammar allows the text; and if so, as which JSON the parser reads it.
  std::string read(std::string_view text) const {
    const std::string reply = cat("<tool_call>\n<function=f>\n<parameter=x>\n", text,
                                  "\n</parameter>\n</function>\n</tool_call>");
    const auto parsed =
        parse_with(*dialect("qwen3-coder").dialect->make_parser({}, tools_), reply, 3);
    if (!testing::accepts(grammar_, reply)) return "no";
    return parsed.calls.at(0).arguments;
  }

 private:
  std::vector<Tool> tools_;
  std::shared_ptr<const MatcherGrammar> grammar_;
};

TEST(ArgumentGrammar, ATextIsJsonOnlyOfTheTypesThatItsSchemaAllows) {
  INGOT_NEEDS_SHARED(kTemplates);
  const Values optional(R"({"anyOf": [{"type": "string"}, {"type": "null"}]})");
  EXPECT_EQ(optional.read("17"), R"({"x": "17"})");
  EXPECT_EQ(optional.read("-e.+"), R"({"x": "-e.+"})");
  EXPECT_EQ(optional.read(""), R"({"x": ""})");
  EXPECT_EQ(optional.read("[a](b)"), "{\"x\": \"[a](b)\"}");
  EXPECT_EQ(optional.read("{"), R"({"x": "{"})");
  EXPECT_EQ(optional.read("true"), R"({"x": "true"})");
  EXPECT_EQ(optional.read("null"), R"({"x": null})");
  EXPECT_EQ(optional.read("nullx"), R"({"x": "nullx"})");

  const Values date(R"({"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]})");
  EXPECT_EQ(date.read("2024-02-29"), R"({"x": "2024-02-29"})");
  EXPECT_EQ(date.read("null"), R"({"x": null})");
  EXPECT_EQ(date.read("tomorrow"), "no");

  const Values number(R"({"type": ["string", "integer"]})");
  EXPECT_EQ(number.read("17"), R"({"x": 17})");
  EXPECT_EQ(number.read("1.5"), R"({"x": "1.5"})");
  EXPECT_EQ(number.read("017"), R"({"x": "017"})");
  EXPECT_EQ(number.read("1-2"), R"({"x": "1-2"})");
  EXPECT_EQ(number.read("null"), R"({"x": "null"})");

  const Values list(R"({"type": ["string", "array"], "items": {"type": "integer"}})");
  EXPECT_EQ(list.read("[1, 2]"), R"({"x": [1, 2]})");
  EXPECT_EQ(list.read("[]"), R"({"x": []})");
  EXPECT_EQ(list.read("[\"a\"]"), "no");
  EXPECT_EQ(list.read("[a](b)"), "{\"x\": \"[a](b)\"}");
  EXPECT_EQ(list.read("[1] and more"), R"({"x": "[1] and more"})");
  EXPECT_EQ(list.read("{}"), R"({"x": "{}"})");
}

TEST(ArgumentGrammar, ATagInsideAStringOfAnArrayOrObjectIsText) {
  INGOT_NEEDS_SHARED(kTemplates);
  constexpr std::string_view kTag = R"(["a</parameter>b\"</parameter>", {"</parameter>": 1}])";
  const std::string read = cat(R"({"x": )", kTag, "}");
  EXPECT_EQ(Values(R"({"type": "array"})").read(kTag), read);
  const Values either(R"({"type": ["string", "array", "object"]})");
  EXPECT_EQ(either.read(kTag), read);
  EXPECT_EQ(either.read(R"({"</parameter>": ""})"), R"({"x": {"</parameter>": ""}})");
  // These texts would swallow the tag that ends them.
  for (const std::string_view open : {R"(["a)", R"( {"a": "b\"])", R"([a" b" ")", R"(["\)"}) {
    EXPECT_EQ(either.read(open), "no") << open;
  }
  EXPECT_EQ(either.read(R"([a" b)"), "no");
  EXPECT_EQ(either.read(R"([a" b" c)"), R"({"x": "[a\" b\" c"})");
  EXPECT_EQ(either.read(R"(say ["a)"), R"({"x": "say [\"a"})");
  EXPECT_EQ(Values(R"({"type": ["string", "null"]})").read(R"(["a)"), R"({"x": "[\"a"})");
}

TEST(ArgumentGrammar, AHalfWithoutTextsIsLeftOut) {
  INGOT_NEEDS_SHARED(kTemplates);
  const Values listed(R"({"type": ["string", "null"], "enum": ["a", "b"]})");
  EXPECT_EQ(listed.read("a"), R"({"x": "a"})");
  EXPECT_EQ(listed.read("null"), "no");
  const Values other(R"({"not": {"type": "string"}})");
  EXPECT_EQ(other.read("[1]"), R"({"x": [1]})");
  EXPECT_EQ(other.read("a"), "no");
  const Values digits(R"({"enum": ["1", 2]})");
  EXPECT_EQ(digits.read("2"), R"({"x": 2})");
  EXPECT_EQ(digits.read("1"), "no");
}

/// The message of the error that the grammar of a tool gives; empty if it compiles.
std::string error_of(const Model& model, std::string_view parameters, bool is_strict = false) {
  try {
    reply_grammar(model, kForced, one_tool(parameters, is_strict));
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

TEST(ArgumentGrammar, OnlyARequiredPropertyWithoutTextsIsAnError) {
  INGOT_NEEDS_SHARED(kTemplates);
  for (const Model* model : dialects()) {
    EXPECT_EQ(error_of(*model, R"({"type": "object", "properties": {"x": false, "y": {}}})"), "")
        << model->name;
    EXPECT_NE(error_of(*model, R"({"type": "object", "properties": {"x": false},
                               "required": ["x"]})"),
              "")
        << model->name;
  }
  EXPECT_EQ(error_of(dialect("qwen3-coder"), R"({"type": "object", "properties": {"x": {"enum":
                     ["</parameter>"]}}, "required": ["x"]})"),
            "tools[0].function.parameters/properties/x: allows no text in this model's form of "
            "calls");
}

/// Writes random calls, and checks that each is read as arguments that `fits` accepts.
template <class Fits>
void walk(std::string_view parameters, int rounds, const Fits& fits) {
  std::mt19937 random(50);
  const auto tools = one_tool(parameters);
  std::size_t finished = 0;
  for (const Model* model : dialects()) {
    const auto grammar = reply_grammar(*model, kForced, tools);
    const auto markers = model->dialect->markers();
    for (int round = 0; round < rounds; ++round) {
      const auto text = random_walk(grammar, 256 + markers.size(), random, markers);
      if (!text) continue;
      ++finished;
      const auto parsed = parse_with(*model->dialect->make_parser({}, tools), *text, 5);
      ASSERT_EQ(parsed.calls.size(), 1U) << model->name << ": " << *text;
      EXPECT_TRUE(parsed.calls[0].has_end) << model->name << ": " << *text;
      Json arguments;
      ASSERT_NO_THROW(arguments = parse_json(parsed.calls[0].arguments, "arguments", ""))
          << model->name << ": " << *text << "\n"
          << parsed.calls[0].arguments;
      EXPECT_TRUE(fits(arguments)) << model->name << ": " << *text << "\n"
                                   << parsed.calls[0].arguments;
    }
  }
  EXPECT_GT(finished, dialects().size());
}

TEST(ArgumentGrammar, WalksOfNullableArgumentsFit) {
  INGOT_NEEDS_SHARED(kTemplates);
  walk(R"({"type": "object", "properties": {
           "a": {"anyOf": [{"type": "string", "maxLength": 6}, {"type": "null"}]},
           "b": {"type": ["string", "integer", "boolean"], "maxLength": 4},
           "c": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
           "d": {"type": ["string", "array", "object"], "maxLength": 5, "maxItems": 2,
                 "items": {"type": "integer"}, "additionalProperties": false}},
           "required": ["a", "b", "c", "d"]})",
       6, [](const Json& arguments) {
         const Json &a = *arguments.find("a"), &b = *arguments.find("b");
         const Json &c = *arguments.find("c"), &d = *arguments.find("d");
         return (a.is_null() || a.as_string()) && (b.as_string() || b.number() || b.as_bool()) &&
                (c.is_null() || (c.as_string() && c.as_string()->size() == 10)) &&
                (d.as_string() || d.as_array() || d.as_object());
       });
}

TEST(ArgumentGrammar, WalksOfReferencesFit) {
  INGOT_NEEDS_SHARED(kTemplates);
  walk(R"({"type": "object", "properties": {"x": {"type": ["integer", "null"], "minimum": 3},
           "y": {"$ref": "#/properties/x"}, "z": {"$ref": "#/$defs/a~1b"}}, "required": ["x", "y",
           "z"], "$defs": {"a/b": {"enum": ["u", "v"]}}})",
       4, [](const Json& arguments) {
         const Json& y = *arguments.find("y");
         const std::string& z = *arguments.find_string("z");
         return (y.is_null() || *y.number() >= 3) && (z == "u" || z == "v");
       });
}

TEST(ArgumentGrammar, WalksOfTreesFit) {
  INGOT_NEEDS_SHARED(kTemplates);
  const auto is_tree = [](const Json& arguments) {
    const Json* child = arguments.find("child");
    return arguments.find_string("v") != nullptr &&
           (child == nullptr || child->is_null() || child->find_string("v") != nullptr);
  };
  walk(R"({"type": "object", "properties": {"v": {"type": "string", "maxLength": 3},
           "child": {"$ref": "#"}}, "required": ["v"], "additionalProperties": false})",
       3, is_tree);
  walk(R"({"$ref": "#/$defs/Node", "$defs": {"Node": {"type": "object", "properties": {
           "v": {"enum": ["a", "b"]}, "child": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type":
           "null"}]}}, "required": ["v"], "additionalProperties": false}}})",
       3, is_tree);
}

TEST(ArgumentGrammar, WalksOfAdditionalPropertiesFit) {
  INGOT_NEEDS_SHARED(kTemplates);
  walk(R"({"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}},
           "required": ["a", "b"], "additionalProperties": {"type": ["integer", "boolean"]}})",
       3, [](const Json& arguments) {
         for (const auto& [name, value] : *arguments.as_object()) {
           if (name != "a" && !value.number() && value.as_bool() == nullptr) return false;
         }
         return arguments.find_string("a") != nullptr && arguments.find("b") != nullptr;
       });
}

/// A name that would end early is left out; in JSON it stands.
TEST(ArgumentGrammar, WalksOfNamesWithFramesFit) {
  INGOT_NEEDS_SHARED(kTemplates);
  const std::set<std::string> names = {"ok", "a>b", "c\"d", "e=f", "g:h", " i", ")j", "}k", "/l"};
  Json properties = Json::object();
  for (const std::string& name : names) properties.set(name, json_object({{"type", "integer"}}));
  Json schema = parse_json(
      R"({"type": "object", "required": ["ok"], "additionalProperties": false})", "test", "");
  schema.set("properties", properties);
  walk(schema.dump(), 6, [&](const Json& arguments) {
    for (const auto& [name, value] : *arguments.as_object()) {
      if (!names.contains(std::string(name)) || !value.number()) return false;
    }
    return arguments.find("ok") != nullptr;
  });
  EXPECT_NE(error_of(dialect("qwen3-coder"), R"({"type": "object", "properties": {"a>b": {}},
                     "required": ["a>b"]})"),
            "");
}

TEST(ArgumentGrammar, AdditionalPropertiesOfASchema) {
  INGOT_NEEDS_SHARED(kTemplates);
  const Model& model = dialect("qwen3-coder");
  const auto allows = [&](std::string_view parameters, std::string_view text) {
    const auto grammar = reply_grammar(model, kForced, one_tool(parameters));
    return testing::accepts(grammar,
                            cat("<tool_call>\n<function=f>\n", text, "</function>\n</tool_call>"));
  };
  const auto argument = [](std::string_view name, std::string_view value) {
    return cat("<parameter=", name, ">\n", value, "\n</parameter>\n");
  };
  constexpr std::string_view kNumbers = R"({"type": "object",
      "additionalProperties": {"type": "integer"}})";
  EXPECT_TRUE(allows(kNumbers, argument("k", "17")));
  EXPECT_FALSE(allows(kNumbers, argument("k", "v")));
  constexpr std::string_view kDeclared = R"({"type": "object", "properties": {"a": {"type":
      "string"}, "no": false}, "additionalProperties": {"type": "integer"}})";
  EXPECT_TRUE(allows(kDeclared, cat(argument("a", "x"), argument("k", "17"))));
  EXPECT_TRUE(allows(kDeclared, argument("k", "17")));
  EXPECT_FALSE(allows(kDeclared, argument("no", "17")));
  EXPECT_FALSE(allows(kDeclared, argument("a", "</function>")) &&
               allows(kDeclared, cat(argument("k", "17"), argument("a", "x"))));
}

TEST(ArgumentGrammar, DefinitionsAreCompiledOnce) {
  INGOT_NEEDS_SHARED(kTemplates);
  // With a copy for each property, this would be 300 times 300 objects.
  std::string properties, definitions;
  for (int i = 0; i < 300; ++i) {
    const std::string comma = i == 0 ? "" : ",";
    properties += cat(comma, "\"p", i, "\":{\"$ref\":\"#/$defs/d0\"}");
    definitions += cat(comma, "\"d", i,
                       "\":{\"type\":\"object\",\"properties\":{\"n\":{\"$ref\":", "\"#/$defs/d",
                       (i + 1) % 300, "\"}}}");
  }
  const std::string parameters =
      cat(R"({"type":"object","properties":{)", properties, R"(},"$defs":{)", definitions, "}}");
  EXPECT_EQ(error_of(dialect("glm"), parameters), "");
}

TEST(ArgumentGrammar, BareCallsAreWhatTheParserTakes) {
  INGOT_NEEDS_SHARED(kTemplates);
  const auto tools = one_tool(R"({"type": "object", "properties": {"a": {"type": "integer"}},
                                  "required": ["a"], "additionalProperties": false})");
  const Model& model = dialect("llama3");
  const auto grammar = reply_grammar(model, {}, tools);
  for (const std::string_view text :
       {R"({"name": "f", "parameters": {"b": tru)",
        R"({"type": "function", "name": "f", "arguments": {})",
        R"( { "type":"function" , "name":"f","parameters" : {"a": "x"}})",
        R"({"name": "f", "parameters": {"a": 1}})", R"({"parameters": {}, "name": "f"})",
        R"({"name": "g", "parameters": {}})", R"({"name": "f", "age": 3})", R"({"name": "f"})",
        R"({"type": "object", "name": "f", "parameters": {}})", R"({"names": ["f"]})",
        R"({"name": "\u0066", "parameters": {}})", R"({"type": "function", "type": "function", )",
        R"({"name": "f", "id": 1, "parameters": {}})", R"({"name": "f", "parameters": []})",
        R"({"a": tru]})", R"(So: {"name": "f", "parameters": {"b": 2}})",
        R"(<|python_tag|>{"name": "f", "parameters": {"b": 2}})"}) {
    const auto parsed = parse_with(*model.dialect->make_parser({}, tools), text, 3);
    Matcher matcher(grammar);
    const bool is_allowed = matcher.accept_bytes(text);
    const bool fits = text == R"({"name": "f", "parameters": {"a": 1}})";
    EXPECT_EQ(is_allowed, parsed.calls.empty() || fits) << text;
    if (parsed.calls.empty()) {
      EXPECT_EQ(parsed.content, text);
    }
  }
}

}  // namespace
}  // namespace ingot
