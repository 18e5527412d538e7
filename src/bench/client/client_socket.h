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

/// Where to connect to: TCP or a Unix socket.
using StreamEndpoint = boost::asio::generic::stream_protocol::endpoint;

/// A connection. All calls come from the thread of its executor; what is under way when it is
/// closed ends with an error.
class ClientSocket {
 public:
  using Result = boost::asio::awaitable<boost::system::error_code>;

  virtual ~ClientSocket() = default;
  /// Connects, and shakes hands where there is TLS.
  virtual Result connect(const StreamEndpoint& endpoint) = 0;
  /// Appends what arrived, at least a byte.
  virtual Result read(std::string& bytes) = 0;
  /// Sends all of it.
  virtual Result write(std::string_view bytes) = 0;
  /// Whether it is open and nothing came that nobody asked for, its end included.
  virtual bool is_idle() = 0;
  virtual void close() = 0;
};

/// Without TLS.
std::unique_ptr<ClientSocket> plain_client_socket(const boost::asio::any_io_executor& executor);

/// With TLS to a server of this name, which its certificate has to have where `context` verifies.
std::unique_ptr<ClientSocket> tls_client_socket(const boost::asio::any_io_executor& executor,
                                                boost::asio::ssl::context& context,
                                                const std::string& name);

/// What TLS connections share. Without `verify` any certificate will do.
///
/// Errors: Error{kUnavailable} where the system's certificates cannot be read.
std::unique_ptr<boost::asio::ssl::context> client_tls_context(bool verify);

}  // namespace ingot
