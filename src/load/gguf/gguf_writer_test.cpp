// Tests of the GGUF writer: the bytes, reading them back, and files that are not finished.
#include "load/gguf/gguf_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/temp_folder_test_util.h"
#include "load/gguf/gguf_test_util.h"
#include "load/gguf/gguf_writer_test_util.h"
#include "quant/formats.h"

namespace ingot {
namespace {

using testing_gguf::exact;

std::string read(const std::string& path) { return File(path).read_all(1 << 24); }

StringTable table(std::initializer_list<std::string_view> texts) {
  StringTable out;
  for (const std::string_view text : texts) out.add(text);
  return out;
}

/// Bytes that differ from place to place.
std::vector<std::byte> pattern(std::uint64_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 37 % 61);
  return out;
}

/// Writes the tensors' patterns, `step` bytes at most at a time.
void write_data(GgufWriter& writer, const std::vector<GgufTensor>& tensors, std::size_t step) {
  for (const GgufTensor& tensor : tensors) {
    const auto data = pattern(tensor.bytes());
    for (std::size_t at = 0; at < data.size(); at += step) {
      writer.write(std::span(data).subspan(at, std::min(step, data.size() - at)));
    }
  }
}

// The tests' own writer is another implementation of the format.
TEST(GgufWriter, WritesTheBytesThatTheFormatSays) {
  const std::vector<GgufTensor> tensors{
      {"a", {3, 5}, F32::kFormat}, {"b.weight", {7}, F32::kFormat}, {"c", {2, 3, 4}, F32::kFormat}};
  for (const std::uint32_t alignment : {32u, 8u, 256u}) {
    testing_gguf::GgufWriter expected;
    expected.alignment = alignment;
    expected.set("general.alignment", testing_gguf::u32(alignment));
    expected.set("x.float", testing_gguf::f32(0.25f));
    expected.set("x.flag", testing_gguf::boolean(1));
    expected.set("x.text", testing_gguf::text("sp\xc3\xa4t"));
    expected.set("x.texts", testing_gguf::strings({"", "one", "three"}));
    expected.set("x.floats", testing_gguf::floats({1, -2.5f}));
    expected.set("x.ints", testing_gguf::ints({-1, 7}));
    expected.set("x.counts", testing_gguf::numbers<std::uint32_t>(4, {7, 0xffffffff}));
    expected.set("x.flags", testing_gguf::numbers<std::uint8_t>(7, {1, 0, 1}));
    expected.set("x.bytes", testing_gguf::numbers<std::uint8_t>(0, {1, 255}));
    for (const GgufTensor& t : tensors) {
      expected.tensor(t.name, {t.shape.rbegin(), t.shape.rend()});
    }
    GgufValues values;
    values.set_uint32("general.alignment", alignment);
    values.set_float32("x.float", 0.25f);
    values.set_boolean("x.flag", true);
    values.set_text("x.text", "sp\xc3\xa4t");
    values.set_texts("x.texts", table({"", "one", "three"}));
    values.set_floats("x.floats", std::vector<float>{1, -2.5f});
    values.set_ints("x.ints", std::vector<std::int32_t>{-1, 7});
    values.set_counts("x.counts", std::vector<std::uint32_t>{7, 0xffffffff});
    values.set_booleans("x.flags", {true, false, true});
    values.set_bytes("x.bytes", "\x01\xff");
    for (const std::size_t step : {std::size_t{1}, std::size_t{17}, std::size_t{4096}}) {
      const TempFolder folder;
      GgufWriter writer(folder.path("x.gguf"), values, tensors, alignment);
      write_data(writer, tensors, step);
      writer.commit();
      EXPECT_EQ(read(folder.path("x.gguf")), expected.build()) << alignment << " " << step;
    }
  }
}

TEST(GgufWriter, CarriesEveryTypeOverByteForByte) {
  testing_gguf::GgufWriter source = testing_gguf::tiny_model();
  int number = 0;
  for (const testing_gguf::Value& value : testing_gguf::one_of_each_type()) {
    source.set(cat("x.", number++), value);
  }
  source.tensors.clear();
  const auto bytes = exact(source.build());
  const GgufFile file = parse_gguf(bytes, "source.gguf");
  GgufValues values;
  for (const GgufEntry& entry : file.entries) values.add(entry);
  EXPECT_EQ(values.size(), source.entries.size());
  const TempFolder folder;
  GgufWriter(folder.path("x.gguf"), values, {}).commit();
  std::string expected = source.build();
  expected.resize((expected.size() + 31) / 32 * 32, '\0');
  EXPECT_EQ(read(folder.path("x.gguf")), expected);
}

TEST(GgufWriter, AKeyThatIsSetAgainKeepsItsPlace) {
  GgufValues values;
  values.set_uint32("a", 1);
  values.set_uint32("b", 2);
  values.set_text("a", "new");
  values.remove("c");
  GgufValues expected;
  expected.set_text("a", "new");
  expected.set_uint32("b", 2);
  EXPECT_EQ(values.bytes(), expected.bytes());
  values.remove("a");
  EXPECT_EQ(values.size(), 1u);
}

TEST(GgufWriter, BlockFormatsHaveTheirBytes) {
  const std::vector<GgufTensor> tensors{{"q", {4, 512}, Q4_K::kFormat}, {"h", {3}, F16::kFormat}};
  EXPECT_EQ(tensors[0].bytes(), 4u * 2 * 144);
  EXPECT_EQ(tensors[1].bytes(), 6u);
  const TempFolder folder;
  GgufWriter writer(folder.path("x.gguf"), {}, tensors);
  write_data(writer, tensors, 1000);
  writer.commit();
  const auto bytes = exact(read(folder.path("x.gguf")));
  const GgufFile file = parse_gguf(bytes, "x.gguf");
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(file.tensors[0].shape, tensors[0].shape);
  EXPECT_EQ(file.tensors[0].format, Q4_K::kFormat);
  const auto data = pattern(tensors[0].bytes());
  EXPECT_EQ(std::memcmp(file.tensors[0].data, data.data(), data.size()), 0);
}

TEST(GgufWriter, WithoutCommitNothingRemains) {
  const TempFolder folder;
  {
    GgufWriter writer(folder.path("x.gguf"), {}, {{"a", {1000}, F32::kFormat}});
    writer.write(pattern(400));
  }
  EXPECT_TRUE(Directory(folder.path()).list().empty());
}

TEST(GgufWriter, MoreKeysThanAReaderAcceptsAreRefused) {
  testing_gguf::GgufWriter source;
  const auto bytes = exact(source.set("k", testing_gguf::u8(1)).build());
  const GgufFile file = parse_gguf(bytes, "source.gguf");
  GgufValues values;
  for (std::uint64_t i = 0; i <= kGgufEntriesMax; ++i) values.add(file.entries.front());
  const TempFolder folder;
  try {
    const GgufWriter writer(folder.path("x.gguf"), values, {});
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    EXPECT_NE(error.message().find("65537 keys"), std::string::npos) << error.message();
  }
  EXPECT_TRUE(Directory(folder.path()).list().empty());
}

TEST(GgufWriterDeathTest, DataThatDoesNotFitTheTableIsABug) {
  const TempFolder folder;
  GgufWriter writer(folder.path("x.gguf"), {}, {{"a", {2}, F32::kFormat}});
  EXPECT_DEATH(writer.commit(), "1 tensors are missing");
  EXPECT_DEATH(writer.write(pattern(9)), "9 bytes where 8");
  writer.write(pattern(8));
  EXPECT_DEATH(writer.write(pattern(1)), "1 bytes where 0");
  EXPECT_DEATH(GgufWriter(folder.path("y"), {}, {{"", {2}, F32::kFormat}}), "a tensor's name");
  EXPECT_DEATH(GgufWriter(folder.path("y"), {}, {{"a", {0}, F32::kFormat}}), "dimension of 0");
  EXPECT_DEATH(GgufWriter(folder.path("y"), {}, {}, 24), "an alignment of 24");
}

}  // namespace
}  // namespace ingot
