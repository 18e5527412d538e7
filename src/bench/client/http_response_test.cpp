// Responses cut at every byte, and what is none.
#include "bench/client/http_response.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

/// Hands in `text` in two parts, as a connection would; returns the body and the unread rest.
struct Read {
  std::string body{}, rest{};
  int status = 0;
  bool is_done = false, is_stream = false, keeps_alive = false;
  std::string problem{};

  friend bool operator==(const Read&, const Read&) = default;
};

Read read_cut(const std::string& text, std::size_t cut, bool ends) {
  HttpResponseReader reader;
  Read read;
  const std::string parts[] = {text.substr(0, cut), text.substr(cut)};
  for (const std::string& part : parts) {
    read.rest += part;
    read.rest.erase(0, reader.read(read.rest));
    read.body += reader.take_body();
  }
  if (ends) reader.end_of_connection();
  read.is_done = reader.is_done();
  read.problem = reader.problem();
  if (reader.has_head()) {
    read.status = reader.status();
    read.is_stream = reader.is_event_stream();
    read.keeps_alive = reader.keeps_alive();
  }
  return read;
}

void expect_everywhere(const std::string& text, const Read& expected, bool ends) {
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const Read read = read_cut(text, cut, ends);
    EXPECT_EQ(read.body, expected.body) << cut;
    EXPECT_EQ(read.problem, expected.problem) << cut;
    EXPECT_TRUE(read == expected) << cut << " of " << text;
  }
}

TEST(HttpResponseReader, ReadsLengths) {
  expect_everywhere("HTTP/1.1 429 Too Many\r\nContent-Length: 4\r\n\r\nabcdnext",
                    {.body = "abcd",
                     .rest = "next",
                     .status = 429,
                     .is_done = true,
                     .keeps_alive = true,
                     .problem = ""},
                    false);
  expect_everywhere("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                    {.status = 200, .is_done = true}, true);
}

TEST(HttpResponseReader, ReadsChunks) {
  expect_everywhere(
      "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n"
      "Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nabcde\r\nA\r\n0123456789\r\n0\r\n\r\n",
      {.body = "abcde0123456789",
       .rest = "",
       .status = 200,
       .is_done = true,
       .is_stream = true,
       .keeps_alive = true,
       .problem = ""},
      false);
}

TEST(HttpResponseReader, ReadsToTheEndOfTheConnection) {
  expect_everywhere("HTTP/1.0 200 OK\r\n\r\nabc", {.body = "abc", .status = 200, .is_done = true},
                    true);
}

TEST(HttpResponseReader, SaysWhatIsMissing) {
  const std::string within = "the connection ended within the response";
  EXPECT_EQ(read_cut("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", 3, true).problem, within);
  EXPECT_EQ(
      read_cut("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", 9, true).problem,
      within);
  EXPECT_EQ(read_cut("", 0, true).problem, "the connection ended without a response");
}

TEST(HttpResponseReader, RefusesWhatIsNone) {
  for (const std::string text : {"SSH-2.0-x\r\n\r\n", "HTTP/1.1 xyz\r\n\r\n",
                                 "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                                 "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999\r\n\r\n",
                                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    const Read read = read_cut(text, 1, true);
    EXPECT_NE(read.problem, "") << text;
    EXPECT_FALSE(read.is_done);
  }
}

}  // namespace
}  // namespace ingot
