// A connected socket, plain or with TLS.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace boost::asio::ssl {
class context;
}

namespace ingot {

using StreamSocket = boost::asio::generic::stream_protocol::socket;

/// One end of a connection. Its functions are called from the thread of its executor; one read and
/// one write may be under way at once.
class Socket {
 public:
  virtual ~Socket() = default;
  /// What the handshake needs before the first byte; false when it failed.
  virtual boost::asio::awaitable<bool> begin() = 0;
  /// Appends what arrived, at least a byte and at most `most`; false at the end and on errors.
  virtual boost::asio::awaitable<bool> read(std::string& bytes, std::size_t most) = 0;
  /// Sends what goes out without waiting; returns how many bytes.
  virtual std::size_t write_now(std::string_view bytes) = 0;
  /// Sends all of it; false where that fails.
  virtual boost::asio::awaitable<bool> write(std::string_view bytes) = 0;
  /// Says that nothing more is sent; what the other end sends can still be read.
  virtual boost::asio::awaitable<void> end_writing() = 0;
  /// Whether the other end closed, or reset, though not all that it sent was read.
  virtual bool has_left() = 0;
  /// Ends everything that is under way.
  virtual void close() = 0;
};

/// A socket without TLS.
std::unique_ptr<Socket> plain_socket(StreamSocket socket);
/// The server's side of TLS; the context outlives it.
std::unique_ptr<Socket> tls_socket(StreamSocket socket, boost::asio::ssl::context& context);

}  // namespace ingot
