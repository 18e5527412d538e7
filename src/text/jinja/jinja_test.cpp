// Tests of what templates mean. Expected texts follow from Jinja's documentation; that they are
// also those of Python's Jinja2 is what tests/cli/template_test.py checks on a larger scale.
#include <gtest/gtest.h>

#include <string>

#include "text/jinja/jinja_test_util.h"

namespace ingot {
namespace {

using testing::error_of;
using testing::render;

TEST(Jinja, TagsTakeWhiteSpaceAway) {
  EXPECT_EQ(render("a\n{% if true %}\nb\n{% endif %}\nc\n"), "a\nb\nc");
  EXPECT_EQ(render("a\n  {% if true %}b{% endif %}"), "a\nb");
  EXPECT_EQ(render("a \n  {%- if true -%} \n b{% endif %}"), "ab");
  EXPECT_EQ(render("a\n  {%+ if true %}b{% endif %}"), "a\n  b");
  EXPECT_EQ(render("{% if true +%}\nb{% endif %}"), "\nb");
  EXPECT_EQ(render("a\n  {{ 1 }}\n"), "a\n  1");
  EXPECT_EQ(render("a {{- 1 -}} b"), "a1b");
  EXPECT_EQ(render("a\n  {# x #}\nb{#- y -#} c"), "a\nbc");
  EXPECT_EQ(render("{% raw %}{{ x }}{% endraw %}"), "{{ x }}");
  EXPECT_EQ(render("a\r\nb\rc\n\n"), "a\nb\nc\n");
}

TEST(Jinja, OperatorsBindAsDocumented) {
  EXPECT_EQ(render("{{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }}"),
            "7 9 3 -4 2");
  EXPECT_EQ(render("{{ 2 ** 3 ** 2 }} {{ 7 / 2 }} {{ -2 ** 2 }} {{ -1 | abs }}"), "64 3.5 4 1");
  EXPECT_EQ(render("{{ 'a' ~ 1 + 'b' }} {{ [1] + [2] }} {{ 'ab' * 2 }} {{ 1 ~ 2 ~ 3 }}"),
            "a1b [1, 2] abab 123");
}

TEST(Jinja, ConditionsChainAndChoose) {
  EXPECT_EQ(
      render("{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ not 1 == 2 }} {{ 1 in [1] and 2 not in [1] }}"),
      "True False True True");
  EXPECT_EQ(render("{{ 'a' if false else 'b' if false else 'c' }}|{{ 'a' if false }}|"), "c||");
  EXPECT_EQ(render("{{ 0 or 'x' }}{{ '' and 'y' }}{{ 1 and 2 }}"), "x2");
}

TEST(Jinja, FloatsPrintAsPythonPrintsThem) {
  EXPECT_EQ(render("{{ 1.0 }} {{ 1e16 }} {{ 1e15 }} {{ 0.0001 }} {{ 0.00001 }} {{ 0.1 + 0.2 }}"),
            "1.0 1e+16 1000000000000000.0 0.0001 1e-05 0.30000000000000004");
  EXPECT_EQ(render("{{ x }}", R"({"x": -0.0})"), "-0.0");
}

TEST(Jinja, LoopsHaveTheirVariables) {
  EXPECT_EQ(render("{% for x in 'abc' %}{{ loop.index }}{{ x }}{{ loop.revindex0 }}"
                   "{{ ',' if not loop.last }}{% endfor %}"),
            "1a2,2b1,3c0");
  EXPECT_EQ(render("{% for x in [] %}x{% else %}none{% endfor %}"), "none");
  EXPECT_EQ(render("{% for x in range(9) if x is odd %}{{ loop.length }}{{ x }} {% endfor %}"),
            "41 43 45 47 ");
  EXPECT_EQ(render("{% for x in range(9) %}{% if x == 2 %}{% continue %}{% endif %}"
                   "{% if x == 5 %}{% break %}{% endif %}{{ x }}{% endfor %}"),
            "0134");
  EXPECT_EQ(render("{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}"), "123");
  EXPECT_EQ(render("{% for x in [1, [2, [3]]] recursive %}"
                   "{{ loop(x) if x is iterable else x ~ loop.depth }}{% endfor %}"),
            "112233");
  EXPECT_EQ(render("{% for x in [1, 1, 2] %}{{ loop.changed(x) }}{{ loop.previtem }}{% endfor %}"),
            "TrueFalse1True1");
}

TEST(Jinja, AssignmentsEndWithTheirScope) {
  EXPECT_EQ(render("{% set a = 1 %}{% for x in [1] %}{% set a = 2 %}{{ a }}{% endfor %}{{ a }}"),
            "21");
  EXPECT_EQ(render("{% set a = 1 %}{% if true %}{% set a = 2 %}{% endif %}{{ a }}"), "2");
  EXPECT_EQ(render("{% set n = namespace(a=1) %}{% for x in [1] %}{% set n.a = 2 %}{% endfor %}"
                   "{{ n.a }}"),
            "2");
  EXPECT_EQ(render("{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}"),
            "12False");
  EXPECT_EQ(render("{% set x %}a{{ 1 }}{% endset %}{{ x }}{% set y | upper %}b{% endset %}{{ y }}"),
            "a1B");
  EXPECT_EQ(render("{% filter upper | replace('B', 'x') %}ab{% endfilter %}"), "Ax");
  EXPECT_EQ(render("{% set a, b = 1, 2 %}{{ a }}{{ b }}"), "12");
}

TEST(Jinja, MacrosTakeArguments) {
  EXPECT_EQ(render("{% macro f(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}{{ f(1, b=2) }}"),
            "1112");
  EXPECT_EQ(render("{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, x=2) }}"),
            "(1,){'x': 2}");
  EXPECT_EQ(render("{% macro f() %}<{{ caller(1) }}>{% endmacro %}"
                   "{% call(x) f() %}{{ x }}{% endcall %}"),
            "<1>");
  EXPECT_EQ(render("{% macro f(a) %}{{ a is defined }}{% endmacro %}{{ f() }}"), "False");
  EXPECT_EQ(render("{% macro f(n) %}{{ n }}{{ f(n - 1) if n > 0 }}{% endmacro %}{{ f(3) }}"),
            "3210");
  EXPECT_EQ(render("{% macro f(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ f(*[1], **{'b': 2}) }}"),
            "12");
  EXPECT_NE(error_of("{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}").find("not more than 1"),
            std::string::npos);
}

TEST(Jinja, AttributesAndElementsDifferInWhatComesFirst) {
  const char* context = R"({"d": {"items": 5, "a": 1}})";
  EXPECT_EQ(render("{{ d['items'] }} {{ d.a }} {{ d['a'] }} {{ d.items() | list }}", context),
            "5 1 1 [('items', 5), ('a', 1)]");
  EXPECT_EQ(render("{{ d.missing }}{{ d['missing'] is defined }}", context), "False");
  EXPECT_NE(error_of("{{ d.a.b.c }}", context).find("'int object' has no attribute 'b'"),
            std::string::npos);
}

TEST(Jinja, SlicesCountCodePoints) {
  EXPECT_EQ(render("{{ 'aé你b'[1:3] }} {{ 'aé你b'[::-1] }} {{ 'aé你b'[-1] }} {{ [1, 2, 3][1:] }}"),
            "é你 b你éa b [2, 3]");
  EXPECT_EQ(render("{{ 'aé你b' | length }}{{ 'abc'[5:] }}{{ 'abc'[9] }}"), "4");
}

TEST(Jinja, JsonIsPythons) {
  EXPECT_EQ(render(R"({{ {'b': [1, 2.0, none, true], 'a': 'é"\n'} | tojson }})"),
            R"({"b": [1, 2.0, null, true], "a": "é\"\n"})");
  EXPECT_EQ(render("{{ {'b': [1, {}], 'a': []} | tojson(indent=2, sort_keys=true) }}"),
            "{\n  \"a\": [],\n  \"b\": [\n    1,\n    {}\n  ]\n}");
  EXPECT_EQ(render("{{ 'é' | tojson(ensure_ascii=true) }}"), "\"\\u00e9\"");
  EXPECT_NE(error_of("{{ x | tojson }}").find("not JSON serializable"), std::string::npos);
}

TEST(Jinja, CaseFollowsUnicode) {
  EXPECT_EQ(
      render("{{ 'straße' | upper }} {{ 'ÀÉ' | lower }} {{ 'ΑΣ' | lower }} {{ 'ǆ' | title }}"),
      "STRASSE àé ας Ǆ");
  EXPECT_EQ(
      render(
          "{{ 'hello wORLD-foo' | title }} {{ 'hello wORLD'.title() }} {{ 'éa B' | capitalize }}"),
      "Hello World-Foo Hello World Éa b");
}

TEST(Jinja, GeneratorsAreReadOnce) {
  EXPECT_EQ(render("{% set g = [1, 2] | map('string') %}{{ g | join }}|{{ g | join }}"), "12|");
}

TEST(Jinja, MarkupEscapesWhatIsAdded) {
  EXPECT_EQ(render("{{ '<'|safe + '>' }} {{ '<' | e }} {{ '<' + '>' }}"), "<&gt; &lt; <>");
}

TEST(Jinja, TheClockIsGiven) {
  JinjaOptions options;
  options.now.tm_year = 124;
  options.now.tm_mon = 6;
  options.now.tm_mday = 6;
  options.now.tm_wday = 6;
  options.now.tm_yday = 187;
  EXPECT_EQ(render("{{ strftime_now('%Y-%m-%d %d %b %Y %A %-d %j') }}", "{}", options),
            "2024-07-06 06 Jul 2024 Saturday 6 188");
  EXPECT_NE(error_of("{{ strftime_now('%!') }}").find("unknown directive"), std::string::npos);
}

TEST(Jinja, ErrorsNameTheirPlace) {
  EXPECT_EQ(error_of("a\n\n  {{ 1 + }}"),
            "test: chat template @12: line 3, column 10: unexpected '}}'");
  EXPECT_EQ(error_of("é\n{{ missing.x }}"),
            "chat template, line 2, column 11: 'missing' is undefined");
  EXPECT_NE(error_of("{% if true %}").find("expected 'endif'"), std::string::npos);
  EXPECT_NE(error_of("{% foo %}").find("unknown tag 'foo'"), std::string::npos);
  EXPECT_NE(error_of("{{ 1 | nope }}").find("no filter named 'nope'"), std::string::npos);
  EXPECT_EQ(render("{% if false %}{{ 1 | nope }}{% endif %}"), "");
  EXPECT_NE(error_of("{{ (1 }}").find("expected ')'"), std::string::npos);
  EXPECT_NE(error_of("{{ 'abc }}").find("the string is not closed"), std::string::npos);
  EXPECT_NE(error_of("{% break %}").find("outside of a loop"), std::string::npos);
}

}  // namespace
}  // namespace ingot
