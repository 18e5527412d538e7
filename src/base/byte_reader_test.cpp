// Tests of ByteReader: what it reads, and that it never reads beyond.
#include "base/byte_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace ingot {
namespace {

template <std::size_t n>
std::array<std::byte, n> bytes_of(const unsigned char (&values)[n]) {
  std::array<std::byte, n> bytes{};
  for (std::size_t i = 0; i < n; ++i) bytes[i] = std::byte{values[i]};
  return bytes;
}

/// The message of the Error that `call` throws; empty when it throws none.
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    return error.message();
  }
  return {};
}

TEST(ByteReader, ReadsLittleEndianNumbers) {
  const auto bytes = bytes_of({0x01, 0x02, 0x03, 0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x80, 0x3F});
  ByteReader reader(bytes, "f");
  EXPECT_EQ(reader.read<std::uint8_t>(), 1);
  EXPECT_EQ(reader.read<std::uint16_t>(), 0x0302);
  EXPECT_EQ(reader.read<std::int32_t>(), -1);
  EXPECT_EQ(reader.offset(), 7u);
  EXPECT_EQ(reader.read<float>(), 1.0f);
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(ByteReader, TruncatedAtEveryByte) {
  const auto bytes = bytes_of({1, 2, 3, 4, 5, 6, 7, 8});
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const auto part = std::span(bytes).first(n);
    ByteReader reader(part, "model.bin");
    reader.section("counts");
    EXPECT_EQ(error_of([&] { reader.read<std::uint64_t>(); }),
              cat("model.bin: counts @0: needs 8 bytes, ", n, " are left"));
    EXPECT_EQ(reader.offset(), 0u) << "a failed read does not move";
  }
}

TEST(ByteReader, HugeCountsDoNotWrap) {
  const auto bytes = bytes_of({'a', 'b', 'c', 'd'});
  ByteReader reader(bytes, "f");
  EXPECT_EQ(reader.text(2), "ab");
  constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();
  EXPECT_NE(error_of([&] { reader.bytes(kHuge); }), "");
  EXPECT_NE(error_of([&] { reader.text(kHuge - 1); }), "");
  EXPECT_EQ(reader.text(2), "cd");
  EXPECT_EQ(reader.text(0), "");
}

TEST(ByteReader, SeeksWithinOnly) {
  const auto bytes = bytes_of({10, 20, 30});
  ByteReader reader(bytes, "f");
  reader.seek(2);
  EXPECT_EQ(reader.read<std::uint8_t>(), 30);
  reader.seek(3);
  EXPECT_EQ(reader.remaining(), 0u);
  EXPECT_EQ(error_of([&] { reader.seek(4); }), "f: header @3: offset 4 is beyond the end");
}

TEST(ByteReader, FailuresNameFileSectionAndOffset) {
  ByteReader reader({}, "bad\nname");
  reader.section("metadata");
  EXPECT_EQ(error_of([&] { reader.fail("no luck"); }), "bad\\x0aname: metadata @0: no luck");
  EXPECT_EQ(error_of([&] { reader.fail_at(99, "no luck"); }),
            "bad\\x0aname: metadata @99: no luck");
}

}  // namespace
}  // namespace ingot
