// Tests of gunzip: members, damage, and the limits on the data.
#include "server/http/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

namespace ingot {
namespace {

using namespace std::string_literals;

constexpr std::size_t kBytesMax = 1 << 20;

/// "hello, hello, hello", as `gzip -n9` writes it.
const std::string kHello =
    "\x1f\x8b\x08\0\0\0\0\0\x02\x03"
    "\xcb\x48\xcd\xc9\xc9\xd7\x51\xc8\x40\xa2\0\x9f\xa1\xca\x09\x13\0\0\0"s;

/// Compresses with zlib.
std::string gzip(const std::string& data) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string input = data;
  std::string out(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class GzipTest : public ::testing::Test {
 protected:
  /// The data in `body`; on a refusal its status, and `body` is as it was.
  std::string read(std::string body, std::size_t bytes_max = kBytesMax) {
    const std::string before = body;
    BudgetShare share(budget_);
    if (const auto refusal = gunzip(body, bytes_max, share)) {
      EXPECT_EQ(body, before);
      EXPECT_FALSE(refusal->message.empty());
      return std::to_string(refusal->status);
    }
    return body;
  }

  Budget budget_{16 << 20};
};

TEST_F(GzipTest, ReadsWhatGzipWrote) {
  EXPECT_EQ(read(kHello), "hello, hello, hello");
  EXPECT_EQ(read(gzip("")), "");
  std::string large;
  for (int i = 0; i < 200'000; ++i) large += static_cast<char>(i * i % 251);
  EXPECT_EQ(read(gzip(large)), large);
}

TEST_F(GzipTest, JoinsMembers) {
  EXPECT_EQ(read(kHello + gzip("") + gzip("{}")), "hello, hello, hello{}");
}

TEST_F(GzipTest, RefusesDamage) {
  for (std::size_t size = 0; size < kHello.size(); ++size) {
    EXPECT_EQ(read(kHello.substr(0, size)), "400") << size;
    EXPECT_EQ(read(kHello + kHello.substr(0, size)), size == 0 ? "hello, hello, hello" : "400");
  }
  // Magic, method, flags, data, checksum and length; the bytes between have no meaning.
  for (const std::size_t at : {0U, 1U, 2U, 3U, 10U, 15U, 21U, 24U, 25U, 28U}) {
    std::string damaged = kHello;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x80);
    EXPECT_EQ(read(damaged), "400") << at;
  }
  EXPECT_EQ(read("{\"prompt\": \"plain\"}"), "400");
  EXPECT_EQ(read(kHello + "x"), "400");
  EXPECT_EQ(read(kHello + "\0"s), "400");
  EXPECT_EQ(read(kHello + "{\"prompt\": \"plain\"}"), "400");
}

TEST_F(GzipTest, TheLimitIsOnTheData) {
  const std::string exact(kBytesMax, 'x');
  EXPECT_EQ(read(gzip(exact)), exact);
  EXPECT_EQ(read(gzip(exact + "x")), "413");
  EXPECT_EQ(read(gzip(exact) + gzip("x")), "413");
  EXPECT_EQ(read(kHello, 19), "hello, hello, hello");
  EXPECT_EQ(read(kHello, 18), "413");
}

TEST_F(GzipTest, ABombTakesNoMoreThanTheLimitOfTheBudget) {
  const std::string bomb = gzip(std::string(std::size_t{64} << 20, '\0'));
  Budget budget(kBytesMax + bomb.size());
  BudgetShare share(budget);
  std::string body = bomb;
  ASSERT_EQ(gunzip(body, kBytesMax, share)->status, 413);
}

TEST_F(GzipTest, TheDataTakesBudget) {
  const std::string body = gzip(std::string(kBytesMax, 'x'));
  const std::size_t cost = body.size() + kBytesMax - BudgetShare::kFreeBytes;
  Budget small(cost - 1);
  BudgetShare too_little(small);
  std::string refused = body;
  EXPECT_EQ(gunzip(refused, kBytesMax, too_little)->status, 503);

  Budget enough(cost);
  {
    BudgetShare share(enough);
    std::string read = body;
    EXPECT_FALSE(gunzip(read, kBytesMax, share));
    EXPECT_FALSE(enough.take(1)) << "the share holds it all";
  }
  EXPECT_TRUE(enough.take(cost));
}

}  // namespace
}  // namespace ingot
