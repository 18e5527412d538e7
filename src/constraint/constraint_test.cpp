// Tests of constraints: every form of a spec, its limits, messages and keys.
#include "constraint/constraint.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "constraint/constraint_test_util.h"

namespace ingot {
namespace {

using testing::byte_trie;
using testing::gbnf_spec;
using testing::refusal;
using testing::regex_spec;
using testing::schema_of;
using testing::schema_spec;
using Tags = ConstraintSpec::StructuralTags;

void expect_texts(const ConstraintSpec& spec, const std::vector<std::string>& good,
                  const std::vector<std::string>& bad) {
  const auto constraint = compile_constraint(spec, byte_trie());
  EXPECT_GT(constraint->bytes, 0U);
  for (const std::string& text : good) EXPECT_TRUE(testing::allows(*constraint, text)) << text;
  for (const std::string& text : bad) EXPECT_FALSE(testing::allows(*constraint, text)) << text;
}

TEST(Constraint, AnyJson) {
  expect_texts({.form = ConstraintSpec::AnyJson{}},
               {"{}", R"({"a":[1,2.5,"x\n",null,true],"b":{"c": false}})"},
               {"", "[]", "1", "{", R"({"a":1,"a":2})", "{a:1}"});
  expect_texts({.form = ConstraintSpec::AnyJson{.is_object = false}}, {"[1, {}]", "\"x\"", "-1e5"},
               {"", "[1", "nul"});
}

TEST(Constraint, JsonSchema) {
  const char* schema =
      R"({"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"}},
          "required":["b","a"],"additionalProperties":false})";
  expect_texts(
      schema_spec(schema), {R"({"b":1,"a":"x"})", R"({"b": -20, "a": ""})"},
      {R"({"a":"x","b":1})", R"({"b":1})", R"({"b":1.5,"a":"x"})", R"({"b":1,"a":"x","c":1})"});
  ConstraintSpec any_order = schema_spec(schema);
  std::get<ConstraintSpec::JsonSchema>(any_order.form).any_order = true;
  expect_texts(any_order, {R"({"a":"x","b":1})", R"({"b":1,"a":"x"})"}, {R"({"a":"x"})"});
}

TEST(Constraint, Regex) {
  expect_texts(regex_spec("[a-c]{2}|\\d+"), {"ab", "123"}, {"", "abc", "a1", "12a"});
  // The pattern is the whole text.
  expect_texts(regex_spec("b"), {"b"}, {"abc"});
}

TEST(Constraint, OneOf) {
  expect_texts({.form = ConstraintSpec::OneOf{{"yes", "yesterday", "no", "\u20ac"}}},
               {"yes", "yesterday", "no", "\u20ac"}, {"", "yest", "noo", "\xE2\x82"});
}

TEST(Constraint, Gbnf) {
  expect_texts(gbnf_spec("root ::= \"(\" root \")\" | [a-z]+"), {"x", "((abc))"}, {"(", "(1)", ""});
}

Tags weather_tags() {
  return {.tags = {{.begin = "<function=get_weather>",
                    .schema = schema_of(R"({"type":"object","properties":{"city":{"enum":["Oslo"]}},
                        "required":["city"],"additionalProperties":false})"),
                    .end = "</function>"},
                   {.begin = "<function=get_time>",
                    .schema = schema_of(R"({"type":"integer"})"),
                    .end = "</function>"}},
          .triggers = {"<function="}};
}

TEST(Constraint, StructuralTags) {
  const std::string call = R"(<function=get_weather>{"city":"Oslo"}</function>)";
  expect_texts({.form = weather_tags()},
               {"", "free text < <func", call, "a" + call + "b" + call,
                "x<function=get_time>12</function>" + call + "<"},
               {"<function=", "a<function=other>", "<function=get_time>{}</function>",
                R"(<function=get_weather>{"city":"Rome"}</function>)",
                R"(<function=get_weather>{"city":"Oslo"})"});
}

TEST(Constraint, StructuralTagsWithSeveralTriggers) {
  const Json one = schema_of(R"({"const":1})");
  const Tags tags{.tags = {{"<a>", one, "</a>"}, {"<ab>", one, ""}, {"[b", one, "]"}},
                  .triggers = {"<a", "[b", "<ab"}};
  expect_texts({.form = tags}, {"x<a>1</a>y<ab>1[b1]", "<[b1]<<a>1</a>", "<<<"},
               {"<a", "<a>1", "[b", "[b1", "<a[b1]", "<ab>[b1]"});
}

/// A trigger that overlaps itself: the first << of <<< counts.
TEST(Constraint, StructuralTagsWithOverlappingTriggers) {
  const Json one = schema_of(R"({"const":1})");
  const Tags tags{.tags = {{"<<<", one, ""}, {"<<>", one, ""}, {"ab", one, ""}, {"bc", one, ""}},
                  .triggers = {"<<", "ab", "bc"}};
  expect_texts({.form = tags}, {"x<<<1", "<<>1<a", "ab1bc1", "xbc1"},
               {"<<", "x<<<<1", "abc1", "xab"});
}

/// Free text is one alternative, and tags that begin alike are one: 256 triggers fit.
TEST(Constraint, ManyTriggers) {
  const Json one = schema_of(R"({"const":1})");
  Tags tags;
  for (std::size_t i = 0; i < ConstraintLimits::kTagsMax; ++i) {
    tags.triggers.push_back(cat("<\u00e9", i, "="));
    tags.tags.push_back({tags.triggers.back() + "x", one, ">"});
  }
  expect_texts({.form = tags}, {"a<\u00e9255=x1>", "<\u00e90=x1><<\u00e917=x1>z", "\u00ea"},
               {"<\u00e9255=", "<\u00e917=x1", "<\u00e9255=1>"});
}

TEST(Constraint, RefusesMalformedStructuralTags) {
  const Json schema(true);
  const std::vector<std::pair<Tags, std::string>> specs = {
      {{.tags = {}, .triggers = {"<"}}, "has no tags"},
      {{.tags = {{"<a>", schema, ""}}, .triggers = {}}, "no trigger begins the tag '<a>'"},
      {{.tags = {{"<a>", schema, ""}}, .triggers = {"<b"}}, "no trigger begins the tag"},
      {{.tags = {{"<a>", schema, ""}}, .triggers = {"<", "["}}, "no tag begins with"},
      {{.tags = {{"<a>", schema, ""}}, .triggers = {""}}, "a trigger is empty"},
      {{.tags = {{"<a>", schema, ""}, {"a", schema, ""}}, .triggers = {"<a", "a"}},
       "occurs in the trigger"},
      {{.tags = {{"<a>", Json("x"), ""}}, .triggers = {"<"}}, "/structures/0/schema"},
  };
  for (const auto& [tags, part] : specs) {
    const std::string message = refusal({.form = tags, .name = "structural_tag"});
    EXPECT_TRUE(message.starts_with("structural_tag")) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST(Constraint, MessagesBeginWithTheName) {
  EXPECT_TRUE(refusal(gbnf_spec("root ::= x")).starts_with("grammar: line 1, column 10: "));
  EXPECT_EQ(refusal(gbnf_spec("root ::= \"\"")), "grammar allows only the empty text");
  EXPECT_EQ(refusal(gbnf_spec("root ::= \"a\" root")), "grammar allows no text");
  EXPECT_TRUE(refusal(regex_spec("(a")).starts_with("regex"));
  EXPECT_TRUE(refusal(regex_spec("(?:a?){20000}b{20000}")).starts_with("regex is too complex"));
  ConstraintSpec schema = schema_spec("false");
  schema.name = "response_format";
  EXPECT_TRUE(refusal(schema).starts_with("response_format"));
}

TEST(Constraint, Limits) {
  const auto expect_refused = [](const ConstraintSpec& spec, std::string_view part) {
    const std::string message = refusal(spec);
    EXPECT_TRUE(message.starts_with(spec.name)) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect_refused(regex_spec(std::string(70'000, 'a')), "at most 65536");
  expect_refused(regex_spec("\xFF"), "UTF-8");
  expect_refused(gbnf_spec("root ::= \"a\"" + std::string(70'000, ' ')), "at most 65536");
  expect_refused({.form = ConstraintSpec::OneOf{}}, "no texts");
  expect_refused({.form = ConstraintSpec::OneOf{{"a", "\xC0"}}}, "UTF-8");
  expect_refused({.form = ConstraintSpec::OneOf{std::vector<std::string>(5000, "a")}},
                 "at most 4096");
  expect_refused({.form = ConstraintSpec::OneOf{{std::string(2 << 20, 'a')}}}, "at most 1048576");
  Tags tags = weather_tags();
  tags.tags[0].end = std::string(5000, 'x');
  expect_refused({.form = tags}, "at most 4096");
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += R"({"items":)";
  expect_refused(schema_spec(deep + "true" + std::string(300, '}')), "deeper than 256");
  const std::string long_text(1 << 20, 'x');
  expect_refused(schema_spec(cat(R"({"description":")", long_text, "\"}")), "at most 1048576");
}

/// Specs that a key without lengths could confuse.
TEST(Constraint, KeysTellSpecsApart) {
  const Json schema = schema_of(R"({"a":1})");
  std::vector<ConstraintSpec> specs = {
      {.form = ConstraintSpec::AnyJson{true}},
      {.form = ConstraintSpec::AnyJson{false}},
      {.form = ConstraintSpec::JsonSchema{.schema = schema}},
      {.form = ConstraintSpec::JsonSchema{.schema = schema, .is_strict = true}},
      {.form = ConstraintSpec::JsonSchema{.schema = schema, .any_order = true}},
      {.form = ConstraintSpec::JsonSchema{.schema = schema_of(R"({"a":1.5})")}},
      {.form = ConstraintSpec::JsonSchema{.schema = schema_of(R"({"a":"1"})")}},
      {.form = ConstraintSpec::JsonSchema{.schema = schema_of(R"({"a":1,"b":2})")}},
      {.form = ConstraintSpec::JsonSchema{.schema = schema_of(R"({"b":2,"a":1})")}},
      {.form = ConstraintSpec::Regex{"a"}},
      {.form = ConstraintSpec::Gbnf{"a"}},
      {.form = ConstraintSpec::OneOf{{"a"}}},
      {.form = ConstraintSpec::OneOf{{"a", "b"}}},
      {.form = ConstraintSpec::OneOf{{"b", "a"}}},
      {.form = ConstraintSpec::OneOf{{"ab"}}},
      {.form = ConstraintSpec::OneOf{{"a1:b"}}},
      {.form = ConstraintSpec::OneOf{{"a", ""}}},
      {.form = Tags{.tags = {{"a", schema, "b"}}, .triggers = {"a"}}},
      {.form = Tags{.tags = {{"ab", schema, ""}}, .triggers = {"a"}}},
      {.form = Tags{.tags = {{"a", schema, "b"}}, .triggers = {"a", "a"}}},
      {.form = Tags{.tags = {{"a", schema, "b"}, {"a", schema, "b"}}, .triggers = {"a"}}},
  };
  const std::size_t forms = specs.size();
  for (std::size_t i = 0; i < forms; ++i) {
    specs.push_back(specs[i]);
    specs.back().name = "other";
  }
  std::set<std::string> keys;
  for (const ConstraintSpec& spec : specs) EXPECT_TRUE(keys.insert(spec.cache_key()).second);
  for (const ConstraintSpec& spec : specs) EXPECT_FALSE(keys.insert(spec.cache_key()).second);
  for (const std::string& key : keys) EXPECT_TRUE(key.starts_with("spec:"));
}

TEST(Constraint, TheCacheCompilesSpecs) {
  ConstraintCache cache(byte_trie());
  const auto first = cache.get(regex_spec("a+"));
  EXPECT_EQ(cache.get(regex_spec("a+")), first);
  EXPECT_NE(cache.get(regex_spec("b+")), first);
  EXPECT_EQ(cache.count(), 2U);
  EXPECT_TRUE(testing::allows(*first, "aaa"));
  EXPECT_THROW(cache.get(regex_spec("(")), Error);
  EXPECT_THROW(cache.get(gbnf_spec("root ::= (")), Error);
  EXPECT_EQ(cache.count(), 2U);
}

/// Notes name keywords that are not enforced. A strict schema may not have any.
TEST(Constraint, Notes) {
  const std::string schema = R"({"type":"array","items":{"type":"object"},"uniqueItems":true})";
  EXPECT_TRUE(refusal(schema_spec(schema, true)).starts_with("schema/uniqueItems: "));
  const auto loose = compile_constraint(schema_spec(schema, false), byte_trie());
  ASSERT_EQ(loose->notes.size(), 1U);
  EXPECT_EQ(loose->notes[0].pointer, "/uniqueItems");
  Tags tags = weather_tags();
  tags.tags[1].schema = schema_of(schema);
  const auto tagged = compile_constraint({.form = tags}, byte_trie());
  ASSERT_EQ(tagged->notes.size(), 1U);
  EXPECT_EQ(tagged->notes[0].pointer, "/structures/1/schema/uniqueItems");
}

}  // namespace
}  // namespace ingot
