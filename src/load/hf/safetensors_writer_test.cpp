// SafetensorsWriter: parse_safetensors reads what was written.
#include "load/hf/safetensors_writer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/temp_folder_test_util.h"
#include "load/hf/safetensors.h"
#include "load/json_object.h"

namespace ingot {
namespace {

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(SafetensorsWriter, ReadersFindTheSameTensors) {
  const TempFolder temp;
  const std::vector<SafetensorsEntry> entries{
      {.name = "b", .dtype = "F32", .shape = {1, 2}, .bytes = 8},
      {.name = "a", .dtype = "BF16", .shape = {3}, .bytes = 6}};
  SafetensorsWriter writer(temp.path("x.safetensors"), entries, json_object({{"format", "x"}}));
  writer.write(bytes_of("12345"));
  writer.write(bytes_of("678abcdef"));
  EXPECT_FALSE(std::ifstream(temp.path("x.safetensors")).good());
  writer.commit();
  const std::string file = contents(temp.path("x.safetensors"));
  const Safetensors parsed = parse_safetensors(bytes_of(file), "x");
  ASSERT_EQ(parsed.tensors.size(), 2u);
  EXPECT_EQ(*parsed.metadata.find_string("format"), "x");
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(parsed.tensors[i].name, entries[i].name);
    EXPECT_EQ(parsed.tensors[i].type_name, entries[i].dtype);
    EXPECT_EQ(parsed.tensors[i].shape, entries[i].shape);
  }
  EXPECT_EQ(parsed.tensors[0].offset % 8, 0u);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(parsed.tensors[1].data), 6), "abcdef");
}

TEST(SafetensorsWriter, MetadataIsWhatTransformersRequires) {
  const TempFolder temp;
  SafetensorsWriter(temp.path("x.safetensors"), {}).commit();
  const std::string file = contents(temp.path("x.safetensors"));
  EXPECT_EQ(*parse_safetensors(bytes_of(file), "x").metadata.find_string("format"), "pt");
}

}  // namespace
}  // namespace ingot
