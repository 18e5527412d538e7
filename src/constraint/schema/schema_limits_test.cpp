// Tests of what a JSON Schema may cost, and of what is refused or noted where a limit is reached.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
#include "constraint/schema/json_schema.h"
#include "constraint/schema/schema_search_test_util.h"

namespace ingot {
namespace {

/// A compiled schema, or why there is none.
struct Compiled {
  std::string error;
  std::vector<SchemaNote> notes{};
  std::shared_ptr<const MatcherGrammar> grammar{};

  bool allows(std::string_view text) const {
    if (grammar == nullptr) return false;
    Matcher matcher(grammar);
    return matcher.accept_bytes(text) && matcher.is_complete();
  }
};

Compiled compiled(const std::string& schema, bool is_strict = true) {
  static const std::shared_ptr<const TokenTrie> trie = byte_vocabulary();
  Compiled out;
  try {
    out.grammar = compile_schema(parse_line(schema), is_strict, trie, out.notes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    out.error = error.message();
  }
  return out;
}

/// The steps that add_json_schema spends.
std::uint64_t steps_of(const std::string& schema) {
  CompileBudget budget;
  Grammar grammar;
  std::vector<SchemaNote> notes;
  add_json_schema(grammar, parse_line(schema), SchemaOptions(), notes, budget);
  return CompileBudget::kStepsMax - budget.left();
}

std::string list_of(int count, const auto& item) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i == 0 ? "" : ",") + item(i);
  return out;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(SchemaLimits, BoundsIdentifiers) {
  const auto with_base = [](std::size_t length, int parts) {
    const auto part = [](int i) { return cat("\"a", i, R"(":{"$id":")", i, "\"}"); };
    return cat(R"({"$id":"http://x/)", std::string(length, 'y'), R"(/","$defs":{)",
               list_of(parts, part), "}}");
  };
  EXPECT_EQ(compiled(with_base(4'000, 10)).error, "");
  EXPECT_TRUE(has(compiled(with_base(5'000, 1)).error, "more than 4096 bytes"));
  EXPECT_TRUE(has(compiled(with_base(500'000, 20'000)).error, "more than 4096 bytes"));
  EXPECT_TRUE(has(compiled(with_base(4'000, 20'000)).error, "too complex"));
  EXPECT_EQ(compiled(with_base(20, 10'000)).error, "");
}

TEST(SchemaLimits, RefusesReferencesToSeveralSubschemas) {
  const std::string twice =
      R"("$defs":{"a":{"$id":"http://x/a","type":"null"},"b":{"$id":"http://x/a"}})";
  EXPECT_EQ(compiled(cat("{", twice, "}")).error, "");
  EXPECT_EQ(compiled(cat(R"({"$ref":"http://x/a",)", twice, "}")).error,
            "schema/$ref: 'http://x/a' is the identifier of several subschemas");
  const std::string anchors = R"("$defs":{"a":{"$anchor":"n","type":"null"},"b":{"$anchor":"n"}})";
  EXPECT_EQ(compiled(cat(R"({"$ref":"#n",)", anchors, "}")).error,
            "schema/$ref: '#n' is the identifier of several subschemas");
  EXPECT_TRUE(compiled(R"({"$ref":"#n","$defs":{"a":{"$anchor":"n","$dynamicAnchor":"n",
                                                     "type":"null"}}})")
                  .allows("null"));
}

TEST(SchemaLimits, SpendsOneVisitOnDynamicAnchors) {
  const auto schema = [](int anchors, int properties) {
    const auto anchor = [](int i) { return cat("\"a", i, R"(":{"$dynamicAnchor":"n)", i, "\"}"); };
    const auto property = [](int i) { return cat("\"p", i, R"(":{"type":"null"})"); };
    return cat(R"({"type":"object","$defs":{)", list_of(anchors, anchor), R"(},"properties":{)",
               list_of(properties, property), "}}");
  };
  const std::uint64_t few = steps_of(schema(10, 1'000)), many = steps_of(schema(15'000, 1'000));
  EXPECT_GT(many, few + 30'000);  // not free
  EXPECT_LT(many, few + 500'000);
}

TEST(SchemaLimits, FollowsDependenciesInAnyOrder) {
  const auto schema = [](int links, int properties, std::string_view more) {
    const auto link = [&](int i) {
      return cat("\"d", links - i, R"(":["d)", links - i - 1, "\"]");
    };
    const auto property = [](int i) { return cat("\"p", i, "\":true"); };
    return cat(R"({"type":"object","additionalProperties":{"type":"null"},"properties":{)",
               list_of(properties, property), R"(},"dependentRequired":{)", list_of(links, link),
               "}", more, "}");
  };
  const Compiled some = compiled(schema(3, 1, R"(,"required":["d3"])"));
  EXPECT_EQ(some.error, "");
  EXPECT_TRUE(some.allows(R"({"d3":null,"d2":null,"d1":null,"d0":null})"));
  EXPECT_FALSE(some.allows(R"({"d3":null,"d2":null,"d1":null})"));
  const Compiled none = compiled(schema(3, 1, R"(,"not":{"required":["d0"]})"));
  EXPECT_TRUE(none.allows("{}"));
  EXPECT_FALSE(none.allows(R"({"d3":null,"d2":null,"d1":null})"));
  EXPECT_LT(steps_of(schema(1'900, 16'000, R"(,"required":["d1900"])")), 2'000'000U);
}

TEST(SchemaLimits, FindsUnevaluatedPropertiesBehindUnknownKeywords) {
  const Compiled schema = compiled(
      R"({"properties":{"a":{"$ref":"#/$defs/b"},"c":{"$ref":"#/components/u"}},
          "$defs":{"b":{"properties":{"x":{"type":"null"}}}},
          "components":{"u":{"allOf":[{"$ref":"#/$defs/b"}],"unevaluatedProperties":false}}})");
  EXPECT_TRUE(schema.allows(R"({"c":{"x":null}})"));
  EXPECT_FALSE(schema.allows(R"({"c":{"y":null}})"));
  EXPECT_TRUE(schema.allows(R"({"a":{"y":null}})"));
}

TEST(SchemaLimits, NotesUniqueStringsThatAreTooLong) {
  for (const char* length : {"100000", "1000000000"}) {
    const std::string schema =
        cat(R"({"type":"array","uniqueItems":true,"items":{"type":"string","maxLength":)", length,
            "}}");
    EXPECT_TRUE(has(compiled(schema).error, "schema/uniqueItems: ")) << compiled(schema).error;
    const Compiled loose = compiled(schema, false);
    ASSERT_EQ(loose.notes.size(), 1U) << loose.error;
    EXPECT_EQ(loose.notes[0].pointer, "/uniqueItems");
    EXPECT_TRUE(loose.allows(R"(["a","a"])"));
    EXPECT_FALSE(loose.allows("[1]"));
  }
  EXPECT_FALSE(
      compiled(R"({"type":"array","uniqueItems":true,"items":{"type":"string","maxLength":9}})")
          .allows(R"(["a","a"])"));
}

TEST(SchemaLimits, NotesPatternsThatAreTooComplex) {
  // Each repetition doubles the states that may be meant.
  const std::string schema =
      R"({"type":"object","required":["b"],"additionalProperties":false,
          "properties":{"a":{"type":"string","pattern":"(a|b)*a(a|b){40}"},
                        "b":{"type":"integer"}}})";
  EXPECT_TRUE(has(compiled(schema).error, "schema/properties/a/pattern: "))
      << compiled(schema).error;
  const Compiled loose = compiled(schema, false);
  ASSERT_EQ(loose.notes.size(), 1U) << loose.error;
  EXPECT_EQ(loose.notes[0].pointer, "/properties/a/pattern");
  EXPECT_TRUE(loose.allows(R"({"a":"x","b":1})"));
  EXPECT_FALSE(loose.allows(R"({"a":"x","b":"y"})"));
}

TEST(SchemaLimits, CombinesManyBranchesThatEvaluateProperties) {
  const auto schema = [](int parts, std::string_view more) {
    const auto part = [&](int i) { return cat(R"({"properties":{"p)", i, R"(":{}})", more, "}"); };
    return cat(R"({"type":"object","unevaluatedProperties":false,"anyOf":[)", list_of(parts, part),
               "]}");
  };
  const Compiled seven = compiled(schema(7, ""));
  EXPECT_EQ(seven.error, "");
  EXPECT_TRUE(seven.allows(R"({"p2":1,"p6":1})"));
  EXPECT_TRUE(seven.allows(R"({"p0":1,"p1":1,"p2":1,"p3":1,"p4":1,"p5":1,"p6":1})"));
  EXPECT_FALSE(seven.allows(R"({"p2":1,"q":1})"));
  EXPECT_TRUE(has(compiled(schema(20, "")).error, "schema/anyOf: "));
  const Compiled loose = compiled(schema(20, ""), false);
  ASSERT_EQ(loose.notes.size(), 1U) << loose.error;
  EXPECT_EQ(loose.notes[0].pointer, "/anyOf");
  EXPECT_TRUE(loose.allows(R"({"p2":1,"p19":1})"));
  // Branches that exclude each other need no combinations.
  const auto kind = [](int i) {
    return cat(R"({"properties":{"k":{"const":)", i, R"(},"p)", i, R"(":{}},"required":["k"]})");
  };
  const Compiled kinds = compiled(
      cat(R"({"type":"object","unevaluatedProperties":false,"anyOf":[)", list_of(20, kind), "]}"));
  EXPECT_TRUE(kinds.allows(R"({"k":3,"p3":1})")) << kinds.error;
  EXPECT_FALSE(kinds.allows(R"({"k":3,"p4":1})"));
}

TEST(SchemaLimits, CountsAlternativesThatBeginAlike) {
  const auto number = [](int i) { return cat(R"({"const":)", i, "}"); };
  const auto array = [](const std::string& first, const std::string& second) {
    return cat(R"({"type":"array","minItems":2,"prefixItems":[)", first, ",", second, "]}");
  };
  const auto any = [](int count, const auto& part) {
    return cat(R"({"anyOf":[)", list_of(count, part), "]}");
  };
  const auto nested_arrays = [&](int count) {
    const std::string inner = any(count, [&](int i) { return array(number(i), "true"); });
    return any(count, [&](int i) { return array(inner, number(i)); });
  };
  EXPECT_EQ(compiled(nested_arrays(10)).error, "");
  EXPECT_TRUE(compiled(nested_arrays(10)).allows("[[9,0],9]"));
  EXPECT_TRUE(has(compiled(nested_arrays(20)).error, "more than 256 alternatives"));
  EXPECT_EQ(compiled(nested_arrays(20), false).notes.size(), 1U);
  // Objects share the first keys; alternatives with keys of their own do not add up.
  const auto object = [](const std::string& key, const std::string& value, int i) {
    return cat(R"({"type":"object","additionalProperties":false,"required":[")", key,
               R"(","z"],"properties":{")", key, "\":", value, R"(,"z":{"const":)", i, "}}}");
  };
  const auto nested_objects = [&](bool has_one_key) {
    const auto key = [&](int i) { return has_one_key ? "a" : cat("a", i); };
    const std::string inner = any(20, [&](int i) { return object("b", "{}", i); });
    return any(20, [&](int i) { return object(key(i), inner, i); });
  };
  EXPECT_EQ(compiled(nested_objects(false)).error, "");
  EXPECT_TRUE(has(compiled(nested_objects(true)).error, "more than 256 alternatives"));
  // A cycle with two alternatives doubles at each level; one with a single one does not grow.
  const auto cycle = [](std::string_view more) {
    return cat(
        R"({"$defs":{"t":{"anyOf":[{"type":"array","maxItems":3,"items":{"$ref":"#/$defs/t"}})",
        more, R"(]}},"$ref":"#/$defs/t"})");
  };
  EXPECT_EQ(compiled(cycle(R"(,{"type":"null"})")).error, "");
  EXPECT_TRUE(
      has(compiled(cycle(R"(,{"type":"array","minItems":2,"items":{"$ref":"#/$defs/t"}})")).error,
          "more than 256 alternatives"));
}

}  // namespace
}  // namespace ingot
