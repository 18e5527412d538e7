// HttpClient: sends requests to one server over persistent connections.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/client/client_socket.h"
#include "bench/client/server_url.h"

namespace ingot {

/// Settings shared by all requests to a server.
struct HttpClientOptions {
  ServerUrl url;
  bool verify = true;  ///< whether to verify the certificate of a server with TLS
  std::string api_key{};
  std::string user_agent{};
  double timeout_seconds = 600;  ///< time limit of a request, from connecting to the response's end
};

/// Receives the parts of a response.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  /// Receives the response's head. `is_event_stream`: whether the body is an event stream.
  virtual void head(int status, bool is_event_stream) = 0;
  /// Receives the next part of the body. Returns false to stop reading.
  [[nodiscard]] virtual bool body(std::string_view bytes) = 0;
};

/// Sends requests to one server. All calls must come from the thread of the client's executor.
class HttpClient {
 public:
  template <class T>
  using Awaitable = boost::asio::awaitable<T>;

  HttpClient(boost::asio::any_io_executor executor, HttpClientOptions options);

  /// Resolves the server's address and connects; the first request uses this connection.
  ///
  /// Errors: Error{kUnavailable} if the connection fails.
  Awaitable<void> open();
  /// Sends a request and passes the response to `sink`. `body` is JSON, or empty for no body.
  /// Returns an error in one line; empty if there is none. If a reused connection ends before the
  /// response's first byte, sends the request once more on a new connection. Usually the server
  /// closed the old connection before the request arrived (RFC 9112, 9.3.1). Otherwise the server
  /// may compute the request twice. This does no harm here.
  Awaitable<std::string> exchange(std::string_view method, std::string_view path,
                                  std::string_view body, ResponseSink& sink);
  /// Returns the number of requests that were sent again on a new connection.
  std::int64_t reconnects() const { return reconnects_; }

 private:
  struct Watch;

  static std::shared_ptr<Watch> begin_watch(ClientSocket& socket,
                                            boost::asio::steady_timer& deadline);
  Awaitable<std::vector<StreamEndpoint>> resolve();
  Awaitable<std::string> converse(std::unique_ptr<ClientSocket>& socket, bool is_connected,
                                  const std::string& request, ResponseSink& sink, bool& is_silent);
  Awaitable<std::string> read_response(ClientSocket& socket, ResponseSink& sink, bool& keep,
                                       bool& is_silent);
  std::unique_ptr<ClientSocket> make_socket();
  std::unique_ptr<ClientSocket> take_idle();
  std::string request_text(std::string_view method, std::string_view path,
                           std::string_view body) const;

  boost::asio::any_io_executor executor_;
  HttpClientOptions options_;
  std::unique_ptr<boost::asio::ssl::context> tls_;
  StreamEndpoint endpoint_;
  std::vector<std::unique_ptr<ClientSocket>> idle_;
  std::int64_t reconnects_ = 0;
};

}  // namespace ingot
