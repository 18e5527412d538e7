// Tests of the choice among a model's chat templates.
#include "text/chat/named_templates.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot {
namespace {

TemplateSet template_set(std::vector<NamedTemplate> all) {
  TemplateSet set;
  for (NamedTemplate& one : all) set.add(one.name, std::move(one.text));
  return set;
}

/// The texts without and with tools, or the reason of a refusal.
std::string choice(const TemplateSet& set, const std::optional<std::string>& name = {}) {
  try {
    const auto chosen = choose_templates(set, "m.gguf", name);
    if (!chosen) return "nothing";
    if (!chosen->standard) {
      EXPECT_EQ(chosen->no_standard,
                "m.gguf has no default chat template; name one with --template-name: tool_use, "
                "rag");
    }
    return (chosen->standard ? chosen->standard->text : std::string("-")) + "," +
           (chosen->with_tools ? chosen->with_tools->text : std::string("-"));
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalid);
    return e.message();
  }
}

TEST(NamedTemplates, ToolsDecideWithoutAName) {
  EXPECT_EQ(choice({}), "nothing");
  EXPECT_EQ(choice(template_set({{"default", "d"}})), "d,-");
  EXPECT_EQ(choice(template_set({{"default", "d"}, {"tool_use", "t"}, {"rag", "r"}})), "d,t");
  EXPECT_EQ(choice(template_set({{"default", "d"}, {"rag", "r"}})), "d,-");
  EXPECT_EQ(choice(template_set({{"default", "d"}, {"tool_use", "d"}})), "d,-");
  EXPECT_EQ(choice(template_set({{"chatml", "c"}})), "c,-") << "the only one is the default";
  EXPECT_EQ(choice(template_set({{"tool_use", "t"}})), "t,-");
  EXPECT_EQ(choice(template_set({{"tool_use", "t"}, {"rag", "r"}})), "-,t");
}

TEST(NamedTemplates, ANameDecidesForAll) {
  const TemplateSet set = template_set({{"default", "d"}, {"tool_use", "t"}});
  EXPECT_EQ(choice(set, "default"), "d,-");
  EXPECT_EQ(choice(set, "tool_use"), "t,-");
  EXPECT_EQ(choice(set, "x"),
            "--template-name: m.gguf has no chat template 'x'; it has: default, tool_use");
  EXPECT_EQ(choice({}, "x"), "--template-name: m.gguf has no chat template 'x'; it has: none");
}

TEST(NamedTemplates, TheFirstOfANameStays) {
  const TemplateSet set =
      template_set({{"default", "d"}, {"a", "1"}, {"a", "2"}, {"default", "e"}});
  EXPECT_EQ(set.standard, "d");
  ASSERT_EQ(set.named.size(), 1u);
  EXPECT_EQ(set.named[0].text, "1");
}

TEST(NamedTemplates, ToolsOrTheirTracesTakeTheTemplateForTools) {
  const auto takes = [](const char* tools, const char* messages) {
    const Json list = parse_json(tools, "tools", "", {});
    const Json history = parse_json(messages, "messages", "", {});
    return takes_tools(&list, &history);
  };
  EXPECT_FALSE(takes_tools(nullptr, nullptr));
  EXPECT_FALSE(takes("[]", R"([{"role": "user"}, {"role": "assistant", "tool_calls": []}, 3])"));
  EXPECT_TRUE(takes("[{}]", "[]"));
  EXPECT_TRUE(takes("null", R"([{"role": "assistant", "tool_calls": [{}]}])"));
  EXPECT_TRUE(takes("[]", R"([{"role": "tool"}])"));
}

TEST(NamedTemplates, WhatCannotBeUsedRefusesOnlyItsChats) {
  const auto parse = [](const std::string& text, const std::string& name) {
    if (text == "bad") throw Error(ErrorCode::kModel, name);
    return text;
  };
  using Texts = ParsedTemplates<std::string>;
  const auto refusal = [](const Texts& texts, bool has_tools) {
    try {
      return texts.get(has_tools);
    } catch (const Error& error) {
      return "refused: " + error.message();
    }
  };
  const Texts broken({.standard = NamedTemplate{"m", "d"}, .with_tools = NamedTemplate{"t", "bad"}},
                     parse);
  EXPECT_EQ(broken.get(false), "d");
  EXPECT_EQ(refusal(broken, true), "refused: t");
  EXPECT_TRUE(broken.differ() && broken.tools_error());
  const Texts no_default({.with_tools = NamedTemplate{"t", "u"}, .no_standard = "none"}, parse);
  EXPECT_EQ(refusal(no_default, false), "refused: none");
  EXPECT_EQ(no_default.get(true), "u");
  EXPECT_EQ(refusal(Texts({.no_standard = "none"}, parse), true), "refused: none");
  EXPECT_THROW(Texts({.standard = NamedTemplate{"m", "bad"}}, parse), Error);
}

}  // namespace
}  // namespace ingot
