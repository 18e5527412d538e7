// Tests of LoadingPhase: responses before there is a model, and the change to the API.
#include "server/loading_phase.h"

#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <string>

#include "base/text.h"
#include "server/http/server.h"

namespace ingot {
namespace {

namespace asio = boost::asio;

/// Answers 200 to everything.
class Answering final : public LoadingHandler {
 public:
  std::variant<Admitted, HttpResponse> admit(const HttpRequest&, bool) override {
    return HttpResponse{.body = "{}"};
  }
};

class LoadingTest : public ::testing::Test {
 protected:
  ~LoadingTest() override { server_.stop(1); }

  /// A connection, on which nothing was sent.
  asio::ip::tcp::socket connection() {
    const std::string address = server_.address();
    const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    asio::ip::tcp::socket socket(io_);
    socket.connect({asio::ip::address_v4::loopback(), port});
    return socket;
  }
  static void send(asio::ip::tcp::socket& socket, std::string_view method, std::string_view path) {
    asio::write(socket,
                asio::buffer(cat(method, " ", path,
                                 " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")));
  }
  /// All that comes until the server closes.
  static std::string rest(asio::ip::tcp::socket& socket) {
    std::string all;
    boost::system::error_code end;
    asio::read(socket, asio::dynamic_buffer(all), end);
    return all;
  }
  std::string ask(std::string_view method, std::string_view path) {
    auto socket = connection();
    send(socket, method, path);
    return rest(socket);
  }

  HttpMetrics metrics_;
  LoadingHandler loading_;
  Answering answering_;
  Server server_{{.io_threads = 2, .worker_threads = 1}, metrics_};
  asio::io_context io_;
};

TEST_F(LoadingTest, TheProcessLivesAndHasNoModel) {
  server_.answer_until_paused(loading_, {});
  EXPECT_TRUE(ask("GET", "/livez").starts_with("HTTP/1.1 200 "));
  for (const std::string_view path : {"/health", "/readyz", "/v1/models", "/nothing"}) {
    const std::string answer = ask("GET", path);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
    EXPECT_NE(answer.find("\r\nRetry-After: 1\r\n"), std::string::npos) << answer;
    EXPECT_NE(answer.find(R"("code":"loading")"), std::string::npos) << answer;
  }
  EXPECT_NE(ask("POST", "/v1/messages").find(R"("type":"overloaded_error")"), std::string::npos);
}

TEST_F(LoadingTest, ErrorsOfAnthropicsPathsHaveTheRequestsId) {
  server_.answer_until_paused(loading_, {});
  auto malformed = connection();
  asio::write(malformed, asio::buffer(std::string("POST /v1/messages HTTP/1.1\r\nX\r\n\r\n")));
  for (const std::string& answer : {ask("POST", "/v1/messages/x"), rest(malformed)}) {
    const std::string name = "\r\nrequest-id: ";
    const std::size_t at = answer.find(name);
    ASSERT_NE(at, std::string::npos) << answer;
    const std::string id = answer.substr(at + name.size(), 32);
    EXPECT_NE(answer.find(cat(R"("request_id":")", id, R"("})")), std::string::npos) << answer;
    EXPECT_NE(answer.find(R"({"type":"error","error":{)"), std::string::npos) << answer;
  }
}

TEST_F(LoadingTest, OtherThreadsGoOnWhereItEnded) {
  server_.answer_until_paused(loading_, {});
  auto idle = connection();
  EXPECT_TRUE(ask("GET", "/x").starts_with("HTTP/1.1 503 "));
  server_.pause();
  EXPECT_EQ(rest(idle), "") << "it was closed";
  auto early = connection();
  send(early, "GET", "/x");
  server_.start(answering_, answering_, {});
  EXPECT_TRUE(rest(early).starts_with("HTTP/1.1 200 ")) << "it waited for them";
  EXPECT_TRUE(ask("GET", "/x").starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(server_.stop(1));
}

TEST_F(LoadingTest, WhatNeverBeganEnds) {
  server_.answer_until_paused(loading_, {});
  server_.pause();
  server_.pause();
  EXPECT_TRUE(server_.stop(0));
}

}  // namespace
}  // namespace ingot
