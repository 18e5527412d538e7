// Socket: one end of a connection, plain or with TLS, whose writes have to finish in time.
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

/// A connected socket. Its functions are called from the thread of its executor; one read and one
/// write may be under way at once.
class Socket : public std::enable_shared_from_this<Socket> {
 public:
  explicit Socket(const boost::asio::any_io_executor& executor) : stall_(executor) {}
  virtual ~Socket() = default;

  /// Makes the handshake within `times.head`; false where it fails.
  boost::asio::awaitable<bool> begin(const ConnectionTimes& times);
  /// Appends what arrived, at least a byte and at most `most`; false at the end and on errors.
  virtual boost::asio::awaitable<bool> read(std::string& bytes, std::size_t most) = 0;
  /// Sends all bytes; false where that fails. A socket whose other end takes too little is closed.
  boost::asio::awaitable<bool> send(std::string_view bytes, const ConnectionTimes& times);
  /// Tells the other end that nothing more is sent; what it sends can still be read.
  boost::asio::awaitable<void> end_writing(const ConnectionTimes& times);
  /// Whether the other end closed, or reset, though not all that it sent was read.
  virtual bool has_left() = 0;
  /// Ends everything that is under way.
  virtual void close() = 0;

 private:
  virtual boost::asio::awaitable<bool> handshake() = 0;
  /// Sends what goes out without waiting; returns how many bytes.
  virtual std::size_t write_now(std::string_view bytes) = 0;
  /// Sends all of it; false where that fails.
  virtual boost::asio::awaitable<bool> write(std::string_view bytes) = 0;
  virtual boost::asio::awaitable<void> shut_down() = 0;
  void close_at(std::chrono::steady_clock::time_point time);

  boost::asio::steady_timer stall_;
};

/// A socket without TLS.
std::shared_ptr<Socket> plain_socket(StreamSocket socket);
/// The server's side of TLS; the context outlives it.
std::shared_ptr<Socket> tls_socket(StreamSocket socket, boost::asio::ssl::context& context);

}  // namespace ingot
