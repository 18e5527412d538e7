// Tests of hostile templates: each line of the catalogue of chat templates (C01 to C18) that one
// template alone can show, and the caps.
#include <gtest/gtest.h>
#include <pthread.h>

#include <string>

#include "text/jinja/jinja_test_util.h"
#include "text/jinja/lexer.h"

namespace ingot {
namespace {

using testing::error_of;
using testing::render;

bool is_budget_error(const std::string& message) {
  return message.find("template budget") != std::string::npos;
}

std::string repeated(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

TEST(JinjaHostile, C01EndlessWorkEndsWithinTheBudget) {
  for (const char* source :
       {"{% for i in range(10**9) %}{% endfor %}",
        "{% for i in range(10**5) %}{% for j in range(10**5) %}{% for k in range(10**5) %}x"
        "{% endfor %}{% endfor %}{% endfor %}",
        "{% macro f() %}{% for i in range(10**5) %}{{ g() }}{% endfor %}{% endmacro %}"
        "{% macro g() %}{% for i in range(10**5) %}{% endfor %}{% endmacro %}{{ f() }}",
        "{% set a = 'a' * 500000 %}{% set b = 'a' * 250000 ~ 'b' %}{{ b in a }}{{ a.split(b) }}",
        "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}"
        "{% endfor %}{{ ns.s == [ns.s[0], ns.s[1]] }}{{ ns.s | string }}"}) {
    EXPECT_TRUE(is_budget_error(error_of(source))) << source << ": " << error_of(source);
  }
}

TEST(JinjaHostile, C02CallsAndNestingAreCapped) {
  for (const char* source :
       {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% macro f() %}{% call f() %}{{ caller() }}{% endcall %}{% endmacro %}{{ f() }}"}) {
    EXPECT_NE(error_of(source).find("calls nested deeper than 64"), std::string::npos)
        << error_of(source);
  }
  const int many = 100'000;
  for (const std::string& source :
       {repeated("{% if 1 %}", many), repeated("{% for x in y %}", many / 2),
        "{{ " + repeated("(", many) + "1" + repeated(")", many) + " }}",
        "{{ " + repeated("[", many) + repeated("]", many) + " }}",
        "{{ " + repeated("not ", many) + "1 }}", "{{ " + repeated("-", many) + "1 }}",
        "{{ x" + repeated(" if y else x", 10) + repeated("[x", many) + repeated("]", many) + " }}",
        "{% for " + repeated("(", many) + "a" + repeated(")", many) + " in x %}"}) {
    EXPECT_NE(error_of(source).find("nested deeper than"), std::string::npos)
        << error_of(source).substr(0, 200);
  }
  EXPECT_EQ(render("{{ 'a'" + repeated(" | trim", many) + " }}"), "a");
  EXPECT_EQ(render("{{ 1" + repeated(" + 1", many) + " }}"), "100001");
}

TEST(JinjaHostile, C03GrowthIsCapped) {
  for (const char* source :
       {"{{ 'a' * 10**9 }}", "{{ [1] * 10**9 }}", "{{ '%1000000000d' % 1 }}",
        "{% set n = namespace(s='aa') %}{% for i in range(40) %}{% set n.s = n.s ~ n.s %}{% endfor "
        "%}",
        "{% set n = namespace(s='aa') %}{% for i in range(40) %}{% set n.s = [n.s, n.s] | join %}"
        "{% endfor %}",
        "{% set n = namespace(s=[1]) %}{% for i in range(40) %}{% set n.s = n.s + n.s %}{% endfor "
        "%}",
        "{% set n = namespace(s='aa') %}{% for i in range(40) %}{% set n.s = n.s | replace('a', "
        "n.s) %}"
        "{% endfor %}",
        "{{ 'a'.center(10**9) }}", "{{ 'a'.zfill(10**10) }}", "{{ 'a' | indent(10**9, true) }}",
        "{{ '{:>1000000000}'.format(1) }}", "{{ '\\t'.expandtabs(10**9) * 200 }}",
        "{{ [1] | batch(10**9, 0) | list }}", "{{ [1] | slice(10**9) | list }}",
        "{% macro f(n) %}{{ 'a' * 10**6 }}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}"}) {
    const std::string message = error_of(source);
    EXPECT_TRUE(is_budget_error(message)) << source << ": " << message;
  }
  JinjaOptions options;
  options.limits.output_bytes_max = 1000;
  EXPECT_TRUE(is_budget_error(error_of("{{ 'a' * 1001 }}", "{}", options)));
  EXPECT_EQ(render("{{ 'a' * 1000 }}", "{}", options).size(), 1000U);
}

TEST(JinjaHostile, C06NothingOfTheHostIsThere) {
  EXPECT_EQ(render("{{ messages.__class__ }}{{ cycler.__init__ }}{{ namespace.__init__ }}"
                   "{{ messages | attr('x') }}{{ messages['__class__'] }}",
                   R"({"messages": []})"),
            "");
  for (const char* source :
       {"{{ ''.__class__.__mro__ }}", "{{ self._TemplateReference__context }}",
        "{{ [].append(1) }}", "{{ {}.update({}) }}", "{{ ''.__init__() }}",
        "{{ ''.__class__.__base__.__subclasses__() }}", "{{ '{0.__class__.x}'.format(1) }}"}) {
    EXPECT_NE(error_of(source), "no error") << source;
  }
}

TEST(JinjaHostile, C07OtherTemplatesAndLongFormatsAreErrors) {
  for (const char* source : {"{% include 'a' %}", "{% import 'a' as b %}",
                             "{% from 'a' import b %}", "{% extends 'a' %}"}) {
    EXPECT_NE(error_of(source).find("is not supported"), std::string::npos) << error_of(source);
  }
  EXPECT_NE(error_of("{{ strftime_now('%c' * 100000) }}").find("too long"), std::string::npos);
}

TEST(JinjaHostile, C08RaisedTextIsEscapedAndShort) {
  const std::string message =
      error_of("{{ raise_exception(x) }}",
               R"({"x": "\u001b[31mred\nline )" + std::string(5000, 'a') + "\"}");
  EXPECT_NE(message.find("the template refused: \\x1b[31mred\\x0aline aaa"), std::string::npos)
      << message.substr(0, 120);
  EXPECT_LT(message.size(), 300U);
}

TEST(JinjaHostile, C10ArithmeticHasNoUndefinedResult) {
  const char* min = "(-9223372036854775807 - 1)";
  for (const std::string& source :
       {std::string("{{ 10**10**6 }}"), std::string("{{ 1 // 0 }}"), std::string("{{ 1 % 0 }}"),
        std::string("{{ 1 / 0 }}"), std::string("{{ 1.0 // 0 }}"), std::string("{{ 0 ** -1 }}"),
        std::string("{{ 9223372036854775807 + 1 }}"), std::string("{{ 9223372036854775808 }}"),
        "{{ " + std::string(min) + " // -1 }}", "{{ -" + std::string(min) + " }}",
        "{{ " + std::string(min) + " | abs }}", std::string("{{ 2**62 * 2 }}"),
        std::string("{{ 1e308 | int }}"), std::string("{{ '99999999999999999999' | int }}")}) {
    EXPECT_NE(error_of(source), "no error") << source;
  }
  EXPECT_EQ(render("{{ " + std::string(min) + " % -1 }}"), "0");
  EXPECT_EQ(render("{{ 2 ** 62 }} {{ (-1) ** 99999999999 }}"), "4611686018427387904 -1");
}

TEST(JinjaHostile, C12SlicesTakeAnyBounds) {
  EXPECT_NE(error_of("{{ 'abc'[::0] }}").find("slice step cannot be zero"), std::string::npos);
  EXPECT_EQ(render("{{ 'abc'[-9223372036854775807:9223372036854775807] }}"), "abc");
  EXPECT_EQ(render("{{ 'abc'[::-9223372036854775807] }}{{ [1, 2][::9223372036854775807] }}"),
            "c[1]");
}

TEST(JinjaHostile, C13TagsInDataAreText) {
  EXPECT_EQ(render("{{ x }}{{ x | upper }}", R"({"x": "{{ 1 }}{% if %}${a}"})"),
            "{{ 1 }}{% if %}${a}{{ 1 }}{% IF %}${A}");
}

TEST(JinjaHostile, C16ARenderChangesOnlyItsOwnCopy) {
  const Json messages = parse_json(R"([{"role": "user"}, 2])", "test", "messages");
  const JinjaTemplate chat("{{ messages.pop() }}{{ messages | length }}", "test");
  const JinjaVariable variable{.name = "messages", .value = &messages};
  EXPECT_EQ(chat.render({&variable, 1}).bytes, "21");
  EXPECT_EQ(chat.render({&variable, 1}).bytes, "21");
}

TEST(JinjaHostile, ValuesThatHoldThemselvesEnd) {
  EXPECT_NE(error_of("{% set n = namespace() %}{% set n.n = n %}{{ n }}"), "no error");
  EXPECT_NE(error_of("{% set n = namespace(a=1) %}{% for i in range(200) %}{% set n.a = [n.a] %}"
                     "{% endfor %}")
                .find("nested deeper than 100"),
            std::string::npos);
  EXPECT_EQ(render("{% for x in [1] %}{{ loop.changed(loop) }}{% endfor %}"), "True");
}

TEST(JinjaHostile, TemplatesHaveASize) {
  const std::string large(jinja::kTemplateBytesMax, 'a');
  EXPECT_EQ(render(large).size(), large.size());
  EXPECT_NE(error_of(large + "a").find("at most 1048576"), std::string::npos);
}

TEST(JinjaHostile, TruncationAnywhereIsTextOrAnError) {
  const std::string source =
      "{%- macro f(a, b=[1]) -%}{{ a['x'].y | join(', ') ~ \"é\\n\" }}{% endmacro %}{# c #}"
      "{% for k, v in {'a': 1.5e3}.items() if k is not none recursive %}{{ f(v, b=-2) }}"
      "{% else %}{% raw %}{{{% endraw %}{% endfor %}{% set x | upper %}{% endset %}";
  for (std::size_t size = 0; size <= source.size(); ++size) {
    static_cast<void>(error_of(source.substr(0, size)));
  }
}

/// What the smallest thread of the program can run: the deepest nesting that is accepted, and the
/// deepest that is refused.
void* nest(void*) {
  for (const int depth : {10, 30, 60, 100, 1000}) {
    static_cast<void>(error_of(repeated("{% if 1 %}", depth) + "{{ " + repeated("(", depth) + "1" +
                               repeated(")", depth) + " }}" + repeated("{% endif %}", depth)));
    static_cast<void>(error_of("{{ " + repeated("[x or y and not z + a[", depth)));
    static_cast<void>(error_of("{{ " + repeated("f(a=1 ** -b.c(", depth)));
    static_cast<void>(
        error_of("{% set n = namespace(a=1) %}{% for i in range(98) %}"
                 "{% set n.a = [n.a, {'k': n.a}] if i < 9 else [n.a] %}{% endfor %}"
                 "{{ n.a | tojson }}{{ n.a }}{{ n.a == n.a }}{{ [n.a] | sort }}"));
  }
  return nullptr;
}

TEST(JinjaHostile, ASmallStackHoldsTheDeepestTemplates) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &attributes, nest, nullptr), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

}  // namespace
}  // namespace ingot
