// ClientSocket: a connection to a server, plain or with TLS.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <string>
#include <string_view>

namespace boost::asio::ssl {
class context;
}

namespace ingot {

/// The address of the TCP port or Unix socket to which a client connects.
using StreamEndpoint = boost::asio::generic::stream_protocol::endpoint;

/// A connection to a server. All calls must come from the thread of the socket's executor. `close`
/// ends pending operations with an error.
class ClientSocket {
 public:
  using Result = boost::asio::awaitable<boost::system::error_code>;

  virtual ~ClientSocket() = default;
  /// Connects, and completes the TLS handshake if the socket uses TLS.
  virtual Result connect(const StreamEndpoint& endpoint) = 0;
  /// Waits for at least one byte, and appends the received bytes to `bytes`.
  virtual Result read(std::string& bytes) = 0;
  /// Sends all of `bytes`.
  virtual Result write(std::string_view bytes) = 0;
  /// Returns whether the connection is open and has received no stray byte and no end of stream.
  virtual bool is_idle() = 0;
  virtual void close() = 0;
};

/// Makes a socket without TLS.
std::unique_ptr<ClientSocket> plain_client_socket(const boost::asio::any_io_executor& executor);

/// Makes a TLS socket. If `context` verifies servers, the server's certificate must be for `name`.
std::unique_ptr<ClientSocket> tls_client_socket(const boost::asio::any_io_executor& executor,
                                                boost::asio::ssl::context& context,
                                                const std::string& name);

/// Makes the shared settings of TLS connections. Without `verify` they accept any certificate.
///
/// Errors: Error{kUnavailable} if the system's certificates cannot be read.
std::unique_ptr<boost::asio::ssl::context> client_tls_context(bool verify);

}  // namespace ingot
