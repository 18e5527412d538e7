// Tests of --lora's values: names, paths, scales, and what is refused.
#include "cli/options/adapter_options.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace ingot {
namespace {

struct LoraCase {
  std::string text, name, path;
  float scale = 1;
};

TEST(AdapterOptions, NamesPathsAndScales) {
  for (const LoraCase& c : std::vector<LoraCase>{
           {"pirate=a/b", "pirate", "a/b"},
           {"pirate=a/b:0.5", "pirate", "a/b", 0.5f},
           {"pirate=a/b:-2", "pirate", "a/b", -2},
           {"pirate=a/b:0", "pirate", "a/b", 0},
           {"a/b/", "b", "a/b/"},
           {"a/b.gguf", "b", "a/b.gguf"},
           {"a/b.safetensors:2", "b", "a/b.safetensors", 2},
           {"b.gguf:1e-1", "b", "b.gguf", 0.1f},
           {"x=C:/y", "x", "C:/y"},
           {"x=a=b:1", "x", "a=b"},
           {"x=a:2:1", "x", "a:2"},
           {std::string(256, 'n') + "=p", std::string(256, 'n'), "p"},
       }) {
    const std::vector<AdapterSource> sources = adapter_sources({.lora = {c.text}});
    ASSERT_EQ(sources.size(), 1u);
    EXPECT_EQ(sources[0].name, c.name) << c.text;
    EXPECT_EQ(sources[0].path, c.path) << c.text;
    EXPECT_EQ(sources[0].scale, c.scale) << c.text;
  }
}

std::string refusal(const AdapterValues& values) {
  try {
    adapter_sources(values);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    return error.message();
  }
  return "";
}

TEST(AdapterOptions, BadValuesAreRefusedWithTheOption) {
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"", "expected [NAME=]PATH[:SCALE]"},
           {"x=", "expected [NAME=]PATH[:SCALE]"},
           {"x=:2", "expected [NAME=]PATH[:SCALE]"},
           {"=p", "is empty"},
           {"/", "is empty"},
           {"..", "is a folder's"},
           {"none=p", "stands for no adapter"},
           {"a/none", "stands for no adapter"},
           {"a\n=p", "has a control character"},
           {"a\xff=p", "is not UTF-8"},
           {std::string(257, 'n') + "=p", "more than 256 bytes"},
           {"x=p:1e9", "expected a SCALE"},
           {"x=p:inf", "expected a SCALE"},
           {"x=p:nan", "expected a SCALE"},
       }) {
    const std::string message = refusal({.lora = {text}});
    EXPECT_TRUE(message.starts_with("--lora")) << text << ": " << message;
    EXPECT_NE(message.find(reason), std::string::npos) << text << ": " << message;
  }
}

TEST(AdapterOptions, NamesAreUniqueAndKnown) {
  EXPECT_NE(refusal({.lora = {"a=x", "b=y", "a=z"}}).find("another one is named a"),
            std::string::npos);
  EXPECT_EQ(refusal({.lora = {"a=x", "b=y"}, .adapter = "c"}),
            "--adapter: no adapter is named c, possible are a, b");
  EXPECT_EQ(refusal({.lora = {}, .adapter = "c"}),
            "--adapter: no adapter is named c: --lora loads adapters");
  EXPECT_EQ(refusal({.lora = {"a=x"}, .adapter = "none"}), "");
  EXPECT_EQ(default_adapter({.lora = {"a=x", "b=y"}, .adapter = {}}), "a");
  EXPECT_EQ(default_adapter({.lora = {"a=x", "b=y"}, .adapter = "b"}), "b");
  EXPECT_EQ(default_adapter({}), "none");
}

}  // namespace
}  // namespace ingot
