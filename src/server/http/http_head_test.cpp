// Reading request heads: strictly, and the same however they arrive.
#include "server/http/http_head.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace ingot {
namespace {

using Read = std::optional<std::variant<HttpHead, HttpRefusal>>;

const std::string kGood =
    "POST /v1/x?a=b&c HTTP/1.1\r\nHost: localhost:80\r\nContent-Length: 12\r\n"
    "X-Odd_Name.1:\tvalue \t\r\nEmpty:\r\nExpect: 100-Continue\r\n\r\n";

Read read_whole(const std::string& text) { return HttpHeadReader(HttpLimits{}).read(text); }

/// The same bytes, one at a time, as a connection may bring them.
Read read_by_byte(const std::string& text) {
  HttpHeadReader reader(HttpLimits{});
  for (std::size_t size = 1; size <= text.size(); ++size) {
    if (Read read = reader.read(std::string_view(text).substr(0, size))) return read;
  }
  return std::nullopt;
}

std::string described(const Read& read) {
  if (!read) return "more";
  if (const auto* refusal = std::get_if<HttpRefusal>(&*read)) return cat(refusal->status);
  const HttpHead& head = std::get<HttpHead>(*read);
  std::string text = cat(head.request.method, " ", head.request.path, " ", head.request.query, " ",
                         head.bytes, " ", head.length, " ", int{head.is_chunked},
                         int{head.wants_continue}, int{head.keep_alive}, int{head.is_http_1_0});
  for (const auto& [name, value] : head.request.fields) text += cat("|", name, "=", value);
  return text;
}

std::string request(const std::string& fields, const std::string& line = "POST / HTTP/1.1") {
  return cat(line, "\r\nHost: localhost\r\n", fields, "\r\n");
}

int status_of(const std::string& text) {
  const Read read = read_whole(text);
  EXPECT_EQ(described(read), described(read_by_byte(text))) << printable(text, 200);
  if (!read) return -1;
  const auto* refusal = std::get_if<HttpRefusal>(&*read);
  return refusal == nullptr ? 200 : refusal->status;
}

TEST(HttpHead, GivesWhatCame) {
  const Read read = read_whole(kGood);
  ASSERT_TRUE(read);
  const HttpHead& head = std::get<HttpHead>(*read);
  EXPECT_EQ(head.request.method, "POST");
  EXPECT_EQ(head.request.path, "/v1/x");
  EXPECT_EQ(head.request.query, "a=b&c");
  EXPECT_EQ(head.bytes, kGood.size());
  EXPECT_EQ(head.length, 12U);
  EXPECT_TRUE(head.wants_continue);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_EQ(*head.request.field("x-odd_name.1"), "value");
  EXPECT_EQ(*head.request.field("empty"), "");
  EXPECT_EQ(head.request.field("other"), nullptr);
}

TEST(HttpHead, WantsMoreAtEveryByteBeforeTheEnd) {
  for (std::size_t size = 0; size < kGood.size(); ++size) {
    EXPECT_EQ(described(read_whole(kGood.substr(0, size))), "more") << size;
  }
  EXPECT_EQ(described(read_whole(kGood)), described(read_by_byte(kGood)));
}

TEST(HttpHead, TakesOneHeadAndLeavesWhatIsBehind) {
  const std::string two = kGood + "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  HttpHeadReader reader(HttpLimits{});
  Read first = reader.read(two);
  ASSERT_TRUE(first);
  ASSERT_EQ(std::get<HttpHead>(*first).bytes, kGood.size());
  Read second = reader.read(std::string_view(two).substr(kGood.size()));
  ASSERT_TRUE(second);
  EXPECT_EQ(std::get<HttpHead>(*second).request.method, "GET");
}

TEST(HttpHead, RefusesLines) {
  for (const auto& [line, status] : std::vector<std::pair<std::string, int>>{
           {"GET / HTTP/1.1", 200},
           {"GET / HTTP/1.0", 200},
           {"GET / HTTP/2.0", 505},
           {"GET / HTTP/1.2", 505},
           {"PRI * HTTP/2.0", 505},
           {"GET / http/1.1", 400},
           {"GET / HTTP/1.1 ", 400},
           {"GET / HTTP/11", 400},
           {"GET /", 400},
           {"GET  / HTTP/1.1", 400},
           {" GET / HTTP/1.1", 400},
           {"GET / / HTTP/1.1", 400},
           {"GET x HTTP/1.1", 400},
           {"GET * HTTP/1.1", 400},
           {"GET ftp://a/ HTTP/1.1", 400},
           {"CONNECT a:80 HTTP/1.1", 400},
           {"GET /# HTTP/1.1", 400},
           {"GET /\x80 HTTP/1.1", 400},
           {"G\tT / HTTP/1.1", 400},
           {"G@T / HTTP/1.1", 400},
           {"", 400},
           {std::string(33, 'A') + " / HTTP/1.1", 400},
           {"GET /" + std::string(8 << 10, 'a') + " HTTP/1.1", 414}}) {
    EXPECT_EQ(status_of(cat(line, "\r\nHost: a\r\n\r\n")), status) << line.substr(0, 60);
  }
  EXPECT_EQ(status_of("\x16\x03\x01"), 0);
}

// H03: what is no header field.
TEST(HttpHead, RefusesFields) {
  using namespace std::string_literals;
  for (const std::string& field :
       {"NoColon"s, "A : b"s, " A: b"s, "A: b\r\n c: d"s, "A: \0"s, "A: b\rc"s, "A: b\nC: d"s,
        ": b"s, "A\x80: b"s, "A: \x1f"s, "A B: c"s, "A: \x7f"s, "A: \x01"s, "(A): b"s, "\tA: b"s}) {
    EXPECT_EQ(status_of(request(field + "\r\nContent-Length: 0\r\n")), 400) << printable(field, 60);
  }
}

// H03: a value may contain bytes from 0x80, which have no meaning.
TEST(HttpHead, AcceptsBytesThatAreNotAscii) {
  const Read read = read_whole(request("Content-Length: 0\r\nA: \x80\xe9 \xff\xa0\r\n"));
  ASSERT_TRUE(read);
  EXPECT_EQ(*std::get<HttpHead>(*read).request.field("a"), "\x80\xe9 \xff\xa0");
  EXPECT_EQ(status_of(request("Content-Length: 5\xa0\r\n")), 400);
  EXPECT_EQ(status_of(request("Content-Length: \xb2\r\n")), 400);
  EXPECT_EQ(status_of(request("Transfer-Encoding: chunked\xa0\r\n")), 501);
  EXPECT_EQ(status_of(request("Transfer-Encoding: \xa0"
                              "chunked\r\nContent-Length: 5\r\n")),
            400);
  EXPECT_EQ(status_of(request("Content-Length: 5\r\nExpect: 100-continue\xa0\r\n")), 417);
  EXPECT_EQ(status_of(request("Content-Length: 5\r\nContent-Encoding: gzip\xa0\r\n")), 415);
}

/// The fields "host" of a request with this target, and its path and query.
std::string target_of(const std::string& target, const std::string& version = "HTTP/1.1",
                      const std::string& host = "Host: other\r\n") {
  const std::string text = cat("GET ", target, " ", version, "\r\n", host, "X: y\r\n\r\n");
  const Read read = read_whole(text);
  EXPECT_EQ(described(read), described(read_by_byte(text))) << target;
  if (!read) return "more";
  if (const auto* refusal = std::get_if<HttpRefusal>(&*read)) return cat(refusal->status);
  const HttpRequest& got = std::get<HttpHead>(*read).request;
  std::string found = cat(got.path, " ", got.query);
  for (const auto& [name, value] : got.fields) found += name == "host" ? " " + value : "";
  return found;
}

// RFC 9112, section 3.2.2.
TEST(HttpHead, AnAbsoluteTargetReplacesTheHost) {
  EXPECT_EQ(target_of("http://localhost:80/v1/x?a=b"), "/v1/x a=b localhost:80");
  EXPECT_EQ(target_of("HTTPS://LocalHost/x"), "/x  LocalHost");
  EXPECT_EQ(target_of("http://127.0.0.1"), "/  127.0.0.1");
  EXPECT_EQ(target_of("http://a?b"), "/ b a");
  EXPECT_EQ(target_of("http://a:/"), "/  a:");
  EXPECT_EQ(target_of("http://[::1]:8080//x"), "//x  [::1]:8080");
  EXPECT_EQ(target_of("http://a/", "HTTP/1.0", ""), "/  a");
  EXPECT_EQ(target_of("/http://a/"), "/http://a/  other");
  EXPECT_EQ(target_of("http://a/", "HTTP/1.1", ""), "400") << "HTTP/1.1 needs Host all the same";
  EXPECT_EQ(target_of("http://a/", "HTTP/1.1", "Host: a\r\nHost: a\r\n"), "400");
  for (const char* target :
       {"http://",       "http:///x",      "http://?x",        "http://:80/",     "http://user@a/",
        "http://u:p@a/", "http://a:b/",    "http://a:123456/", "http://a:80:80/", "http://[::1/",
        "http://[]/",    "http://[::1]x/", "http://[g::]/",    "http://::1/",     "http://a b/",
        "http://a%20b/", "http://a\\b/",   "http://a\x80/",    "http://a/#b",     "http:/a/",
        "http:a/",       "httpx://a/",     "ws://a/"}) {
    EXPECT_EQ(target_of(target), "400") << target;
  }
}

// RFC 9112, section 2.2.
TEST(HttpHead, SkipsAFewEmptyLines) {
  const auto after = [](int count, const std::string& text) {
    std::string lines;
    for (int i = 0; i < count; ++i) lines += "\r\n";
    return lines + text;
  };
  for (const int count : {1, 16}) {
    const std::string text = after(count, kGood);
    const Read read = read_whole(text);
    ASSERT_TRUE(read);
    ASSERT_TRUE(std::holds_alternative<HttpHead>(*read)) << count;
    EXPECT_EQ(std::get<HttpHead>(*read).bytes, text.size());
    EXPECT_EQ(std::get<HttpHead>(*read).request.path, "/v1/x");
    EXPECT_EQ(described(read), described(read_by_byte(text)));
  }
  EXPECT_EQ(status_of(after(17, kGood)), 400);
  EXPECT_EQ(status_of(after(17, "")), 400);
  EXPECT_EQ(status_of("\n" + kGood), 400);
  EXPECT_EQ(status_of("\r" + kGood), 400);
  EXPECT_EQ(status_of("\r\n\n" + kGood), 400);
  EXPECT_EQ(status_of("\r\n " + kGood), 400);
  // Empty lines do not count towards the limit of the request line.
  const std::string line = cat("GET /", std::string((8 << 10) - 18, 'a'), " HTTP/1.1\r\n");
  EXPECT_EQ(status_of(after(16, line + "Host: a\r\n\r\n")), 200);
  EXPECT_EQ(status_of(after(1, "GET /" + std::string(8 << 10, 'a'))), 414);
}

TEST(HttpHead, BeginsWithTheRequestLine) {
  HttpHeadReader reader(HttpLimits{});
  EXPECT_FALSE(reader.read("\r"));
  EXPECT_FALSE(reader.read("\r\n"));
  EXPECT_FALSE(reader.read("\r\n\r"));
  EXPECT_FALSE(reader.has_begun());
  EXPECT_FALSE(reader.read("\r\n\r\nG"));
  EXPECT_TRUE(reader.has_begun());
}

TEST(HttpHead, ARefusedRequestHasItsPathOnceTheLineIsRead) {
  HttpHeadReader late(HttpLimits{});
  EXPECT_FALSE(late.read("GET /x?key HTTP/1.1\r\nHost"));
  EXPECT_EQ(late.request().path, "/x");
  HttpHeadReader refused(HttpLimits{});
  EXPECT_TRUE(refused.read("POST /y HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"));
  EXPECT_EQ(refused.request().path, "/y");
  HttpHeadReader malformed(HttpLimits{});
  EXPECT_TRUE(malformed.read("GET \x1b[2J HTTP/1.1\r\n"));
  EXPECT_EQ(malformed.request().path, "");
}

// H04: exactly one Host.
TEST(HttpHead, WantsOneHost) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\n\r\n"), 200);
}

// H05: lengths are digits, and come once.
TEST(HttpHead, RefusesLengths) {
  for (const char* value : {"-1", "+5", "0x10", "5,5", "5, 5", "11111111111111111111", "", "5 5",
                            "5.0", "1e1", "\"5\""}) {
    EXPECT_EQ(status_of(request(cat("Content-Length: ", value, "\r\n"))), 400) << value;
  }
  EXPECT_EQ(status_of(request("Content-Length: 5\r\nContent-Length: 5\r\n")), 400);
  EXPECT_EQ(status_of(request("Content-Length: 5\r\nContent-Length: 6\r\n")), 400);
  EXPECT_EQ(status_of(request(cat("Content-Length: ", 8 << 20, "\r\n"))), 200);
  EXPECT_EQ(status_of(request("")), 411);
}

// H06: only "chunked", once, alone, and in HTTP/1.1.
TEST(HttpHead, RefusesCodings) {
  for (const auto& [fields, status] : std::vector<std::pair<std::string, int>>{
           {"Transfer-Encoding: chunked\r\n", 200},
           {"Transfer-Encoding: CHUNKED\r\n", 200},
           {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400},
           {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
           {"Content-Length: 5\r\nTransfer-Encoding: x\r\n", 400},
           {"Transfer-Encoding: chunked, identity\r\n", 501},
           {"Transfer-Encoding: identity\r\n", 501},
           {"Transfer-Encoding: gzip, chunked\r\n", 501},
           {"Transfer-Encoding: xchunked\r\n", 501},
           {"Transfer-Encoding: \"chunked\"\r\n", 501},
           {"Transfer-Encoding:\r\n", 501},
           {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
           {"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", 400},
           {"Transfer-Encoding:\tchunked\r\n", 400},
           {"Transfer-Encoding: chunked\t\r\n", 400},
           {"Transfer-Encoding: \x0b"
            "chunked\r\n",
            400}}) {
    EXPECT_EQ(status_of(request(fields)), status) << printable(fields, 80);
  }
  EXPECT_EQ(status_of(request("Transfer-Encoding: chunked\r\n", "POST / HTTP/1.0")), 400);
}

// H16: each way to hide a coding beside a length is refused; none is read in one way or the other.
TEST(HttpHead, LeavesNothingToSmuggle) {
  using namespace std::string_literals;
  int tried = 0;
  for (const std::string& coding :
       {"Transfer-Encoding: chunked"s, "transfer-encoding: chunked"s, "TRANSFER-ENCODING: chunked"s,
        "Transfer-Encoding : chunked"s, "Transfer-Encoding\t: chunked"s,
        " Transfer-Encoding: chunked"s, "X: y\r\n Transfer-Encoding: chunked"s,
        "Transfer-Encoding: chunked\0"s, "Transfer-Encoding:\tchunked"s,
        "X: \nTransfer-Encoding: chunked"s, "X: \rTransfer-Encoding: chunked"s,
        "Transfer-Encoding\r: chunked"s, "Transfer-Encoding: x\r\nTransfer-Encoding: chunked"s,
        "Transfer-Encoding: chunked;q=1"s}) {
    for (const std::string& length :
         {"Content-Length: 5"s, "content-length: 40"s, "Content-Length: 0"s}) {
      for (const std::string& fields : {coding + "\r\n" + length, length + "\r\n" + coding}) {
        const int status = status_of(request(fields + "\r\n"));
        EXPECT_TRUE(status == 400 || status == 501) << status << " " << printable(fields, 100);
        ++tried;
      }
    }
  }
  EXPECT_GE(tried, 40);
}

TEST(HttpHead, BoundsTheHead) {
  std::string many;
  for (int i = 0; i < 98; ++i) many += cat("x", i, ": v\r\n");
  EXPECT_EQ(status_of(request(many + "Content-Length: 0\r\n")), 200);
  EXPECT_EQ(status_of(request(many + "Content-Length: 0\r\nX: y\r\n")), 431);
  EXPECT_EQ(status_of(request(cat("X: ", std::string(40 << 10, 'v')))), 431);
}

TEST(HttpHead, KnowsWhenTheConnectionEnds) {
  const auto keeps = [](const std::string& fields, const std::string& line) {
    const Read read = read_whole(request(fields, line));
    return std::get<HttpHead>(*read).keep_alive;
  };
  EXPECT_TRUE(keeps("", "GET / HTTP/1.1"));
  EXPECT_TRUE(keeps("Connection: keep-alive\r\n", "GET / HTTP/1.1"));
  EXPECT_FALSE(keeps("Connection: Close\r\n", "GET / HTTP/1.1"));
  EXPECT_FALSE(keeps("Connection: upgrade , close\r\n", "GET / HTTP/1.1"));
  EXPECT_FALSE(keeps("Connection: x\r\nConnection: close\r\n", "GET / HTTP/1.1"));
  EXPECT_FALSE(keeps("", "GET / HTTP/1.0"));
  EXPECT_FALSE(keeps("Connection: keep-alive\r\n", "GET / HTTP/1.0"));
}

TEST(HttpHead, RefusesWhatItCannotDo) {
  EXPECT_EQ(status_of(request("Content-Length: 0\r\nExpect: 200-ok\r\n")), 417);
  EXPECT_EQ(status_of(request("Content-Length: 0\r\nExpect: 100-Continue\r\n")), 200);
}

// RFC 9110, section 7.8: a server may ignore Upgrade. Java's HttpClient offers it with each body.
TEST(HttpHead, IgnoresUpgrade) {
  for (const char* value : {"h2c", "websocket", "TLS/1.2, HTTP/1.1", ""}) {
    for (const int length : {0, 2}) {
      EXPECT_EQ(status_of(request(
                    cat("Connection: Upgrade, HTTP2-Settings\r\nContent-Length: ", length,
                        "\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\nUpgrade: ", value, "\r\n"))),
                200)
          << value;
    }
  }
}

TEST(HttpHead, KnowsTheCodingOfTheBody) {
  const auto coding = [](const std::string& fields) -> std::string {
    const Read read = read_whole(request("Content-Length: 2\r\n" + fields));
    if (const auto* refusal = std::get_if<HttpRefusal>(&*read)) {
      const std::string* accepted = find_field(refusal->fields, "Accept-Encoding");
      return cat(refusal->status, " ", accepted == nullptr ? "none" : *accepted);
    }
    return std::get<HttpHead>(*read).is_gzip ? "gzip" : "plain";
  };
  EXPECT_EQ(coding(""), "plain");
  for (const char* plain : {"identity", "IDENTITY", "", "identity, identity"}) {
    EXPECT_EQ(coding(cat("Content-Encoding: ", plain, "\r\n")), "plain") << plain;
  }
  for (const char* gzip : {"gzip", "GZip", "x-gzip", "X-GZIP", "identity, gzip", "gzip ,"}) {
    EXPECT_EQ(coding(cat("Content-Encoding: ", gzip, "\r\n")), "gzip") << gzip;
  }
  for (const char* other :
       {"br", "deflate", "zstd", "gzip, gzip", "gzip, br", "gzip;q=1", "gzipx", "*", "\"gzip\""}) {
    EXPECT_EQ(coding(cat("Content-Encoding: ", other, "\r\n")), "415 gzip") << other;
  }
  EXPECT_EQ(coding("Content-Encoding: identity\r\nContent-Encoding: gzip\r\n"), "gzip");
  EXPECT_EQ(coding("Content-Encoding: identity\r\nContent-Encoding: br\r\n"), "415 gzip");
  EXPECT_EQ(coding("Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n"), "415 gzip");
}

}  // namespace
}  // namespace ingot
