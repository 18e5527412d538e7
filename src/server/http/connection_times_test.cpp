// Timers of a connection: late heads and bodies, silent streams, and how many requests it takes.
#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <string>

#include "base/text.h"
#include "server/http/server.h"

namespace ingot {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

/// Writes nothing.
class SilentWriter : public ResponseWriter {
 public:
  void end_choice(std::size_t, const Outcome&, std::string&) override {}
  void finish(std::string&) override {}
  void write_error(const ApiError&, std::string&) override {}
};

/// Answers "{}"; with a query, a stream that never has a token.
class SilentHandler : public RequestHandler {
 public:
  std::variant<Admitted, HttpResponse> admit(const HttpRequest&, bool) override {
    return Admitted{.id = "1"};
  }
  Handled handle(const HttpRequest& request, const Admitted&, Notify notify,
                 const std::atomic<bool>&) override {
    if (request.query.empty()) return HttpResponse{.body = "{}"};
    auto channel =
        std::make_shared<Channel>(1, std::make_shared<Doorbell>(),
                                  std::make_shared<Clock>([] { return 0.0; }), std::move(notify));
    auto running = std::make_shared<RunningGeneration>();
    running->streams.emplace_back(1, std::move(channel));
    running->writer = std::make_unique<SilentWriter>();
    running->stream = true;
    return running;
  }
  HttpResponse refusal(const HttpRefusal& refusal, const HttpRequest&) override {
    return {.status = refusal.status, .body = "{}"};
  }
};

class ConnectionTimesTest : public ::testing::Test {
 protected:
  ~ConnectionTimesTest() override {
    socket_.close();
    server_.stop(1);
  }

  void start(const ConnectionTimes& times) {
    server_.start(handler_, handler_, times);
    const std::string address = server_.address();
    const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    socket_.connect({asio::ip::address_v4::loopback(), port});
  }
  void send(std::string_view text) { asio::write(socket_, asio::buffer(text)); }
  /// All that comes until the server closes.
  std::string rest() {
    std::string all;
    boost::system::error_code end;
    asio::read(socket_, asio::dynamic_buffer(all), end);
    return all;
  }

  HttpMetrics metrics_;
  SilentHandler handler_;
  Server server_{{.io_threads = 1, .worker_threads = 1}, metrics_};
  asio::io_context io_;
  asio::ip::tcp::socket socket_{io_};
};

constexpr std::string_view kPost = "POST /work HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n";

TEST_F(ConnectionTimesTest, AHeadThatDoesNotEnd) {
  start({.head = milliseconds(50)});
  send(kPost);
  EXPECT_TRUE(rest().starts_with("HTTP/1.1 408 "));
}

TEST_F(ConnectionTimesTest, ABodyThatDoesNotEnd) {
  start({.body = milliseconds(50)});
  send(cat(kPost, "\r\n{"));
  EXPECT_TRUE(rest().starts_with("HTTP/1.1 408 "));
}

TEST_F(ConnectionTimesTest, ABodyBelowTheRate) {
  start({.body_grace = milliseconds(50)});
  send(cat(kPost, "\r\n{"));
  EXPECT_TRUE(rest().starts_with("HTTP/1.1 408 "));
}

TEST_F(ConnectionTimesTest, AConnectionWithoutARequestCloses) {
  start({.idle = milliseconds(50)});
  EXPECT_EQ(rest(), "");
}

TEST_F(ConnectionTimesTest, EmptyLinesAreNoRequest) {
  // The head would be late before the connection is idle for too long.
  start({.head = milliseconds(1), .idle = milliseconds(50)});
  send("\r\n\r\n\r");
  EXPECT_EQ(rest(), "");
}

TEST_F(ConnectionTimesTest, AnOpenConnectionTellsHowLong) {
  start({.idle = milliseconds(90'000)});
  send(cat(kPost, "\r\n{}", kPost, "Connection: close\r\n\r\n{}"));
  const std::string all = rest();
  const std::string told = "Connection: keep-alive\r\nKeep-Alive: timeout=75\r\n";
  const std::size_t second = all.find("HTTP/1.1 200", 1);
  ASSERT_NE(second, std::string::npos);
  EXPECT_LT(all.find(told), second);
  EXPECT_EQ(all.find("Keep-Alive", second), std::string::npos);
}

TEST_F(ConnectionTimesTest, AStreamTellsHowLongItsConnectionStaysOpen) {
  start({.idle = milliseconds(12'000), .ping = milliseconds(20)});
  send("POST /work?stream HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  std::string got;
  asio::read_until(socket_, asio::dynamic_buffer(got), "\r\n\r\n");
  EXPECT_NE(got.find("Keep-Alive: timeout=10\r\n"), std::string::npos) << got;
}

TEST_F(ConnectionTimesTest, ATimeBelowASecondIsNotTold) {
  start({.idle = milliseconds(1'100), .requests_max = 2});
  send(cat(kPost, "\r\n{}", kPost, "\r\n{}"));
  EXPECT_EQ(rest().find("Keep-Alive"), std::string::npos);
}

TEST_F(ConnectionTimesTest, ASilentStreamGetsComments) {
  start({.ping = milliseconds(20)});
  send("POST /work?stream HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  std::string got;
  for (int i = 0; i < 2; ++i) {
    const std::size_t end =
        asio::read_until(socket_, asio::dynamic_buffer(got), ": still at work\n\n");
    got.erase(0, end);
  }
}

TEST_F(ConnectionTimesTest, TheLastRequestOfAConnectionClosesIt) {
  start({.requests_max = 2});
  send(cat(kPost, "\r\n{}", kPost, "\r\n{}", kPost, "\r\n{}"));
  const std::string all = rest();
  EXPECT_EQ(all.find("Connection: close"), all.rfind("Connection: close"));
  const std::size_t second = all.find("HTTP/1.1 200", 1);
  ASSERT_NE(second, std::string::npos);
  EXPECT_GT(all.find("Connection: close"), second);
  EXPECT_EQ(all.find("HTTP/1.1 200", second + 1), std::string::npos);
}

}  // namespace
}  // namespace ingot
