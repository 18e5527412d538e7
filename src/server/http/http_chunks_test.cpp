// Reading chunked bodies: strictly, and the same however they arrive.
#include "server/http/http_chunks.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "base/text.h"

namespace ingot {
namespace {

constexpr std::size_t kBodyMax = 1000;

struct Result {
  std::string body;
  std::size_t used = 0;
  int status = 0;  ///< status of a refusal
  bool ended = false;
};

bool operator==(const Result& a, const Result& b) {
  return a.body == b.body && a.used == b.used && a.status == b.status && a.ended == b.ended;
}

/// Reads in pieces of `piece` bytes, as a connection does.
Result read(std::string_view text, std::size_t piece) {
  HttpChunkReader reader(kBodyMax);
  Result result;
  while (!text.empty() && !reader.refusal() && !reader.has_ended()) {
    const std::size_t used = reader.read(text.substr(0, piece), result.body);
    result.used += used;
    text.remove_prefix(used);
  }
  result.status = reader.refusal() ? reader.refusal()->status : 0;
  result.ended = reader.has_ended();
  return result;
}

Result read_in_all_ways(const std::string& text) {
  const Result whole = read(text, text.size());
  for (const std::size_t piece : {1U, 2U, 3U, 7U}) {
    EXPECT_TRUE(read(text, piece) == whole) << piece << " " << printable(text, 100);
  }
  return whole;
}

TEST(HttpChunks, PutsABodyTogether) {
  const std::string text = "5\r\nhello\r\n00A;name=\"value\"\r\n, my world\r\n0\r\n\r\n";
  const Result result = read_in_all_ways(text + "GET / HTTP/1.1\r\n");
  EXPECT_TRUE(result.ended);
  EXPECT_EQ(result.body, "hello, my world");
  EXPECT_EQ(result.used, text.size());
}

TEST(HttpChunks, WantsMoreAtEveryByteBeforeTheEnd) {
  const std::string text = "5\r\nhello\r\n0\r\nX-Trailer: dropped\r\n\r\n";
  for (std::size_t size = 0; size < text.size(); ++size) {
    const Result result = read(text.substr(0, size), 1000);
    EXPECT_FALSE(result.ended) << size;
    EXPECT_EQ(result.status, 0) << size;
    EXPECT_EQ(result.used, size);
  }
  EXPECT_TRUE(read_in_all_ways(text).ended);
}

TEST(HttpChunks, RefusesWhatTwoReadersCouldSeeDifferently) {
  using namespace std::string_literals;
  for (const std::string& text : {"\r\n"s,
                                  "x\r\n"s,
                                  "-1\r\n"s,
                                  "+1\r\n"s,
                                  " 1\r\n"s,
                                  "1 \r\n"s,
                                  "0x1\r\n"s,
                                  "1\n"s,
                                  "1\r1\r\n"s,
                                  "1 ;e\r\n"s,
                                  "1;\0\r\n"s,
                                  "1;\x80\r\n"s,
                                  "1,2\r\n"s,
                                  "1000000000000000\r\n"s,
                                  "00000000000000001\r\n"s,
                                  "FFFFFFFFFFFFFFFFF\r\n"s,
                                  "1\r\nab\r\n"s,
                                  "1\r\na\n"s,
                                  "1\r\na\rb"s,
                                  "1\r\na0\r\n\r\n"s,
                                  "0\r\nbad\r\n"s,
                                  "0\r\n: b\r\n"s,
                                  "0\r\nA : b\r\n"s,
                                  "0\r\nA: b\n"s,
                                  "0\r\nContent-Length: 5\r\n"s,
                                  "0\r\nTRANSFER-ENCODING: chunked\r\n"s,
                                  "0\r\nHost: a\r\n"s,
                                  "0\r\nAuthorization: a\r\n"s}) {
    const Result result = read_in_all_ways(text);
    EXPECT_EQ(result.status, 400) << printable(text, 60);
    EXPECT_FALSE(result.ended);
  }
}

TEST(HttpChunks, BoundsTheBody) {
  EXPECT_TRUE(read_in_all_ways(cat("3e8\r\n", std::string(1000, 'a'), "\r\n0\r\n\r\n")).ended);
  EXPECT_EQ(read_in_all_ways("3e9\r\n").status, 413);
  EXPECT_EQ(read_in_all_ways(cat("3e8\r\n", std::string(1000, 'a'), "\r\n1\r\n")).status, 413);
  EXPECT_EQ(read_in_all_ways("FFFFFFFFFFFFFFF\r\n").status, 413);
}

TEST(HttpChunks, BoundsTheFraming) {
  EXPECT_EQ(read_in_all_ways(cat("1;", std::string(600, 'e'), "\r\n")).status, 400);
  std::string extensions;
  for (int i = 0; i < 20; ++i) extensions += cat("1;", std::string(400, 'e'), "\r\na\r\n");
  EXPECT_EQ(read_in_all_ways(extensions).status, 400);
  std::string trailers = "0\r\n";
  for (int i = 0; i < 20; ++i) trailers += cat("X: ", std::string(400, 't'), "\r\n");
  EXPECT_EQ(read_in_all_ways(trailers + "\r\n").status, 400);
  EXPECT_TRUE(read_in_all_ways("0\r\nX: t\r\nY: t\r\n\r\n").ended);
}

}  // namespace
}  // namespace ingot
