// Tests of the JSON Schema compiler: which texts a schema allows, and which keywords it refuses.
#include "constraint/schema/json_schema.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "constraint/schema/schema_search_test_util.h"

namespace ingot {
namespace {

std::shared_ptr<const MatcherGrammar> compiled(const std::string& schema,
                                               std::vector<SchemaNote>& notes,
                                               bool is_strict = true) {
  static const std::shared_ptr<const TokenTrie> trie = byte_vocabulary();
  return compile_schema(parse_line(schema), is_strict, trie, notes);
}

/// Returns which of the texts a strict schema allows.
std::vector<std::string> allowed(const std::string& schema, const std::vector<std::string>& texts) {
  std::vector<SchemaNote> notes;
  const auto grammar = compiled(schema, notes);
  std::vector<std::string> out;
  for (const std::string& text : texts) {
    Matcher matcher(grammar);
    if (matcher.accept_bytes(text) && matcher.is_complete()) out.push_back(text);
  }
  return out;
}

/// Returns the error of a schema, "accepted" if there is none.
std::string refusal(const std::string& schema, bool is_strict = true) {
  try {
    std::vector<SchemaNote> notes;
    compiled(schema, notes, is_strict);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    return error.message();
  }
  return "accepted";
}

using Texts = std::vector<std::string>;

TEST(JsonSchema, WritesPropertiesInTheOrderOfTheSchema) {
  const std::string schema =
      R"({"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"boolean"}},
          "required":["a","c"],"additionalProperties":{"type":"null"}})";
  EXPECT_EQ(allowed(schema, {R"({"b":1,"a":true,"c":null})", R"({"a":true,"c":null})",
                             R"({"a":true,"b":1,"c":null})", R"({"c":null,"a":true})",
                             R"({"b":1,"a":true})", R"({"a":true,"c":null,"d":null})",
                             R"({"a":true,"c":null,"d":1})", R"({"a":true,"c":null,"b":1})",
                             R"({"a":true,"c":null,"d":null,"d":null})"}),
            (Texts{R"({"b":1,"a":true,"c":null})", R"({"a":true,"c":null})",
                   R"({"a":true,"c":null,"d":null})"}));
}

TEST(JsonSchema, IntersectsSiblings) {
  EXPECT_EQ(allowed(R"({"allOf":[{"minimum":3},{"maximum":5}],"type":"integer","not":{"const":4}})",
                    {"2", "3", "4", "5", "6", "3.5"}),
            (Texts{"3", "5"}));
  EXPECT_EQ(allowed(R"({"properties":{"a":{"type":"string"}},"required":["a"],"type":"object",
                        "allOf":[{"properties":{"a":{"maxLength":2},"b":{"const":1}}}],
                        "additionalProperties":false})",
                    {R"({"a":"xy"})", R"({"a":"xyz"})", R"({"a":"","b":1})"}),
            (Texts{R"({"a":"xy"})"}));
}

TEST(JsonSchema, ComplementsForNotOneOfAndIf) {
  EXPECT_EQ(allowed(R"({"oneOf":[{"type":"integer"},{"minimum":2}]})",
                    {"1", "2", "2.5", "1.5", "\"a\"", "null"}),
            (Texts{"1", "2.5", "\"a\"", "null"}));
  const std::string schema =
      R"({"type":"object","properties":{"kind":{"enum":["a","b"]},"x":{"type":"integer"}},
          "required":["kind"],"additionalProperties":false,
          "if":{"properties":{"kind":{"const":"a"}}},"then":{"required":["x"]},
          "else":{"properties":{"x":false}}})";
  EXPECT_EQ(allowed(schema, {R"({"kind":"a","x":1})", R"({"kind":"a"})", R"({"kind":"b"})",
                             R"({"kind":"b","x":1})"}),
            (Texts{R"({"kind":"a","x":1})", R"({"kind":"b"})"}));
}

TEST(JsonSchema, ClosesCyclesOfReferences) {
  const std::string schema =
      R"({"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}},
          "additionalProperties":false}},"$ref":"#/$defs/node"})";
  EXPECT_EQ(allowed(schema, {"{}", R"({"next":{"next":{}}})", R"({"next":1})"}),
            (Texts{"{}", R"({"next":{"next":{}}})"}));
  EXPECT_NE(refusal(R"({"$ref":"#"})").find("refers to itself"), std::string::npos);
  EXPECT_EQ(refusal(R"({"items":{"$ref":"#/none"}})"),
            "schema/items/$ref: '#/none' is not in the schema");
}

/// The smallest sets that fit: what has a finite proof.
TEST(JsonSchema, ClosesCyclesWithoutAValueBetween) {
  EXPECT_EQ(allowed(R"({"anyOf":[{"$ref":"#"},{"type":"null"}]})", {"null", "1", "[null]"}),
            Texts{"null"});
  EXPECT_EQ(allowed(R"({"type":"object","anyOf":[{"$ref":"#"},{"required":["a"]}]})",
                    {"{}", R"({"a":1})", "1"}),
            Texts{R"({"a":1})"});
  // Each of both contains the other; either may be asked for first.
  const std::string both = R"("$defs":{
      "a":{"anyOf":[{"$ref":"#/$defs/b"},{"const":1}]},
      "b":{"anyOf":[{"$ref":"#/$defs/a"},{"const":2}]},
      "c":{"allOf":[{"$ref":"#/$defs/a"},{"anyOf":[{"$ref":"#/$defs/c"},{"const":2}]}]}})";
  const auto pairs = [&](const std::string& first, const std::string& second) {
    return allowed(
        cat(R"({"type":"array","minItems":2,"maxItems":2,"prefixItems":[{"$ref":"#/$defs/)", first,
            R"("},{"$ref":"#/$defs/)", second, "\"}],", both, "}"),
        {"[1,1]", "[1,2]", "[2,1]", "[2,2]", "[3,1]", "[1,3]"});
  };
  EXPECT_EQ(pairs("a", "b"), (Texts{"[1,1]", "[1,2]", "[2,1]", "[2,2]"}));
  EXPECT_EQ(pairs("b", "a"), (Texts{"[1,1]", "[1,2]", "[2,1]", "[2,2]"}));
  EXPECT_EQ(pairs("c", "b"), (Texts{"[2,1]", "[2,2]"}));
  EXPECT_EQ(pairs("b", "c"), (Texts{"[1,2]", "[2,2]"}));
  // Recursion through an array stays, beside the one without.
  EXPECT_EQ(allowed(R"({"anyOf":[{"$ref":"#"},{"type":"array","items":{"$ref":"#"}}]})",
                    {"[]", "[[],[[]]]", "[1]", "1"}),
            (Texts{"[]", "[[],[[]]]"}));
  // A complement has no smallest set, and an intersection alone has no finite proof.
  for (const char* schema :
       {R"({"allOf":[{"$ref":"#"},{"type":"null"}]})", R"({"not":{"$ref":"#"}})",
        R"({"oneOf":[{"$ref":"#"},{"type":"null"}]})", R"({"anyOf":[{"$ref":"#"}]})",
        R"({"if":{"$ref":"#"},"then":{"type":"null"}})",
        R"({"anyOf":[{"$ref":"#"},{"not":{"$ref":"#"}}]})", R"({"propertyNames":{"$ref":"#"}})",
        R"({"anyOf":[{"$ref":"#"},{"type":"object"}],"unevaluatedProperties":false})"}) {
    EXPECT_NE(refusal(schema, false).find("refers to itself"), std::string::npos) << schema;
  }
}

TEST(JsonSchema, JoinsListedNumbers) {
  EXPECT_EQ(allowed(R"({"anyOf":[{"const":2},{"enum":[1,2.0,"a"]},{"const":2}]})",
                    {"1", "2", "2.0", "3", "\"a\""}),
            (Texts{"1", "2", "2.0", "\"a\""}));
  const auto number = [](int i) { return cat(R"({"const":)", i, "}"); };
  std::string many;
  for (int i = 0; i < 5000; ++i) many += (i == 0 ? "" : ",") + number(i);
  EXPECT_EQ(allowed(cat(R"({"anyOf":[)", many, "]}"), {"0", "4999", "5000", "17.5"}),
            (Texts{"0", "4999"}));
}

TEST(JsonSchema, ExcludesEverySpellingOfANumber) {
  const std::string zeros(24, '0');
  const Texts excluded = {"1",
                          "1.0",
                          cat("1.", zeros),
                          "1e0",
                          "1e+00",
                          "1.0e00",
                          "1000e-3",
                          "100",
                          "100.0",
                          "1e2",
                          "1.0E+2",
                          "1.00e+02",
                          cat("1.", zeros, "e2"),
                          "-2.5",
                          "-2.50",
                          "-2.5e0",
                          "0",
                          "-0",
                          "0.000",
                          "-0.0"};
  const Texts others = {"10",
                        "1.01",
                        "1e1",
                        "1e-2",
                        "-1",
                        "-100",
                        "2.5",
                        "0.5",
                        "-2.51",
                        "1e+20",
                        cat("1.", zeros, "1"),
                        cat("1.", std::string(23, '0'), "1e2")};
  Texts both = excluded;
  both.insert(both.end(), others.begin(), others.end());
  const std::string numbers = R"("enum":[1,100.0,-2.5,0])";
  EXPECT_EQ(allowed(cat(R"({"type":"number","not":{)", numbers, "}}"), both), others);
  EXPECT_EQ(allowed(cat(R"({"type":"integer","not":{)", numbers, "}}"), both),
            (Texts{"10", "-1", "-100"}));
  EXPECT_EQ(allowed(cat(R"({"minimum":1,"maximum":101,"type":"number","not":{)", numbers, "}}"),
                    {"1", "1.5", "100", "101", "101.0", "1e2", "1.1e1"}),
            (Texts{"1.5", "101", "101.0", "1.1e1"}));
  EXPECT_EQ(allowed(cat(R"({"type":"number","not":{)", numbers, R"(},"multipleOf":0.5})"),
                    {"1", "1.5", "100", "1.0", "100.5", "-2.5", "-3"}),
            (Texts{"1.5", "100.5", "-3"}));
}

TEST(JsonSchema, ReadsKeywordsAsTheirDraftDoes) {
  // Siblings of $ref are ignored up to draft 7; exclusiveMinimum is a flag in draft 4.
  const std::string body = R"("definitions":{"a":{"type":"integer"}},"$ref":"#/definitions/a",
                              "maximum":3})";
  const std::string old = R"({"$schema":"http://json-schema.org/draft-07/schema#",)";
  EXPECT_EQ(allowed(old + body, {"5"}), Texts{"5"});
  EXPECT_EQ(allowed("{" + body, {"5"}), Texts{});
  EXPECT_EQ(allowed(R"({"$schema":"http://json-schema.org/draft-04/schema#","type":"integer",
                        "minimum":1,"exclusiveMinimum":true,"maximum":2,"const":7})",
                    {"1", "2"}),
            Texts{"2"});
}

TEST(JsonSchema, BoundsContainedAndUniqueItems) {
  EXPECT_EQ(allowed(R"({"type":"array","items":{"type":"integer"},"contains":{"minimum":5},
                        "maxContains":1})",
                    {"[1,5]", "[1]", "[5,6]", "[5]"}),
            (Texts{"[1,5]", "[5]"}));
  EXPECT_EQ(allowed(R"({"type":"array","items":{"enum":["a",1]},"uniqueItems":true})",
                    {R"(["a",1])", R"(["a","\u0061"])", "[1,1]"}),
            Texts{R"(["a",1])"});
}

/// Positions with few common values: which ones are left for a later item depends on the text.
TEST(JsonSchema, RefusesUniqueItemsThatShareFewValues) {
  const std::string schema = R"({"type":"array","uniqueItems":true,"minItems":3,
      "prefixItems":[{"type":"integer"},{"type":"integer"}],"items":{"enum":[1,2]}})";
  EXPECT_NE(refusal(schema).find("schema/uniqueItems: unique items whose values are few"),
            std::string::npos);
  std::vector<SchemaNote> notes;
  compiled(schema, notes, false);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].pointer, "/uniqueItems");
  EXPECT_NE(refusal(R"({"type":"array","uniqueItems":true,"items":{"enum":[1,2]},
                        "prefixItems":[{"type":"boolean"},{"enum":[1,3]}]})"),
            "");
  EXPECT_EQ(allowed(R"({"type":"array","uniqueItems":true,"items":{"enum":[1,2]},
                        "prefixItems":[{"type":"boolean"},{"enum":[4,3]}]})",
                    {"[true,3,1]", "[true,3,1,2]", "[true,3,2,2]"}),
            (Texts{"[true,3,1]", "[true,3,1,2]"}));
}

TEST(JsonSchema, NamesWhatItCannotEnforce) {
  const std::string schema =
      R"({"type":"array","items":{"type":"object"},"uniqueItems":true,"maxItems":2})";
  EXPECT_EQ(refusal(schema),
            "schema/uniqueItems: uniqueItems of arrays and objects cannot be enforced");
  std::vector<SchemaNote> notes;
  compiled(schema, notes, false);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].pointer, "/uniqueItems");
  notes.clear();
  compiled(R"({"properties":{"a/b":{"pattern":"(a)\\1"}}})", notes, false);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].pointer, "/properties/a~1b/pattern");
}

TEST(JsonSchema, RefusesMalformedAndUnsatisfiableSchemas) {
  EXPECT_EQ(refusal("false"), "schema: allows no text");
  EXPECT_EQ(refusal(R"({"enum":[]})"), "schema: allows no text");
  EXPECT_EQ(refusal(R"({"type":"array","items":{"$ref":"#"},"minItems":1})"),
            "schema: allows no text");
  for (const char* schema :
       {"[]", "\"x\"", R"({"type":"any"})", R"({"minLength":-1})", R"({"required":true})",
        R"({"properties":[]})", R"({"allOf":{}})", R"({"pattern":3})", R"({"multipleOf":0})",
        R"({"items":{"enum":1}})"}) {
    EXPECT_TRUE(refusal(schema, false).starts_with("schema")) << schema;
    EXPECT_NE(refusal(schema, false), "accepted") << schema;
  }
}

/// A superset must hold the documents that a strict schema holds.
TEST(JsonSchema, KeepsValidDocumentsOfWhatItCannotEnforce) {
  std::vector<SchemaNote> notes;
  const auto grammar = compiled(
      R"({"type":"object","patternProperties":{"(a)\\1":{"type":"integer"}},
          "additionalProperties":false})",
      notes, false);
  EXPECT_FALSE(notes.empty());
  Matcher matcher(grammar);
  EXPECT_TRUE(matcher.accept_bytes(R"({"aa":1})") && matcher.is_complete());
}

/// Judges each schema of a file of the official suite.
void judge_suite_file(const std::filesystem::path& path, const std::string& draft, int& schemas) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const Json groups = parse_line(text.str());
  for (const Json& group : *groups.as_array()) {
    Json schema = *group.find("schema");
    const bool needs_draft = schema.as_object() != nullptr && schema.find("$schema") == nullptr;
    if (needs_draft) schema.set("$schema", draft);
    std::vector<SchemaNote> notes;
    std::shared_ptr<const MatcherGrammar> grammar;
    try {
      grammar = compiled(schema.dump(), notes);
    } catch (const Error&) {
      continue;  // refused, which is never wrong
    }
    ++schemas;
    SchemaSearch search(grammar, schema);
    for (const Json& test : *group.find("tests")->as_array()) {
      const auto outcome = search.search(*test.find("data"));
      EXPECT_EQ(outcome == SchemaSearch::Outcome::kAccepted, *test.find("valid")->as_bool())
          << path << ": " << schema.dump() << ": " << test.dump();
    }
  }
}

TEST(JsonSchema, IsNeverWrongOnTheOfficialSuite) {
  const std::vector<std::pair<std::string, std::string>> drafts = {
      {"draft7", "http://json-schema.org/draft-07/schema#"},
      {"draft2020-12", "https://json-schema.org/draft/2020-12/schema"}};
  int schemas = 0;
  for (const auto& [folder, draft] : drafts) {
    const std::string name = "data/json/JSON-Schema-Test-Suite/tests/" + folder;
    INGOT_NEEDS_SHARED(name);
    for (const std::filesystem::path& path : shared_entries(name)) {
      // The suite takes formats for annotations, and metaschemas switch keywords off.
      const std::string stem = path.stem().string();
      if (path.extension() != ".json" || stem == "format" || stem == "vocabulary") continue;
      judge_suite_file(path, draft, schemas);
    }
  }
  EXPECT_GT(schemas, 400);
}

}  // namespace
}  // namespace ingot
