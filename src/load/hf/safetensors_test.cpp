// Tests of the safetensors table: lines S01 to S15 of the catalogue of hostile inputs, and real
// files.
#include "load/hf/safetensors.h"

#include <gtest/gtest.h>

#include "load/hf/hf_test_util.h"
#include "quant/formats.h"

namespace ingot {
namespace {

using namespace testing_hf;

Safetensors parse_file(std::string_view file) {
  return parse_safetensors(bytes_of(file), "m.safetensors");
}

/// A file with the given header members and eight bytes of data.
std::string file_with(std::string_view members, std::size_t data = 8) {
  return safetensors_file(cat("{", members, "}"), std::string(data, '\1'));
}

void expect_header_refused(std::string_view members, std::string_view part, std::size_t data = 8) {
  const std::string file = file_with(members, data);
  expect_refused([&] { parse_file(file); }, part);
}

TEST(Safetensors, ReadsTensorsInTheOrderOfTheirBytes) {
  const std::string file = file_with(cat(tensor_entry("b", "F32", "[1, 1]", "[4, 8]"), ",",
                                         tensor_entry("a", "BF16", "[2]", "[0, 4]")));
  const Safetensors s = parse_file(file);
  ASSERT_EQ(s.tensors.size(), 2u);
  EXPECT_TRUE(s.metadata.is_null());
  const TensorInfo& a = s.tensors[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.shape, std::vector<std::int64_t>{2});
  EXPECT_EQ(a.type_name, "BF16");
  EXPECT_EQ(a.format, BF16::kFormat);
  EXPECT_EQ(a.bytes, 4u);
  EXPECT_EQ(a.offset, file.size() - 8);
  EXPECT_EQ(a.data, bytes_of(file).data() + a.offset);
  EXPECT_EQ(s.tensors[1].name, "b");
  EXPECT_EQ(s.tensors[1].format, F32::kFormat);
  EXPECT_EQ(s.tensors[1].offset, file.size() - 4);
}

TEST(Safetensors, S01LengthAndShortFiles) {
  for (std::size_t n = 0; n < 8; ++n) {
    expect_refused([&] { parse_file(std::string(n, '\0')); }, "needs 8 bytes");
  }
  expect_refused([] { parse_file(length_bytes(0)); }, "the header is empty");
  expect_refused([] { parse_file(length_bytes(1) + "{"); }, "ends too early");
  expect_refused([] { parse_file(length_bytes(100'000'001) + "{}"); }, "at most 100000000");
  expect_refused([] { parse_file(length_bytes(3) + "{}"); }, "the header has 3 bytes, 2 are left");
  expect_refused([] { parse_file(length_bytes(~std::uint64_t{0}) + "{}"); }, "at most 100000000");
  EXPECT_TRUE(parse_file(length_bytes(2) + "{}").tensors.empty());
}

TEST(Safetensors, S03WhitespaceAroundTheHeader) {
  EXPECT_EQ(
      parse_file(safetensors_file(" \n\t{" + tensor_entry("a", "U8", "[1]", "[0,1]") + "}  ", "x"))
          .tensors.size(),
      1u);
  expect_refused([] { parse_file(safetensors_file("[]", "")); }, "expected an object");
  expect_refused([] { parse_file(safetensors_file("{}x", "")); }, "malformed JSON");
}

TEST(Safetensors, S06Metadata) {
  const std::string tensor = "," + tensor_entry("a", "U8", "[8]", "[0,8]");
  EXPECT_TRUE(parse_file(file_with("\"__metadata__\":null" + tensor)).metadata.is_null());
  const Safetensors s = parse_file(file_with(R"("__metadata__":{"format":"pt"})" + tensor));
  EXPECT_EQ(*s.metadata.find("format")->as_string(), "pt");
  EXPECT_EQ(s.tensors.size(), 1u);
  expect_header_refused("\"__metadata__\":{\"x\":1}" + tensor, "'x' is an integer");
  expect_header_refused("\"__metadata__\":{\"x\":{\"y\":\"z\"}}" + tensor, "'x' is an object");
  expect_header_refused("\"__metadata__\":[]" + tensor, "__metadata__ is an array");
  expect_header_refused(cat("\"__metadata__\":{\"x\":\"", std::string(17'000'000, 'y'), "\"}"),
                        "at most 16777216");
}

TEST(Safetensors, S07TensorsOnTopOfEachOther) {
  std::string members;
  for (int i = 0; i < 100'000; ++i) {
    members += cat(i == 0 ? "" : ",", tensor_entry(cat("t", i), "U8", "[8]", "[0,8]"));
  }
  expect_header_refused(members, "inside the tensor before it");
  expect_header_refused(
      cat(tensor_entry("a", "U8", "[5]", "[0,5]"), ",", tensor_entry("b", "U8", "[4]", "[4,8]")),
      "inside the tensor before it");
}

TEST(Safetensors, S08OffsetsThatDoNotFit) {
  expect_header_refused(
      cat(tensor_entry("a", "U8", "[3]", "[0,3]"), ",", tensor_entry("b", "U8", "[4]", "[4,8]")),
      "after a gap");
  expect_header_refused(tensor_entry("a", "U8", "[7]", "[1,8]"), "after a gap");
  expect_header_refused(tensor_entry("a", "U8", "[8]", "[8,0]"), "before its begin");
  for (const char* offsets :
       {"[-1,8]", "[0,-8]", "[0.0,8]", "[0,8.0]", "[0,8e0]", "[\"0\",8]",
        "[0,18446744073709551616]", "[0,9223372036854775808]", "[null,8]", "[-0,8]"}) {
    expect_header_refused(tensor_entry("a", "U8", "[8]", offsets), "that are no offsets");
  }
  for (const char* offsets : {"[0]", "[0,8,8]", "[]", "null", "8", "\"0,8\"", "{}"}) {
    expect_header_refused(tensor_entry("a", "U8", "[8]", offsets), "that are no pair");
  }
  expect_header_refused(tensor_entry("a", "U8", "[9]", "[0,9]"), "the file has 8 bytes of data");
  expect_header_refused(tensor_entry("a", "U8", "[8]", "[0,9223372036854775807]"),
                        "the file has 8 bytes of data");
  expect_header_refused(R"("a":{"dtype":"U8","shape":[8]})", "has no data_offsets");
  expect_header_refused(R"("a":{"dtype":"U8","data_offsets":[0,8]})", "has no shape");
  expect_header_refused(R"("a":{"shape":[8],"data_offsets":[0,8]})", "has no dtype");
  expect_header_refused(R"("a":[8])", "is an array, expected an object");
}

TEST(Safetensors, S09BytesBehindTheLastTensor) {
  const std::string entry = tensor_entry("a", "U8", "[8]", "[0,8]");
  expect_header_refused(entry, "1 more bytes follow", 9);
  expect_header_refused(entry, "the file has 7 bytes of data", 7);
  expect_refused([&] { parse_file(file_with(entry) + "PK\3\4..."); }, "7 more bytes follow");
  expect_refused([] { parse_file(safetensors_file("{}", "x")); }, "1 more bytes follow");
}

TEST(Safetensors, S10ShapesWhoseProductOverflows) {
  for (const char* shape : {"[2, 9223372036854775807]", "[4611686018427387904, 2, 0]",
                            "[4294967296, 4294967296]", "[9223372036854775807, 3, 3]"}) {
    expect_header_refused(tensor_entry("a", "U8", shape, "[0,8]"), "whose product overflows");
  }
  expect_header_refused(tensor_entry("a", "U8", "[2, 18446744073709551614]", "[0,8]"),
                        "a dimension that is no size");
  expect_header_refused(tensor_entry("a", "F64", "[2305843009213693953]", "[0,8]"),
                        "whose product overflows");
  expect_header_refused(tensor_entry("a", "F32", "[3]", "[0,8]"),
                        "has 8 bytes, its shape and type need 12");
}

TEST(Safetensors, S12UnusualShapes) {
  const Safetensors scalar = parse_file(file_with(tensor_entry("a", "F64", "[]", "[0,8]")));
  EXPECT_TRUE(scalar.tensors[0].shape.empty());
  EXPECT_EQ(scalar.tensors[0].elements(), 1);
  // Tensors without elements lie anywhere between others.
  const Safetensors empty = parse_file(file_with(cat(tensor_entry("z", "U8", "[8]", "[0,8]"), ",",
                                                     tensor_entry("a", "F32", "[0]", "[0,0]"), ",",
                                                     tensor_entry("b", "F32", "[5,0]", "[8,8]"))));
  EXPECT_EQ(empty.tensors.size(), 3u);
  EXPECT_EQ(empty.tensors[0].name, "a");
  EXPECT_EQ(empty.tensors[0].bytes, 0u);
  EXPECT_NO_THROW(parse_file(file_with(tensor_entry("a", "U8", "[1,1,1,1,1,1,1,8]", "[0,8]"))));
  expect_header_refused(tensor_entry("a", "U8", "[1,1,1,1,1,1,1,1,8]", "[0,8]"),
                        "has 9 dimensions, at most 8");
  std::string many = "[1";
  for (int i = 0; i < 64; ++i) many += ",1";
  expect_header_refused(tensor_entry("a", "U8", many + "]", "[0,1]"), "has 65 dimensions", 1);
  for (const char* shape : {"[-8]", "[-0]", "[8.0]", "[\"8\"]", "[null]", "[[8]]", "[true]"}) {
    expect_header_refused(tensor_entry("a", "U8", shape, "[0,8]"), "a dimension that is no size");
  }
  expect_header_refused(tensor_entry("a", "U8", "8", "[0,8]"), "an integer as its shape");
}

TEST(Safetensors, S13MoreEntriesThanAreAccepted) {
  // As large as an accepted header may be would be slow under sanitizers; the limit on values comes
  // first.
  std::string header = "{\"a\":[";
  for (int i = 0; i < 2'100'000; ++i) header += "0,";
  header += "0]}";
  expect_refused([&] { parse_file(safetensors_file(header, "")); },
                 "more than 2000000 JSON values");
}

TEST(Safetensors, S14Names) {
  const auto named = [](std::string_view name) { return tensor_entry(name, "U8", "[8]", "[0,8]"); };
  expect_header_refused(named("\\u0000"), "a control character");
  expect_header_refused(named("a\\u001b[31m"), "a control character");
  expect_header_refused(named("a\\nb"), "a control character");
  expect_header_refused(named("\\u007f"), "a control character");
  expect_header_refused(named(""), "is empty");
  expect_header_refused(named(std::string(256, 'n')), "longer than 255 bytes");
  expect_header_refused(named(std::string(1'000'000, 'n')), "longer than 255 bytes");
  expect_header_refused(named("\xff"), "malformed JSON");
  EXPECT_EQ(parse_file(file_with(named(std::string(255, 'n')))).tensors[0].name.size(), 255u);
  EXPECT_EQ(parse_file(file_with(named("\xc3\xa9"))).tensors[0].name, "\xc3\xa9");
}

TEST(Safetensors, S15TypesWithoutWeightsHaveNoFormat) {
  for (const char* dtype : {"F64", "I64", "U64"}) {
    const Safetensors s = parse_file(file_with(tensor_entry("a", dtype, "[1]", "[0,8]")));
    EXPECT_EQ(s.tensors[0].format, std::nullopt) << dtype;
    EXPECT_EQ(s.tensors[0].type_name, dtype);
  }
  for (const char* dtype : {"I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2"}) {
    EXPECT_EQ(parse_file(file_with(tensor_entry("a", dtype, "[8]", "[0,8]"))).tensors[0].format,
              std::nullopt);
  }
  EXPECT_EQ(parse_file(file_with(tensor_entry("a", "F16", "[4]", "[0,8]"))).tensors[0].format,
            F16::kFormat);
  EXPECT_NO_THROW(parse_file(file_with(tensor_entry("a", "F4", "[16]", "[0,8]"))));
  expect_header_refused(tensor_entry("a", "F4", "[15]", "[0,8]"), "does not fill whole bytes");
  expect_header_refused(tensor_entry("a", "Q4_K", "[8]", "[0,8]"), "the unknown dtype Q4_K");
  expect_header_refused(R"("a":{"dtype":1,"shape":[8],"data_offsets":[0,8]})", "the unknown dtype");
}

TEST(Safetensors, DuplicateNamesAreRefused) {
  expect_header_refused(
      cat(tensor_entry("a", "U8", "[4]", "[0,4]"), ",", tensor_entry("a", "U8", "[4]", "[4,8]")),
      "duplicate key 'a'");
}

TEST(Safetensors, TruncationAtEveryByteIsRefused) {
  const std::string file =
      small_safetensors({"model.embed_tokens.weight", "model.norm.weight", "c"});
  EXPECT_NO_THROW(parse_file(file));
  for (std::size_t n = 0; n < file.size(); ++n) {
    const std::string cut = file.substr(0, n);
    EXPECT_FALSE(refusal([&] { parse_file(cut); }).empty())
        << n << " of " << file.size() << " bytes";
  }
}

TEST(Safetensors, RealFilesOpen) {
  int files = 0;
  for (const char* place : {"goldens/models", "data/models", "data/loader/swift-transformers"}) {
    const auto folder = shared_folder(place);
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".safetensors") continue;
      const std::string bytes = read_file(entry.path());
      if (bytes.empty()) continue;
      ++files;
      EXPECT_EQ(refusal([&] { parse_file(bytes); }), "") << entry.path();
    }
  }
  EXPECT_GT(files, 20);
}

}  // namespace
}  // namespace ingot
