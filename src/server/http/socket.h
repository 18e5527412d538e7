// Socket: a connected socket, plain or TLS, with timeouts for its writes.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/connection_times.h"

namespace boost::asio::ssl {
class context;
}

namespace ingot {

using StreamSocket = boost::asio::generic::stream_protocol::socket;

/// A connected socket. Call its functions from its executor's thread. One read and one write may be
/// under way at once.
class Socket : public std::enable_shared_from_this<Socket> {
 public:
  explicit Socket(const boost::asio::any_io_executor& executor) : stall_(executor) {}
  virtual ~Socket() = default;

  /// Completes the TLS handshake within `times.head`; false if the handshake fails.
  boost::asio::awaitable<bool> begin(const ConnectionTimes& times);
  /// Waits for input and appends up to `most` bytes to `bytes`. False if input ended or failed.
  virtual boost::asio::awaitable<bool> read(std::string& bytes, std::size_t most) = 0;
  /// Sends all bytes; false if that fails. Closes the socket if the client takes bytes too slowly.
  boost::asio::awaitable<bool> send(std::string_view bytes, const ConnectionTimes& times);
  /// Tells the client that no more bytes follow. The client's bytes can still be read.
  boost::asio::awaitable<void> end_writing(const ConnectionTimes& times);
  /// Whether the client closed or reset the connection, even if some of its bytes are unread.
  virtual bool has_left() = 0;
  /// Closes the socket. Reads and writes under way fail.
  virtual void close() = 0;

 private:
  virtual boost::asio::awaitable<bool> handshake() = 0;
  /// Sends as many bytes as the system takes without waiting; returns their number.
  virtual std::size_t write_now(std::string_view bytes) = 0;
  /// Sends all bytes; false if that fails.
  virtual boost::asio::awaitable<bool> write(std::string_view bytes) = 0;
  virtual boost::asio::awaitable<void> shut_down() = 0;
  void close_at(std::chrono::steady_clock::time_point time);

  boost::asio::steady_timer stall_;
};

/// Makes a socket without TLS.
std::shared_ptr<Socket> plain_socket(StreamSocket socket);
/// Makes the server's side of a TLS connection; `context` must outlive the socket.
std::shared_ptr<Socket> tls_socket(StreamSocket socket, boost::asio::ssl::context& context);

}  // namespace ingot
