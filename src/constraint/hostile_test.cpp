// The X lines of the catalogue of hostile inputs: constraints that attack the compiler. Each is
// refused with a message, or compiled within the budget.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "constraint/constraint.h"
#include "constraint/constraint_test_util.h"
#include "constraint/language/pattern.h"

namespace ingot {
namespace {

using testing::byte_trie;
using testing::gbnf_spec;
using testing::refusal;
using testing::regex_spec;
using testing::schema_spec;

/// Compiles a schema in both modes. Returns the message of the strict one, or "accepted". What the
/// loose mode refuses, the strict mode refuses too.
std::string schema_refusal(const std::string& schema) {
  const std::string strict = refusal(schema_spec(schema, true));
  const std::string loose = refusal(schema_spec(schema, false));
  EXPECT_TRUE(strict != "accepted" || loose == "accepted") << schema.substr(0, 200);
  for (const std::string& message : {strict, loose}) {
    EXPECT_TRUE(message == "accepted" || message.starts_with("schema")) << message;
    EXPECT_LT(message.size(), 1000U);
  }
  return strict;
}

void expect_refused(const std::string& schema) {
  EXPECT_NE(schema_refusal(schema), "accepted") << schema.substr(0, 200);
}
void expect_compiled(const std::string& schema) {
  EXPECT_EQ(schema_refusal(schema), "accepted") << schema.substr(0, 200);
}

/// `text` with `count` repetitions of `begin` before it and of `end` behind it.
std::string nested(std::string_view begin, int count, std::string_view text, std::string_view end) {
  std::string out;
  for (int i = 0; i < count; ++i) out += begin;
  out += text;
  for (int i = 0; i < count; ++i) out += end;
  return out;
}

std::string list_of(int count, const auto& item) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i == 0 ? "" : ",") + item(i);
  return out;
}

/// A valid text of a schema, found by a walk that prefers short ends; empty: none within the steps.
std::string some_text(const ConstraintSpec& spec, std::string_view prefer) {
  Matcher matcher(compile_constraint(spec, byte_trie())->grammar);
  std::string text;
  while (!matcher.is_complete() && text.size() < 200'000) {
    const auto mask = matcher.mask();
    const auto is_allowed = [&](unsigned char c) { return (mask[c / 32] >> (c % 32) & 1U) != 0; };
    int next = -1;
    for (const char c : prefer) {
      if (next < 0 && is_allowed(static_cast<unsigned char>(c)))
        next = static_cast<unsigned char>(c);
    }
    for (int c = 0; c < 256 && next < 0; ++c) {
      if (is_allowed(static_cast<unsigned char>(c))) next = c;
    }
    if (next < 0 || !matcher.accept(next)) return "a dead end";
    text += static_cast<char>(next);
  }
  return matcher.is_complete() ? text : "";
}

TEST(HostileConstraints, X01DeepSchemas) {
  for (const char* keyword : {R"({"items":)", R"({"not":)", R"({"additionalProperties":)"}) {
    expect_refused(nested(keyword, 300, "true", "}"));
    schema_refusal(nested(keyword, 200, R"({"type":"string"})", "}"));
  }
  expect_refused(nested(R"({"allOf":[)", 200, "true", "]}"));  // 400 levels
  expect_compiled(nested(R"({"allOf":[)", 100, R"({"type":"null"})", "]}"));
  expect_compiled(nested(R"({"type":"object","properties":{"a":)", 120, "true", "}}"));
}

TEST(HostileConstraints, X02References) {
  expect_refused(R"({"$ref":"#"})");
  expect_refused(
      R"({"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"})");
  expect_refused(R"({"allOf":[{"$ref":"#"}]})");
  expect_refused(R"({"anyOf":[{"$ref":"#"}]})");
  expect_compiled(R"({"anyOf":[{"$ref":"#"},{"type":"null"}]})");
  expect_refused(R"({"not":{"$ref":"#"}})");
  expect_compiled(R"({"type":"array","items":{"$ref":"#"}})");
  // Recursion in which every document is infinite.
  expect_refused(R"({"type":"array","items":{"$ref":"#"},"minItems":1})");
  expect_refused(R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})");
  for (const char* target : {"#/$defs/none", "http://example.org/s.json", "file:///etc/passwd",
                             "#/$defs/%2e%2e", "other.json", "#/$defs/a/b/c", "#nowhere"}) {
    expect_refused(cat(R"({"$defs":{"a":true},"$ref":")", target, "\"}"));
  }
  // Schemas that are all parts of each other, as alternatives.
  const auto clique = [](int size) {
    const auto reference = [](int i) { return cat(R"({"$ref":"#/$defs/d)", i, "\"}"); };
    const auto member = [&](int i) {
      return cat("\"d", i, R"(":{"anyOf":[)", list_of(size, reference), R"(,{"const":)", i, "}]}");
    };
    return cat(R"({"$ref":"#/$defs/d0","$defs":{)", list_of(size, member), "}}");
  };
  expect_compiled(clique(6));
  expect_refused(clique(40));
  // A chain of references, within the budget or refused.
  const auto link = [](int i) { return cat("\"r", i, R"(":{"$ref":"#/$defs/r)", i + 1, "\"}"); };
  schema_refusal(cat(R"({"$ref":"#/$defs/r0","$defs":{)", list_of(10'000, link),
                     R"(,"r10000":{"type":"null"}}})"));
  expect_compiled(
      cat(R"({"$ref":"#/$defs/r0","$defs":{)", list_of(100, link), R"(,"r100":{"type":"null"}}})"));
}

TEST(HostileConstraints, X03Counts) {
  // Counted, not written out.
  expect_compiled(R"({"type":"array","items":{"type":"null"},"minItems":1000000000})");
  expect_compiled(R"({"type":"array","maxItems":1000000000})");
  expect_compiled(R"({"type":"string","minLength":1000000000,"maxLength":1000000000})");
  expect_refused(R"({"type":"string","minLength":3,"maxLength":2})");
  expect_refused(R"({"type":"array","minItems":3,"maxItems":2})");
  for (const char* keyword : {"minItems", "maxLength", "minProperties", "maxContains"}) {
    for (const char* value : {"-1", "1.5", "\"3\"", "null"}) {
      expect_refused(cat("{\"contains\":true,\"", keyword, "\":", value, "}"));
    }
  }
  expect_refused(R"({"type":"string","pattern":"^a{1000000000}$"})");
  expect_refused(R"({"type":"string","pattern":"((a{1000}){1000}){1000}"})");
  EXPECT_NE(refusal(regex_spec("((a{1000}){1000}){1000}")), "accepted");
  EXPECT_NE(refusal(regex_spec("a{3,2}")), "accepted");
}

TEST(HostileConstraints, X04Patterns) {
  EXPECT_EQ(refusal(regex_spec("(a+)+$")), "accepted");
  const std::string many = list_of(10'000, [](int i) { return cat("w", i); });
  std::string alternatives = many;
  for (char& c : alternatives) c = c == ',' ? '|' : c;
  EXPECT_EQ(refusal(regex_spec("(?:" + alternatives.substr(0, 60'000) + ")")), "accepted");
  for (const char* bad : {"(a)\\1", "foo**", "[z-a]", "(", "a)", "\\p{Nope}", "(?<=x)*", "\\"}) {
    const std::string message = refusal(regex_spec(bad));
    EXPECT_TRUE(message.starts_with("regex")) << bad << ": " << message;
    expect_refused(cat(R"({"type":"string","pattern":)", Json(bad).dump(), "}"));
  }
  expect_compiled(R"({"type":"string","pattern":"(?<=a)b"})");
  EXPECT_NE(refusal(regex_spec(std::string(1 << 20, 'a'))), "accepted");
  EXPECT_NE(refusal(regex_spec(std::string(30'000, '('))), "accepted");
  refusal(regex_spec(nested("(?:", 10'000, "a", ")")));
  EXPECT_NE(refusal(regex_spec("[ab]*a[ab]{30}c[ab]*a[ab]{30}")), "accepted");
}

TEST(HostileConstraints, X05Enumerations) {
  const auto text = [](int i) { return cat("\"", i, std::string(100, 'x'), "\""); };
  refusal(schema_spec(cat("{\"enum\":[", list_of(9'000, text), "]}")));
  expect_refused(cat("{\"enum\":[", list_of(100'000, text), "]}"));
  const auto short_text = [](int i) { return cat("\"value ", i, "\""); };
  expect_compiled(cat("{\"enum\":[", list_of(4'000, short_text), "]}"));
  schema_refusal(R"({"enum":["a","a",1e308,-0.0,12345678901234567890]})");
  expect_compiled(cat("{\"const\":", nested("[", 100, "{\"a\":[1,2]}", "]"), "}"));
  EXPECT_NE(refusal({.form = ConstraintSpec::OneOf{std::vector<std::string>(
                         4000, std::string(1000, 'x'))}}),
            "accepted");
}

TEST(HostileConstraints, X06Combinations) {
  const auto pair = [](int i) {
    return cat(R"({"anyOf":[{"required":["a)", i, R"("]},{"required":["b)", i, "\"]}]}");
  };
  schema_refusal(cat("{\"type\":\"object\",\"allOf\":[", list_of(30, pair), "]}"));
  const auto numbers = [](int i) { return cat(R"({"multipleOf":)", i + 2, "}"); };
  schema_refusal(cat("{\"type\":\"integer\",\"oneOf\":[", list_of(12, numbers), "]}"));
  expect_refused(R"({"allOf":[{"type":"string"},{"type":"integer"}]})");
  expect_compiled(R"({"type":"string","not":{"const":"a"}})");
  expect_compiled(R"({"if":{"type":"string"},"then":{"const":"a"},"else":{"type":"null"}})");
}

/// The steps that both modes spend on a schema, whether it is refused or not.
std::uint64_t steps_of(const std::string& schema) {
  std::uint64_t steps = 0;
  for (const bool is_strict : {true, false}) {
    CompileBudget budget;
    try {
      Grammar grammar;
      std::vector<SchemaNote> notes;
      grammar.set_root(add_constraint(grammar, schema_spec(schema, is_strict), notes, budget));
      make_constraint(std::move(grammar), std::move(notes), byte_trie(), budget);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    }
    steps += CompileBudget::kStepsMax - budget.left();
  }
  return steps;
}

/// Counts work instead of time: combinations that double with each part may not double the work.
TEST(HostileConstraints, X06WorkGrowsSlowly) {
  const auto either = [](int i) {
    return cat(R"({"anyOf":[{"required":["a)", i, R"("]},{"required":["b)", i, "\"]}]}");
  };
  const auto one_of_two = [](int i) {
    return cat(R"({"oneOf":[{"required":["a)", i, R"("]},{"required":["b)", i, "\"]}]}");
  };
  const auto condition = [](int i) {
    return cat(R"({"if":{"required":["a)", i, R"("]},"then":{"properties":{"b)", i,
               R"(":{"type":"null"}}}})");
  };
  const auto other = [](int i) {
    return cat(R"({"not":{"properties":{"a)", i, R"(":{"const":)", i, "}}}}");
  };
  const auto all = [](int count, const auto& part) {
    return cat(R"({"type":"object","allOf":[)", list_of(count, part), "]}");
  };
  const auto overlapping = [](int count, const auto&) {
    const auto part = [](int i) { return cat(R"({"properties":{"p)", i, R"(":{"const":1}}})"); };
    return cat(R"({"type":"object","oneOf":[)", list_of(count, part), "]}");
  };
  // 2^40 alternatives of 40 parts would exhaust any budget.
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> steps = {
      {steps_of(all(20, either)), steps_of(all(40, either))},
      {steps_of(all(20, one_of_two)), steps_of(all(40, one_of_two))},
      {steps_of(all(20, condition)), steps_of(all(40, condition))},
      {steps_of(all(20, other)), steps_of(all(40, other))},
      {steps_of(overlapping(20, other)), steps_of(overlapping(40, other))}};
  for (const auto& [few, many] : steps) {
    EXPECT_LT(few, CompileBudget::kStepsMax);  // both modes together
    EXPECT_LT(many, few * 16) << few;          // at most the fourth power
  }
}

TEST(HostileConstraints, X07EmptyLanguages) {
  expect_refused(R"({"enum":[]})");
  expect_refused(R"({"type":"integer","minimum":2,"maximum":1})");
  expect_refused(R"({"type":"integer","exclusiveMinimum":1,"exclusiveMaximum":2})");
  expect_refused(R"({"type":"string","pattern":"^a$","minLength":2})");
  expect_refused(R"({"type":"object","required":["a"],"properties":{"a":false}})");
  expect_refused(R"({"type":"array","prefixItems":[false],"minItems":1})");
}

TEST(HostileConstraints, X08Properties) {
  const auto name = [](int i) { return cat("\"p", i, "\""); };
  schema_refusal(cat(R"({"type":"object","additionalProperties":{"type":"null"},"required":[)",
                     list_of(10'000, name), "]}"));
  const std::string odd =
      R"({"type":"object","additionalProperties":false,"properties":{
          "a\"b":{"const":1},"\u0000":{"const":2},"\ud83d\ude00":{"const":3},"\\":{"const":4},
          "::= | [^]*":{"const":5}},
          "required":["a\"b","\u0000","\ud83d\ude00","\\","::= | [^]*"]})";
  expect_compiled(odd);
  const std::string text = some_text(schema_spec(odd), ",}\"");
  const Json document = testing::schema_of(text);
  EXPECT_EQ(document.find("a\"b")->dump(), "1");
  EXPECT_EQ(document.find(std::string(1, '\0'))->dump(), "2");
  EXPECT_EQ(document.find("\U0001F600")->dump(), "3");
  EXPECT_EQ(document.find("::= | [^]*")->dump(), "5");
  schema_refusal(cat(R"({"properties":{")", std::string(500'000, 'k'), R"(":true}})"));
}

TEST(HostileConstraints, X09Numbers) {
  expect_refused(R"({"type":"number","multipleOf":0})");
  expect_refused(R"({"type":"number","multipleOf":-1})");
  schema_refusal(R"({"type":"number","multipleOf":1e-300})");
  schema_refusal(R"({"type":"number","minimum":1e308})");
  schema_refusal(R"({"type":"number","exclusiveMinimum":1e308,"maximum":1.7976931348623157e308})");
  schema_refusal(R"({"type":"integer","minimum":-1e300,"maximum":1e300,"multipleOf":7})");
  schema_refusal(R"({"type":"number","multipleOf":123456789.123456789})");
}

TEST(HostileConstraints, X10OddSchemas) {
  expect_compiled("true");
  expect_compiled("{}");
  for (const char* schema : {"false", "[]", "\"x\"", "1", "null"}) expect_refused(schema);
  expect_refused(cat(R"({"title":")", std::string(1 << 20, 'x'), "\"}"));
  expect_compiled(cat(R"({"title":")", std::string(100'000, 'x'), "\"}"));
}

TEST(HostileConstraints, X12Vocabularies) {
  // No token has the byte that every text needs.
  const auto letters = std::make_shared<const TokenTrie>(2, [](std::int32_t id) {
    return TokenTrie::Token{id == 0 ? "a" : "b", TokenUse::kText};
  });
  EXPECT_THROW(compile_constraint(regex_spec("a+c"), letters), Error);
  Matcher matcher(compile_constraint(regex_spec("a+[bc]"), letters)->grammar);
  EXPECT_TRUE(matcher.accept(0));
  EXPECT_EQ(matcher.mask()[0], 3U);
  EXPECT_TRUE(matcher.accept(1));
  EXPECT_EQ(matcher.mask()[0], 0U);
  EXPECT_TRUE(matcher.is_complete());
  EXPECT_FALSE(matcher.may_continue());
  // A character that several tokens spell.
  Matcher split(compile_constraint(regex_spec("\u20ac"), byte_trie())->grammar);
  for (const int byte : {0xE2, 0x82, 0xAC}) {
    EXPECT_FALSE(split.is_complete());
    EXPECT_TRUE(split.accept(byte));
  }
  EXPECT_TRUE(split.is_complete());
}

/// A budget that runs out stops the work at once, wherever it is spent.
TEST(HostileConstraints, EveryFormSpendsFromTheBudget) {
  const std::vector<ConstraintSpec> specs = {
      {.form = ConstraintSpec::AnyJson{}},
      schema_spec(R"({"type":"object","properties":{"a":{"pattern":"^[a-z]{1,30}$"}}})"),
      regex_spec("[a-z]{1,30}x"),
      {.form = ConstraintSpec::OneOf{{"one", "two", "three"}}},
      gbnf_spec("root ::= \"(\" root \")\" | [a-z]{1,30}"),
  };
  for (const ConstraintSpec& spec : specs) {
    Grammar grammar;
    std::vector<SchemaNote> notes;
    CompileBudget enough;
    add_constraint(grammar, spec, notes, enough);
    const std::uint64_t used = CompileBudget::kStepsMax - enough.left();
    EXPECT_GT(used, 10U);
    EXPECT_LT(used, CompileBudget::kStepsMax / 10);
    for (const std::uint64_t steps : {std::uint64_t{0}, std::uint64_t{5}}) {
      Grammar other;
      CompileBudget budget(steps);
      EXPECT_THROW(add_constraint(other, spec, notes, budget), Error) << spec.form.index();
    }
  }
}

}  // namespace
}  // namespace ingot
