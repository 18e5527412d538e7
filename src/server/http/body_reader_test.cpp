// Tests of BodyReader: both framings, limits, and when the next byte is late.
#include "server/http/body_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace ingot {
namespace {

constexpr BodyReader::Clock::time_point kHeadEnd{std::chrono::hours(5)};

HttpHead head_with_length(std::uint64_t length) {
  HttpHead head;
  head.length = length;
  return head;
}

HttpHead head_with_chunks() {
  HttpHead head;
  head.is_chunked = true;
  return head;
}

class BodyReaderTest : public ::testing::Test {
 protected:
  BodyReader reader(const HttpHead& head) { return {head, 100, times_, kHeadEnd}; }

  ConnectionTimes times_;
};

TEST_F(BodyReaderTest, ABodyWithALengthLeavesWhatComesBehindIt) {
  BodyReader body = reader(head_with_length(5));
  std::string text;
  EXPECT_EQ(body.read("ab", text), 2U);
  EXPECT_FALSE(body.has_ended());
  EXPECT_EQ(body.read("cdeGET", text), 3U);
  EXPECT_TRUE(body.has_ended());
  EXPECT_EQ(text, "abcde");
  EXPECT_EQ(body.read("GET", text), 0U);
}

TEST_F(BodyReaderTest, ChunksAreJoined) {
  BodyReader body = reader(head_with_chunks());
  std::string text;
  const std::string_view bytes = "2\r\nab\r\n3\r\ncde\r\n0\r\n\r\nGET";
  EXPECT_EQ(body.read(bytes, text), bytes.size() - 3);
  EXPECT_TRUE(body.has_ended());
  EXPECT_EQ(text, "abcde");
}

TEST_F(BodyReaderTest, NoBodyHasEndedAtOnce) {
  EXPECT_TRUE(reader(head_with_length(0)).has_ended());
  EXPECT_FALSE(reader(head_with_chunks()).has_ended());
}

TEST_F(BodyReaderTest, ALengthBeyondTheLimitIsRefusedBeforeItsFirstByte) {
  EXPECT_FALSE(reader(head_with_length(100)).refusal());
  const BodyReader body = reader(head_with_length(101));
  ASSERT_TRUE(body.refusal());
  EXPECT_EQ(body.refusal()->status, 413);
}

TEST_F(BodyReaderTest, ChunksBeyondTheLimitAreRefused) {
  BodyReader body = reader(head_with_chunks());
  std::string text;
  body.read("65\r\n", text);
  ASSERT_TRUE(body.refusal());
  EXPECT_EQ(body.refusal()->status, 413);
}

TEST_F(BodyReaderTest, AfterTheGraceEveryByteBuysTime) {
  times_.body = std::chrono::milliseconds(10'000);
  times_.body_grace = std::chrono::milliseconds(2'000);
  times_.body_bytes_per_second = 10;
  BodyReader body = reader(head_with_length(100));
  EXPECT_EQ(body.next_byte_by(), kHeadEnd + std::chrono::milliseconds(2'000));
  std::string text;
  body.read(std::string(20, 'x'), text);
  EXPECT_EQ(body.next_byte_by(), kHeadEnd + std::chrono::milliseconds(4'000));
  body.read(std::string(80, 'x'), text);
  EXPECT_EQ(body.next_byte_by(), kHeadEnd + times_.body) << "never longer than a body may take";
}

}  // namespace
}  // namespace ingot
