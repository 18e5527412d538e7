// Tests of model.safetensors.index.json: line S16 and malformed indexes.
#include "load/hf/safetensors_index.h"

#include <gtest/gtest.h>

#include "load/hf/hf_test_util.h"

namespace ingot {
namespace {

using namespace testing_hf;

SafetensorsIndex parse(std::string_view text) {
  return parse_safetensors_index(text, "model.safetensors.index.json");
}

TEST(SafetensorsIndex, ListsFilesOnceAndSorted) {
  const SafetensorsIndex index = parse(R"({"metadata": {"total_size": 24}, "weight_map":
      {"c": "b.safetensors", "a": "b.safetensors", "b": "a.safetensors"}})");
  EXPECT_EQ(index.files, (std::vector<std::string>{"a.safetensors", "b.safetensors"}));
  ASSERT_EQ(index.tensors.size(), 3u);
  EXPECT_EQ(index.tensors[0], (std::pair<std::string, std::int32_t>("a", 1)));
  EXPECT_EQ(index.tensors[1], (std::pair<std::string, std::int32_t>("b", 0)));
  EXPECT_EQ(index.tensors[2], (std::pair<std::string, std::int32_t>("c", 1)));
  EXPECT_EQ(index.total_size, 24u);
}

TEST(SafetensorsIndex, S16NamesThatAreNotPlain) {
  for (const char* name :
       {"../../etc/passwd", "/etc/passwd", "C:\\\\x", "a/b.safetensors", "../b.safetensors",
        "/b.safetensors", "C:\\\\x.safetensors", "c:x.safetensors", "", ".", "..", ".safetensors",
        "model.safetensors.index.json", "model.bin", "a\\u0000.safetensors", "a\\n.safetensors",
        "b.safetensors/", "b.SAFETENSORS"}) {
    expect_refused([&] { parse(cat(R"({"weight_map": {"t": ")", name, "\"}}")); },
                   "expected a plain file name");
  }
  const std::string longest = std::string(243, 'x') + ".safetensors";
  EXPECT_TRUE(is_shard_name(longest));
  EXPECT_FALSE(is_shard_name("x" + longest));
  EXPECT_TRUE(is_shard_name("..a.safetensors"));
}

TEST(SafetensorsIndex, MalformedIndexes) {
  expect_refused([] { parse("[]"); }, "weight_map is missing");
  expect_refused([] { parse("{}"); }, "weight_map is missing");
  expect_refused([] { parse(R"({"weight_map": []})"); }, "weight_map is an array");
  expect_refused([] { parse(R"({"weight_map": {}})"); }, "weight_map is empty");
  expect_refused([] { parse(R"({"weight_map": {"a": 1}})"); }, "is said to be in an integer");
  expect_refused([] { parse(R"({"weight_map": {"a": null}})"); }, "is said to be in null");
  expect_refused([] { parse(R"({"weight_map": {"a": "x.safetensors", "a": "y.safetensors"}})"); },
                 "duplicate key");
  expect_refused([] { parse(R"({"weight_map": {"a": "x.safetensors"},})"); }, "malformed JSON");
}

TEST(SafetensorsIndex, TotalSize) {
  const auto size = [](std::string_view metadata) {
    return parse(cat(R"({"weight_map": {"a": "x.safetensors"}, "metadata": )", metadata, "}"))
        .total_size;
  };
  EXPECT_EQ(size("null"), std::nullopt);
  EXPECT_EQ(size("{}"), std::nullopt);
  EXPECT_EQ(size(R"({"total_size": 7, "total_parameters": 3})"), 7u);
  EXPECT_EQ(size(R"({"total_size": 1.5e9})"), 1'500'000'000u);
  EXPECT_EQ(size("3"), std::nullopt);
  for (const std::string bad : {"-1", "1.5", "\"7\"", "[]", "1e300", "true"}) {
    const SafetensorsIndex index = parse(
        cat(R"({"weight_map": {"a": "x.safetensors"}, "metadata": {"total_size": )", bad, "}}"));
    EXPECT_FALSE(index.total_size) << bad;
    EXPECT_FALSE(index.odd_total_size.empty()) << bad;
  }
}

TEST(SafetensorsIndex, LimitsTheNumberOfFiles) {
  std::string text = R"({"weight_map": {)";
  for (int i = 0; i < 5000; ++i)
    text += cat(i == 0 ? "" : ",", "\"t", i, "\":\"", i, ".safetensors\"");
  expect_refused([&] { parse(text + "}}"); }, "it names 5000 files");
}

}  // namespace
}  // namespace ingot
