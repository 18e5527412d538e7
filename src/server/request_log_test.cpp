// ServerLog: which lines are written, and what is in them.
#include "server/request_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

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
  for (int i = 0; i < 1000; ++i) log.refusal("refused", 429);
  log.refusal("refused", 401);
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

TEST_F(LogTest, NothingWhereNothingIsWanted) {
  ServerLog log(in(), ServerLog::Level::kNone, dropped_);
  log.refusal("refused", 429);
  log.failure("/v1/completions", "the-id", "why");
  log.request(Json::object());
  EXPECT_EQ(text(), "");
}

}  // namespace
}  // namespace ingot
