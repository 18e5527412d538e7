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
    return chosen->standard.text + "," +
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
  EXPECT_EQ(choice(template_set({{"tool_use", "t"}, {"rag", "r"}})),
            "m.gguf has no default chat template; name one with --template-name: tool_use, rag");
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
  TemplateSet set = template_set({{"default", "d"}, {"a", "1"}, {"a", "2"}, {"default", "e"}});
  set.complete(template_set({{"default", "f"}, {"a", "3"}, {"b", "4"}}));
  EXPECT_EQ(set.standard, "d");
  ASSERT_EQ(set.named.size(), 2u);
  EXPECT_EQ(set.named[0].text, "1");
  EXPECT_EQ(set.named[1].text, "4");
}

TEST(NamedTemplates, EmptyListsOfToolsAreNone) {
  Json tools = Json::array();
  EXPECT_FALSE(has_tools(nullptr));
  EXPECT_FALSE(has_tools(&tools));
  tools.push(Json::object());
  EXPECT_TRUE(has_tools(&tools));
}

}  // namespace
}  // namespace ingot
