// Tests of the budgets that requests share, and of stopping a server with open requests.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "server/http/server.h"

namespace ingot {
namespace {

namespace asio = boost::asio;

/// Answers a query with as many bytes; /text and /held not before `release`, /left not before its
/// client has left.
class Holding : public RequestHandler {
 public:
  std::variant<Admitted, HttpResponse> admit(const HttpRequest& request, bool) override {
    ++admitted_;
    Admitted admitted{.id = "1"};
    if (request.path == "/text") admitted.threads = HandlerThreads::kTexts;
    if (request.path == "/state") admitted.threads = HandlerThreads::kStates;
    return admitted;
  }
  Handled handle(const HttpRequest& request, const Admitted& admitted, Notify,
                 const std::atomic<bool>& has_left) override {
    if (admitted.threads == HandlerThreads::kTexts || request.path == "/held") {
      std::unique_lock lock(mutex_);
      ++held_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return is_released_; });
    }
    if (request.path == "/left") {
      while (!has_left.load()) std::this_thread::yield();
      return HttpResponse{.status = kClientLeft, .body = "{}"};
    }
    const std::size_t bytes = request.query.empty() ? 2 : std::stoul(request.query);
    return HttpResponse{.body = std::string(bytes, 'x')};
  }
  HttpResponse refusal(const HttpRefusal& refusal, const HttpRequest&) override {
    return {.status = refusal.status, .body = "{}"};
  }
  HttpResponse no_room(NoRoom what, const Admitted&) override {
    return {.status = what == NoRoom::kText ? 429 : 503};
  }
  void ended(const HttpRequest&, const Admitted&, const RequestEnd& end) override {
    const std::lock_guard lock(mutex_);
    last_status_ = end.status;
    ++ended_;
    changed_.notify_all();
  }

  void wait_until_held() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return held_ > 0; });
  }
  /// Waits for the first end; returns the request's status.
  int ended_status() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ > 0; });
    return last_status_;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
    changed_.notify_all();
  }
  int admitted() const { return admitted_; }
  int ended() const { return ended_; }

 private:
  std::atomic<int> admitted_{0};
  std::atomic<int> ended_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  int held_ = 0;
  int last_status_ = 0;
  bool is_released_ = false;
};

class BudgetsTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kMost = std::size_t{16} << 20;

  BudgetsTest()
      : server_({.io_threads = 1, .bodies_bytes_max = kMost, .responses_bytes_max = kMost},
                metrics_) {
    // Nothing that these wait for comes by a connection's own clock.
    ConnectionTimes times;
    times.head = times.body = times.body_grace = std::chrono::hours(1);
    server_.start(holding_, holding_, times);
  }
  ~BudgetsTest() override {
    holding_.release();
    clients_.clear();
    server_.stop(1);
  }

  /// A new connection.
  asio::ip::tcp::socket& client() {
    const std::string address = server_.address();
    const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    clients_.emplace_back(io_);
    clients_.back().connect({asio::ip::address_v4::loopback(), port});
    return clients_.back();
  }
  /// Sends a POST that announces `announced` bytes and has `body`.
  asio::ip::tcp::socket& send(const std::string& target, const std::string& body,
                              std::size_t announced) {
    asio::ip::tcp::socket& socket = client();
    asio::write(socket, asio::buffer(cat("POST ", target, " HTTP/1.1\r\nHost: localhost\r\n",
                                         "Content-Length: ", announced, "\r\n\r\n", body)));
    return socket;
  }
  asio::ip::tcp::socket& send(const std::string& target) { return send(target, "{}", 2); }

  /// The status of the next response.
  static std::string status(asio::ip::tcp::socket& socket) {
    std::string head;
    asio::read_until(socket, asio::dynamic_buffer(head), "\r\n");
    return head.substr(9, 3);
  }

  HttpMetrics metrics_;
  Holding holding_;
  Server server_;
  asio::io_context io_;
  std::deque<asio::ip::tcp::socket> clients_;
};

TEST_F(BudgetsTest, WhatIsAnnouncedCostsNothing) {
  for (int i = 0; i < 8; ++i) send("/work", "", std::size_t{8} << 20);
  EXPECT_EQ(status(send("/work")), "200");
  const std::string large(std::size_t{4} << 20, ' ');
  EXPECT_EQ(status(send("/work", large, large.size())), "200");
}

TEST_F(BudgetsTest, ResponsesThatNobodyReadsLeaveRoomForSmallOnes) {
  // Far more than what the system holds of a connection.
  const std::string large = cat("/work?", kMost);
  asio::ip::tcp::socket& slow = send(large);
  EXPECT_EQ(status(slow), "200");
  EXPECT_EQ(status(send(large)), "503");
  EXPECT_EQ(status(send("/work?60000")), "200");
}

TEST_F(BudgetsTest, TextsWaitForEachOtherAlone) {
  std::vector<asio::ip::tcp::socket*> held;
  for (int i = 0; i < 16; ++i) held.push_back(&send("/text"));
  holding_.wait_until_held();
  // Not before all of them were counted: what is read after them is.
  while (holding_.admitted() < 16) std::this_thread::yield();
  EXPECT_EQ(status(send("/text")), "429");
  asio::ip::tcp::socket& packed = client();
  asio::write(packed, asio::buffer(cat("POST /text HTTP/1.1\r\nHost: localhost\r\n",
                                       "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}")));
  EXPECT_EQ(status(packed), "429") << "it needs its place to be decompressed";
  const std::string large(5000, ' ');
  EXPECT_EQ(status(send("/work", large, large.size())), "200") << "a worker's, but of another kind";
  holding_.release();
  for (asio::ip::tcp::socket* socket : held) EXPECT_EQ(status(*socket), "200");
}

TEST_F(BudgetsTest, StatesWaitForNoOtherRequest) {
  std::vector<asio::ip::tcp::socket*> held;
  for (int i = 0; i < 8; ++i) held.push_back(&send("/held"));
  for (int i = 0; i < 8; ++i) held.push_back(&send("/text"));
  holding_.wait_until_held();
  while (holding_.admitted() < 16) std::this_thread::yield();
  EXPECT_EQ(status(send("/state")), "200");
  holding_.release();
  for (asio::ip::tcp::socket* socket : held) EXPECT_EQ(status(*socket), "200");
}

TEST_F(BudgetsTest, AHandlerLearnsThatItsClientLeft) {
  send("/left").close();
  EXPECT_EQ(holding_.ended_status(), kClientLeft);
}

TEST_F(BudgetsTest, AStopSaysWhetherSomethingWasCutOff) {
  asio::ip::tcp::socket& slow = send(cat("/work?", kMost));
  EXPECT_EQ(status(slow), "200");
  EXPECT_FALSE(server_.stop(0.05));
  EXPECT_EQ(holding_.ended(), 1);
}

TEST_F(BudgetsTest, AStopWaitsForAnswersAndNotForRequestsThatDoNotCome) {
  asio::write(client(), asio::buffer(std::string("POST /work HTTP/1.1\r\nHost")));
  send("/work", "", 100);
  asio::ip::tcp::socket& answered = send("/text");
  holding_.wait_until_held();
  std::thread later([&] {
    holding_.release();
    EXPECT_EQ(status(answered), "200");
    answered.close();
  });
  EXPECT_TRUE(server_.stop(0.05, 60));
  later.join();
}

TEST_F(BudgetsTest, NothingOfARequestOutlivesAStop) {
  for (int i = 0; i < 8; ++i) send("/text");
  holding_.wait_until_held();
  while (holding_.admitted() < 8) std::this_thread::yield();
  std::thread later([this] { holding_.release(); });
  server_.stop(0);
  EXPECT_EQ(holding_.ended(), holding_.admitted());
  later.join();
}

}  // namespace
}  // namespace ingot
