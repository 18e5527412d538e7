// GGUF's structure: valid files, and hostile counts, lengths, types, names and placements.
#include "load/gguf/gguf_file.h"

#include <sys/resource.h>

#include <cstdlib>
#include <limits>

#include "load/gguf/gguf_test_util.h"
#include "load/gguf/gguf_writer_test_util.h"

namespace ingot {
namespace {

using namespace testing_gguf;

constexpr std::uint64_t kU64Max = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kTwo63 = std::uint64_t{1} << 63;

/// The tiny model with one more pair of metadata in front.
std::string with_pair(std::string_view key_bytes, std::uint32_t type, std::string_view value) {
  GgufWriter w = tiny_model();
  w.first_entry = std::string(key_bytes) + raw(type) + std::string(value);
  return w.build();
}

TEST(GgufFile, version_2_and_3_with_every_field) {
  for (const std::uint32_t version : {2u, 3u}) {
    GgufWriter w = tiny_model();
    w.version = version;
    const std::vector<std::byte> bytes = exact(w.build());
    const GgufFile file = parse_gguf(bytes, "test.gguf");
    EXPECT_EQ(file.version, version);
    ASSERT_EQ(file.entries.size(), w.entries.size());
    for (std::size_t i = 0; i < w.entries.size(); ++i) {
      EXPECT_EQ(file.entries[i].key, w.entries[i].first);
      EXPECT_EQ(static_cast<std::uint32_t>(file.entries[i].type), w.entries[i].second.type);
      EXPECT_EQ(file.find(w.entries[i].first), &file.entries[i]);
    }
    EXPECT_EQ(file.find("llama"), nullptr);
    EXPECT_EQ(file.find("llama.block_count")->number<std::uint32_t>(), 1u);
    ASSERT_EQ(file.tensors.size(), w.tensors.size());
    const TensorInfo& up = file.tensors[9];
    EXPECT_EQ(up.name, "blk.0.ffn_up.weight");
    EXPECT_EQ(up.shape, (std::vector<std::int64_t>{16, 8}));
    EXPECT_EQ(up.type_name, "F32");
    EXPECT_EQ(up.bytes, 512u);
    EXPECT_EQ(up.data, bytes.data() + up.offset);
    EXPECT_EQ(up.offset % 32, 0u);
    for (std::uint64_t i = 0; i < up.bytes; ++i) {
      EXPECT_EQ(static_cast<std::uint64_t>(up.data[i]), i * 37 % 61);
    }
  }
}

TEST(GgufFile, an_array_keeps_its_elements_as_views) {
  GgufWriter w = tiny_model();
  w.set("x.strings", strings({"", "one", "three"}));
  w.set("x.empty", strings({}));
  const std::vector<std::byte> bytes = exact(w.build());
  const GgufFile file = parse_gguf(bytes, "test.gguf");
  std::vector<std::string> found;
  file.find("x.strings")->for_each_string([&](std::string_view s) { found.emplace_back(s); });
  EXPECT_EQ(found, (std::vector<std::string>{"", "one", "three"}));
  EXPECT_EQ(file.find("x.empty")->count, 0u);
  EXPECT_EQ(file.find("tokenizer.ggml.scores")->number<float>(15), -1.5f);
}

TEST(GgufFile, alignment_of_8_to_65536_and_tensors_of_several_types) {
  for (const std::uint32_t alignment : {8u, 16u, 64u, 65536u}) {
    GgufWriter w = tiny_model();
    w.set("general.alignment", u32(alignment));
    w.alignment = alignment;
    w.tensors.push_back({"x", {256, 2}, 12, 288, {}, {}});  // Q4_K
    w.tensors.push_back({"y", {5}, 1, 10, {}, {}});         // F16
    const std::vector<std::byte> bytes = exact(w.build());
    const GgufFile file = parse_gguf(bytes, "test.gguf");
    EXPECT_EQ(file.tensors[11].type_name, "Q4_K");
    EXPECT_EQ(file.tensors[11].bytes, 288u);
    EXPECT_EQ(file.tensors[12].offset % alignment, 0u);
  }
}

TEST(GgufFile, the_padding_behind_the_last_tensor_is_optional) {
  GgufWriter w = tiny_model();
  w.tensor("x", {3});
  EXPECT_TRUE(opens(w.build()));
  w.pad_end = false;
  EXPECT_TRUE(opens(w.build()));
}

TEST(GgufHostile, G01_tiny_files) {
  for (const std::string_view bytes : {"", "G", "GG", "GGU", "GGUF"}) refusal(bytes);
  expect_refusal("", "test.gguf: header @0: needs 4 bytes, 0 are left");
  expect_refusal("PK\x03\x04 something else", "not a GGUF file: it begins with 'PK\\x03\\x04'");
}

TEST(GgufHostile, G02_truncation_at_every_byte) {
  for (const bool v2 : {false, true}) {
    GgufWriter w = tiny_model();
    w.version = v2 ? 2 : 3;
    w.tensor("x", {3});  // its padding has 20 bytes
    const std::string whole = w.build();
    ASSERT_TRUE(opens(whole));
    for (std::size_t n = 0; n < whole.size(); ++n) {
      const bool only_padding_is_cut = whole.size() - n <= 20;
      EXPECT_EQ(opens(whole.substr(0, n)), only_padding_is_cut) << n;
    }
  }
}

TEST(GgufHostile, G04_versions) {
  GgufWriter w = tiny_model();
  for (const std::uint32_t version : {0u, 1u, 4u, 0xffffffffu}) {
    w.version = version;
    expect_refusal(w.build(), cat("header @4: version ", version, " is not supported"));
  }
  w.version = 0x03000000;
  expect_refusal(w.build(), "big-endian");
}

TEST(GgufHostile, G05_tensor_counts) {
  GgufWriter w = tiny_model();
  const std::uint64_t size = w.build().size();
  for (const std::uint64_t count : {kTwo63, kU64Max, std::uint64_t{1} << 32, size / 33 + 1}) {
    w.tensor_count = count;
    expect_refusal(w.build(), cat("header @8: ", count, " tensors"));
  }
}

TEST(GgufHostile, G06_entry_counts) {
  GgufWriter w = tiny_model();
  const std::uint64_t size = w.build().size();
  for (const std::uint64_t count : {kTwo63, kU64Max, (size - 24) / 13 + 1}) {
    w.entry_count = count;
    expect_refusal(w.build(), cat("header @16: ", count, " key-value pairs"));
  }
}

TEST(GgufHostile, G05_G06_counts_at_their_limits) {
  GgufWriter w;
  for (int i = 0; i < 65536; ++i) w.add(cat("key.", i), u8(1));
  EXPECT_EQ(parse_gguf(exact(w.build()), "test.gguf").entries.size(), 65536u);
  w.add("one.more", u8(1));
  expect_refusal(w.build(), "header @16: 65537 key-value pairs, the limit is 65536");
  w = GgufWriter{};
  for (int i = 0; i < 65536; ++i) w.tensor(cat("tensor.", i), {1});
  EXPECT_EQ(parse_gguf(exact(w.build()), "test.gguf").tensors.size(), 65536u);
  w.tensor("one.more", {1});
  expect_refusal(w.build(), "header @8: 65537 tensors, the limit is 65536");
}

TEST(GgufHostile, G07_counts_off_by_one) {
  for (const int by : {-1, 1}) {
    GgufWriter w = tiny_model();
    w.entry_count = w.entries.size() + static_cast<std::uint64_t>(by);
    refusal(w.build());
    w = tiny_model();
    w.tensor_count = w.tensors.size() + static_cast<std::uint64_t>(by);
    refusal(w.build());
  }
}

TEST(GgufHostile, G08_keys) {
  const std::string value = raw(std::uint32_t{1});
  EXPECT_TRUE(opens(with_pair(raw_text("any.key"), 4, value)));
  EXPECT_TRUE(opens(with_pair(raw_text(std::string(64 << 10, 'k')), 4, value)));
  expect_refusal(with_pair(raw_text(""), 4, value), "metadata @24: key is empty");
  expect_refusal(with_pair(raw(kU64Max), 4, value), "key has 18446744073709551615 bytes");
  expect_refusal(with_pair(raw(std::uint64_t{60000}), 4, value), "needs 60000 bytes");
  expect_refusal(with_pair(raw_text(std::string((64 << 10) + 1, 'k')), 4, value), "key has 65537");
  expect_refusal(with_pair(raw_text(std::string("a\0b", 3)), 4, value), "'a\\x00b' has control");
  expect_refusal(with_pair(raw_text("a\xff"), 4, value), "'a\\xff' has control");
  expect_refusal(with_pair(raw_text("a\n"), 4, value), "'a\\x0a' has control");
}

TEST(GgufHostile, G09_duplicate_keys) {
  GgufWriter w = tiny_model();
  w.add("general.name", text("again"));
  expect_refusal(w.build(), "key general.name appears twice");
  w = tiny_model();
  w.add("general.name", u32(1));
  expect_refusal(w.build(), "key general.name appears twice");
  w = tiny_model();
  w.add("general.Name", text("differs in case"));
  EXPECT_TRUE(opens(w.build()));
}

TEST(GgufHostile, G11_string_lengths) {
  GgufWriter w = tiny_model();
  w.entries.clear();
  w.tensors.clear();
  for (const std::uint64_t length : {kU64Max, kTwo63, (std::uint64_t{16} << 20) + 1}) {
    w.set("general.name", {8, raw(length)});
    expect_refusal(w.build(), cat("string has ", length, " bytes, the limit is 16777216"));
  }
  w.set("general.name", {8, raw(std::uint64_t{5}) + "four"});
  expect_refusal(w.build(), "needs 5 bytes, 4 are left");
}

TEST(GgufHostile, G12_arrays_of_arrays) {
  for (const int levels : {1, 2, 100000}) {
    std::string nested;
    for (int i = 0; i < levels; ++i) nested += raw(std::uint32_t{9}) + raw(std::uint64_t{1});
    nested += raw(std::uint32_t{4}) + raw(std::uint64_t{1}) + raw(std::uint32_t{7});
    GgufWriter w = tiny_model();
    w.set("x.nested", {9, nested});
    expect_refusal(w.build(), "array of arrays");
  }
}

TEST(GgufHostile, G13_array_counts) {
  GgufWriter w = tiny_model();
  w.set("x.array", raw_array(10, std::uint64_t{1} << 61, ""));  // times 8 wraps to 0
  expect_refusal(w.build(), "array of 2305843009213693952 elements");
  w.set("x.array", raw_array(0, (std::uint64_t{16} << 20) + 1, ""));
  expect_refusal(w.build(), "array of 16777217 elements");
  w.tensors.clear();
  w.set("x.array", raw_array(4, 2, raw(1) + "123"));
  expect_refusal(w.build(), "needs 8 bytes, 7 are left");
  w.set("x.array", raw_array(8, 5, raw_text("") + raw_text("")));
  expect_refusal(w.build(), "array of 5 strings does not fit in 16 bytes");
  w.set("x.array", raw_array(8, 2, raw_text("") + raw(kU64Max)));
  expect_refusal(w.build(), "string has 18446744073709551615 bytes");
  w = tiny_model();
  w.set("x.array", raw_array(10, 0, ""));
  EXPECT_TRUE(opens(w.build()));
}

TEST(GgufHostile, G14_sixteen_million_empty_strings) {
  [[maybe_unused]] const auto peak_kib = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss);
  };
  const std::uint64_t count = std::uint64_t{16} << 20;
  GgufWriter w;
  w.set("general.architecture", text("llama"));
  w.set("tokenizer.ggml.model", text("gpt2"));
  w.set("tokenizer.ggml.tokens", raw_array(8, count, ""));
  std::vector<std::byte> bytes = exact(w.head());
  bytes.resize(bytes.size() + count * 8);  // each length is 0
  [[maybe_unused]] const std::uint64_t before = peak_kib();
  EXPECT_THROW(open_gguf_bytes(bytes, "test.gguf"), Error);  // there are no tensors
  // The thread sanitizer keeps several bytes for each of ours.
#if !defined(__SANITIZE_THREAD__)
  EXPECT_LT((peak_kib() - before) * 1024, bytes.size() * 6 / 5 + (std::uint64_t{512} << 20));
#endif
}

TEST(GgufHostile, G15_bools) {
  for (const std::uint8_t value : {std::uint8_t{2}, std::uint8_t{0xff}}) {
    GgufWriter w = tiny_model();
    w.set("tokenizer.ggml.add_bos_token", boolean(value));
    expect_refusal(w.build(), "key tokenizer.ggml.add_bos_token holds the bool ");
    w = tiny_model();
    w.set("x.unknown", raw_array(7, 2, raw(std::uint8_t{1}) + raw(value)));
    expect_refusal(w.build(), "key x.unknown holds the bool ");
  }
}

TEST(GgufHostile, G16_alignment) {
  for (const std::uint32_t value : {0u, 1u, 2u, 3u, 4u, 33u, 131072u, 1u << 31}) {
    GgufWriter w = tiny_model();
    w.set("general.alignment", u32(value));
    expect_refusal(w.build(), cat("general.alignment is ", value, ", must be a power of two"));
  }
  for (const Value& value : one_of_each_type()) {
    if (value.type == 4) continue;
    GgufWriter w = tiny_model();
    w.set("general.alignment", value);
    expect_refusal(w.build(), "general.alignment is not of type uint32");
  }
  GgufWriter w = tiny_model();
  w.set("general.alignment", u32(64));  // but the data is aligned to 32
  expect_refusal(w.build(), "expected");
}

TEST(GgufHostile, unknown_value_types) {
  for (const std::uint32_t type : {13u, 255u, 0xffffffffu}) {
    GgufWriter w = tiny_model();
    w.set("x", {type, raw(std::uint64_t{0})});
    expect_refusal(w.build(), cat("value type ", type, " is unknown"));
    w.set("x", raw_array(type, 1, raw(std::uint64_t{0})));
    expect_refusal(w.build(), cat("value type ", type, " is unknown"));
  }
}

TEST(GgufHostile, G18_ranks) {
  for (const std::uint32_t rank : {0u, 5u, 0xffffffffu}) {
    GgufWriter w = tiny_model();
    w.tensors[3].rank = rank;
    expect_refusal(w.build(), cat("tensor blk.0.attn_q.weight has ", rank, " dimensions"));
  }
  GgufWriter w = tiny_model();
  w.tensors[3].sizes = {8, 2, 2, 2};
  EXPECT_TRUE(opens(w.build()));
  w.tensors[3].sizes = {8, 0};
  expect_refusal(w.build(), "tensor blk.0.attn_q.weight has a dimension of 0");
}

TEST(GgufHostile, G20_products_of_dimensions) {
  const std::uint64_t two31 = std::uint64_t{1} << 31;
  const std::uint64_t two32 = two31 * 2;
  for (const std::vector<std::uint64_t>& sizes :
       {std::vector{two32, two32}, {two31, two31, 2, 2}, {kU64Max}, {kTwo63}, {kU64Max, kU64Max}}) {
    GgufWriter w = tiny_model();
    w.tensors[3].sizes = sizes;
    expect_refusal(w.build(), "tensor blk.0.attn_q.weight has too many elements");
  }
  GgufWriter w = tiny_model();
  w.tensors[3].sizes = {(std::uint64_t{1} << 62) - 1};  // times 4, then padded, wraps
  expect_refusal(w.build(), "needs 18446744073709551612 bytes");
  w.tensors[3].sizes = {std::uint64_t{1} << 62};
  expect_refusal(w.build(), "tensor blk.0.attn_q.weight is too large");
}

TEST(GgufHostile, G21_sum_of_sizes) {
  GgufWriter w = tiny_model();
  w.tensors[0].sizes = {std::uint64_t{1} << 61};  // 2^63 bytes each: the sum wraps to 0
  w.tensors[1].sizes = {std::uint64_t{1} << 61};
  w.tensors[1].offset = kTwo63;
  expect_refusal(w.build(), "data @");
}

TEST(GgufHostile, G22_tensor_types) {
  for (const std::uint32_t type : {4u, 5u, 42u, 255u, 0xffffffffu, 9u, 24u, 26u, 27u, 28u}) {
    GgufWriter w = tiny_model();
    w.tensors[3].type = type;
    expect_refusal(w.build(), cat("tensor type ", type));
  }
  GgufWriter w = tiny_model();
  w.tensors[3].type = 26;
  expect_refusal(w.build(), "(I32) is not supported");
}

TEST(GgufHostile, G23_rows_that_are_no_multiple_of_the_block) {
  for (const auto& [type, row] : {std::pair{12u, 255u}, {12u, 32u}, {8u, 31u}, {2u, 33u}}) {
    GgufWriter w = tiny_model();
    w.tensors.push_back({"x", {row, 256}, type, 144, {}, {}});
    expect_refusal(w.build(), cat("tensor x has rows of ", row));
  }
}

TEST(GgufHostile, G24_offsets) {
  GgufWriter w = tiny_model();
  const std::uint64_t right = 512 + 32 + 32;  // embedding and two norms
  for (const std::uint64_t offset : {std::uint64_t{1} << 40, kU64Max - 31, right + 1, right + 32,
                                     right - 32, std::uint64_t{0}}) {
    w.tensors[3].offset = offset;
    expect_refusal(w.build(), cat("tensor table @"));
    expect_refusal(w.build(), cat("has offset ", offset, ", expected ", right));
  }
  w = tiny_model();
  w.tensors.back().sizes = {16, 9};  // ends beyond the file
  expect_refusal(w.build(), "tensor blk.0.ffn_down.weight needs 576 bytes, 512 are left");
}

TEST(GgufHostile, G26_length_of_the_data_section) {
  const std::string whole = tiny_model().build();
  expect_refusal(whole.substr(0, whole.size() - 1), "needs 512 bytes, 511 are left");
  EXPECT_TRUE(open_bytes(whole).checkpoint->warnings().empty());
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 20}) {
    const Opened opened = open_bytes(whole + std::string(bytes, 'x'));
    const auto warnings = opened.checkpoint->warnings();
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_EQ(warnings[0], cat("test.gguf: ", bytes, " bytes behind the last tensor are ignored"));
    EXPECT_EQ(opened.checkpoint->tensors().size(), open_bytes(whole).checkpoint->tensors().size());
  }
  expect_refusal(whole + std::string((64 << 20) + 1, 'x'),
                 "67108865 bytes follow the last tensor, the limit is 67108864");
}

TEST(GgufHostile, G27_tensor_names) {
  const auto named = [](std::string name) {
    GgufWriter w = tiny_model();
    w.tensors[3].name = std::move(name);
    return w.build();
  };
  expect_refusal(named("output_norm.weight"), "tensor output_norm.weight appears twice");
  expect_refusal(named(""), "tensor name is empty");
  EXPECT_TRUE(opens(named(std::string(255, 'n'))));
  expect_refusal(named(std::string(256, 'n')), "tensor name has 256 bytes, the limit is 255");
  expect_refusal(named(std::string("a\0b", 3)), "'a\\x00b'");
  expect_refusal(named("a\x1b[2Jb"), "'a\\x1b[2Jb'");
  expect_refusal(named("a\xc3"), "'a\\xc3'");
}

TEST(GgufHostile, head_of_more_than_a_gibibyte) {
  // 66 strings of 16 MiB in one array: legal one by one. Pages that are never touched cost nothing.
  const std::uint64_t length = std::uint64_t{16} << 20;
  GgufWriter w;
  w.set("x", raw_array(8, 66, ""));
  const std::string head = w.head();
  const std::size_t size = head.size() + 66 * (8 + length);
  auto* memory = static_cast<std::byte*>(std::calloc(size, 1));
  ASSERT_NE(memory, nullptr);
  __builtin_memcpy(memory, head.data(), head.size());
  for (std::size_t i = 0; i < 66; ++i) {
    __builtin_memcpy(memory + head.size() + i * (8 + length), &length, 8);
  }
  try {
    parse_gguf({memory, size}, "test.gguf");
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("exceed the limit of 1073741824 bytes"), std::string::npos);
  }
  std::free(memory);
}

}  // namespace
}  // namespace ingot
