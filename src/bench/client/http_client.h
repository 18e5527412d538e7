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
  bool verify = true;  ///< check the certificate of a server with TLS
  std::string api_key{};
  std::string user_agent{};
  double timeout_seconds = 600;  ///< for one request, including connecting and the response
};

/// Receives a response.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  /// The head arrived.
  virtual void head(int status, bool is_event_stream) = 0;
  /// A part of the body arrived. Returns false to stop reading.
  [[nodiscard]] virtual bool body(std::string_view bytes) = 0;
};

/// The client of one server; all calls come from its executor's thread.
class HttpClient {
 public:
  template <class T>
  using Awaitable = boost::asio::awaitable<T>;

  HttpClient(boost::asio::any_io_executor executor, HttpClientOptions options);

  /// Resolves the server's address and connects; the first request uses this connection.
  ///
  /// Errors: Error{kUnavailable} when the connection fails.
  Awaitable<void> open();
  /// Sends a request, with a JSON body or none, and passes the response to `sink`. Returns an error
  /// in one line, or an empty text for a complete response. A request is retried once, on a new
  /// connection, when a reused connection ends without a byte: usually the server closed it while
  /// the request was on its way (RFC 9112, 9.3.1). A failed server looks alike; computing a request
  /// twice does no harm here.
  Awaitable<std::string> exchange(std::string_view method, std::string_view path,
                                  std::string_view body, ResponseSink& sink);
  /// The number of such retries.
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
