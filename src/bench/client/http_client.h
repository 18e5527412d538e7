// HttpClient: requests to one server, over connections that are kept between them.
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

/// What requests to a server have in common.
struct HttpClientOptions {
  ServerUrl url;
  bool verify = true;  ///< the certificate of a server with TLS
  std::string api_key{};
  std::string user_agent{};
  double timeout_seconds = 600;  ///< of a request, with its connection and its response
};

/// Who takes a response.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  /// The head came.
  virtual void head(int status, bool is_event_stream) = 0;
  /// Some of the body came. False where nothing more is of use.
  [[nodiscard]] virtual bool body(std::string_view bytes) = 0;
};

/// A server. In one thread, that of its executor.
class HttpClient {
 public:
  template <class T>
  using Awaitable = boost::asio::awaitable<T>;

  HttpClient(boost::asio::any_io_executor executor, HttpClientOptions options);

  /// Finds out where the server is, and connects; the connection is kept for the first request.
  ///
  /// Errors: Error{kUnavailable} when nobody is there.
  Awaitable<void> open();
  /// Sends a request without a body, or with one of JSON, and hands the response to `sink`. Returns
  /// why there was none or no whole one, on one line; empty where all went well. Tried again in one
  /// case: an open connection that is used again, or the one of `open`, ends without a byte. Mostly
  /// the server closed it while the request was under way to it (RFC 9112, 9.3.1); then it is sent
  /// once more, on a new one, though a server that failed looks the same. No request here does harm
  /// when it is computed twice.
  Awaitable<std::string> exchange(std::string_view method, std::string_view path,
                                  std::string_view body, ResponseSink& sink);
  /// How often that was the case.
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
