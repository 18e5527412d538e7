// Which thread handles a request: small ones the thread that reads them, while they are quick.
#include <gtest/gtest.h>
#include <time.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <mutex>
#include <string>
#include <thread>

#include "base/text.h"
#include "server/http/handling_pace.h"
#include "server/http/route.h"
#include "server/http/server.h"

namespace ingot {
namespace {

namespace asio = boost::asio;

constexpr Route kSlowRoute{.method = "POST", .path = "/work"};
constexpr Route kStateRoute{.method = "POST", .path = "/state", .kind = RouteKind::kQuick};

/// Needs more of this thread's time on a CPU than a quick request may.
void compute_long() {
  const auto used = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  const auto end = used() + 2 * HandlingPace::kLong;
  while (used() < end) {
  }
}

/// Remembers in which thread it handled the last request. A query asks for a long computation.
class Recorder : public Application {
 public:
  std::variant<Admitted, HttpResponse> admit(const HttpRequest& request, bool) override {
    return Admitted{.id = "1", .route = request.path == "/work" ? &kSlowRoute : &kStateRoute};
  }
  std::variant<HttpResponse, std::shared_ptr<RunningGeneration>> handle(const HttpRequest& request,
                                                                        const Admitted&,
                                                                        Notify) override {
    if (!request.query.empty()) compute_long();
    const std::lock_guard lock(mutex_);
    thread_ = std::this_thread::get_id();
    return HttpResponse{.body = "{}"};
  }
  HttpResponse refusal(const HttpRefusal& refusal, const HttpRequest*) override {
    return {.status = refusal.status, .body = "{}"};
  }
  ApiError generation_error(const Outcome&, const Admitted&) override {
    return {500, "server_error", "", ""};
  }
  void ended(const HttpRequest&, const Admitted&, const RequestEnd&) override {}
  HttpFields common_fields(const HttpRequest&, const Admitted*) override { return {}; }
  bool is_closing() const override { return false; }

  std::thread::id thread() {
    const std::lock_guard lock(mutex_);
    return thread_;
  }

 private:
  std::mutex mutex_;
  std::thread::id thread_;
};

/// A server with a thread that reads and one for what is not quick, and a connection to it.
class HandlingPlace : public ::testing::Test {
 protected:
  HandlingPlace() : server_({.io_threads = 1, .worker_threads = 1}, metrics_), socket_(io_) {
    server_.start(recorder_, recorder_, {});
    const std::string address = server_.address();
    const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    socket_.connect({asio::ip::address_v4::loopback(), port});
  }
  ~HandlingPlace() override {
    socket_.close();
    server_.stop(1);
  }

  /// The thread that handles a POST with a body of so many bytes.
  std::thread::id post(std::string_view target, std::size_t bytes = 2) {
    asio::write(socket_,
                asio::buffer(cat("POST ", target, " HTTP/1.1\r\nHost: localhost\r\n",
                                 "Content-Length: ", bytes, "\r\n\r\n", std::string(bytes, ' '))));
    std::string answer;
    const std::size_t head = asio::read_until(socket_, asio::dynamic_buffer(answer), "\r\n\r\n{}");
    EXPECT_EQ(head, answer.size());
    EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 200");
    return recorder_.thread();
  }

  HttpMetrics metrics_;
  Recorder recorder_;
  Server server_;
  asio::io_context io_;
  asio::ip::tcp::socket socket_;
};

TEST_F(HandlingPlace, SmallRequestsStayInTheThreadThatReadsThem) {
  const auto reads = post("/state");
  EXPECT_EQ(post("/work"), reads);
  EXPECT_NE(post("/work", 5000), reads);
  EXPECT_EQ(post("/work"), reads) << "a large one says nothing of small ones";
}

TEST_F(HandlingPlace, BehindASlowOneSmallRequestsGoElsewhere) {
  const auto reads = post("/state");
  EXPECT_EQ(post("/work?slow"), reads) << "nobody knew";
  EXPECT_NE(post("/work"), reads);
  EXPECT_EQ(post("/state"), reads);
}

TEST_F(HandlingPlace, ASlowLookAtTheStateSendsNobodyElsewhere) {
  const auto reads = post("/state?slow");
  EXPECT_EQ(post("/work"), reads);
}

}  // namespace
}  // namespace ingot
