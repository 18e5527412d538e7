// ServerLog: which lines are written, and what is in them.
#include "server/common/request_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <string>

#include "base/utf8.h"

namespace ingot {
namespace {

/// A log that writes into a pipe.
class LogTest : public ::testing::Test {
 protected:
  LogTest() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  ~LogTest() override {
    for (const int end : ends_) {
      if (end >= 0) ::close(end);
    }
  }

  int in() const { return ends_[1]; }
  /// All that was written; nothing more can be.
  std::string text() {
    ::close(std::exchange(ends_[1], -1));
    std::string all;
    std::array<char, 4096> bytes{};
    for (ssize_t n; (n = ::read(ends_[0], bytes.data(), bytes.size())) > 0;) {
      all.append(bytes.data(), static_cast<std::size_t>(n));
    }
    return all;
  }
  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++n;
    }
    return n;
  }

  std::atomic<std::uint64_t> dropped_{0};

 private:
  std::array<int, 2> ends_{-1, -1};
};

TEST_F(LogTest, AFloodOfOneKindHidesNoOther) {
  ServerLog log(in(), ServerLog::Level::kErrors, dropped_);
  for (int i = 0; i < 1000; ++i) log.refusal("refused", 429, {}, {});
  log.refusal("refused", 401, {}, {});
  log.failure("/v1/completions", "the-id", "why it failed");
  log.failure("/v1/messages", "another", "why \n too");
  const std::string all = text();
  // A second may have passed meanwhile.
  EXPECT_GE(count(all, "\"status\":429"), 1u) << all;
  EXPECT_LE(count(all, "\"status\":429"), 2u) << all;
  EXPECT_EQ(count(all, "\"status\":401"), 1u) << all;
  EXPECT_EQ(count(all, "\"event\":\"failed\""), 2u) << all;
  EXPECT_NE(all.find("the-id"), std::string::npos) << all;
  EXPECT_NE(all.find("why it failed"), std::string::npos) << all;
  EXPECT_EQ(count(all, "\n"), 4u + count(all, "\"status\":429") - 1) << "one line each: " << all;
  EXPECT_EQ(dropped_.load(), 0u);
}

TEST_F(LogTest, ARefusalHasPathPeerAndError) {
  ServerLog log(in(), ServerLog::Level::kErrors, dropped_);
  HttpRequest request;
  request.path = "/v1/\x1b[2J\r\n\x7f\xff" + std::string(8000, 'a');
  request.peer = "192.0.2.1";
  log.refusal("refused", 400, request, {.code = "invalid_value", .param = "top_k"});
  log.refusal("refused", 401, {}, {});
  const std::string all = text();
  const std::string first = all.substr(0, all.find('\n') + 1);
  EXPECT_EQ(count(all, "\n"), 2u) << all;
  EXPECT_LT(first.size(), 600u);
  for (const char c : first.substr(0, first.size() - 1)) EXPECT_TRUE(c >= ' ' && c < '\x7f');
  const Json line = parse_json(first, "log", "json");
  EXPECT_TRUE(line.find("path")->as_string()->starts_with("/v1/\\x1b[2J")) << first;
  EXPECT_EQ(*line.find("peer")->as_string(), "192.0.2.1");
  EXPECT_EQ(*line.find("code")->as_string(), "invalid_value");
  EXPECT_EQ(*line.find("param")->as_string(), "top_k");
  const Json second = parse_json(all.substr(first.size()), "log", "json");
  for (const char* absent : {"path", "peer", "code", "param"}) {
    EXPECT_EQ(second.find(absent), nullptr) << absent;
  }
}

TEST_F(LogTest, NothingWhereNothingIsWanted) {
  ServerLog log(in(), ServerLog::Level::kNone, dropped_);
  log.refusal("refused", 429, {}, {});
  log.failure("/v1/completions", "the-id", "why");
  log.request(Json::object());
  EXPECT_EQ(text(), "");
}

TEST_F(LogTest, ContentsComeInWholeCharactersAndLinesThatAPipeTakesAtOnce) {
  for (const std::string_view piece :
       {"\xc3\xa4", "\x01", "\"", "\xff", "a", "\xc2\x9b", "\x7f", "\xe2\x80\xae"}) {
    std::string said;
    while (said.size() < 20000) said += piece;
    std::array<int, 2> ends{-1, -1};
    ASSERT_EQ(::pipe(ends.data()), 0);
    ASSERT_GE(::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20), 0);
    ServerLog log(ends[1], ServerLog::Level::kContents, dropped_);
    log.content("the-id", "request", said, false);
    log.content("the-id", "response", "", true);
    ::close(ends[1]);
    std::string all;
    std::array<char, 4096> bytes{};
    for (ssize_t n; (n = ::read(ends[0], bytes.data(), bytes.size())) > 0;) {
      all.append(bytes.data(), static_cast<std::size_t>(n));
    }
    ::close(ends[0]);
    std::string back;
    std::size_t lines = 0;
    for (std::size_t at = 0; at < all.size(); ++lines) {
      const std::size_t end = all.find('\n', at);
      ASSERT_NE(end, std::string::npos);
      ASSERT_LE(end + 1 - at, std::size_t{PIPE_BUF});
      for (const std::string_view harm : {"\xc2\x9b", "\x7f", "\xe2\x80\xae"}) {
        ASSERT_EQ(all.find(harm), std::string::npos);
      }
      const Json line = parse_json(all.substr(at, end - at), "log", "json");
      ASSERT_NE(line.find("text"), nullptr);
      if (*line.find("of")->as_string() == "request") {
        EXPECT_EQ(*line.find("at")->as_int() > 0, lines > 0);
      }
      back += *line.find("text")->as_string();
      at = end + 1;
      EXPECT_EQ(line.find("goes_on") != nullptr, *line.find("of")->as_string() == "response" ||
                                                     back.size() < to_valid_utf8(said).size());
    }
    EXPECT_EQ(back, to_valid_utf8(said));
    EXPECT_GT(lines, 6u);
  }
  EXPECT_EQ(dropped_.load(), 0u);
}

TEST_F(LogTest, NoContentsUnlessTheyAreAskedFor) {
  ServerLog log(in(), ServerLog::Level::kRequests, dropped_);
  log.content("the-id", "request", "said", false);
  EXPECT_EQ(text(), "");
}

}  // namespace
}  // namespace ingot
