// Socket: reads and writes with and without TLS, and closes sockets that stall.
#include "server/http/socket.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace ingot {

namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::redirect_error;
using asio::use_awaitable;
using boost::system::error_code;
using SocketClock = std::chrono::steady_clock;

/// Bytes of one timed write: each gets `ConnectionTimes::write_stall`.
constexpr std::size_t kTimedBytes = 16 << 10;

/// Bytes of a thread's read buffer, which its connections share, so that idle ones hold none.
constexpr std::size_t kReadBytes = 16 << 10;
thread_local std::array<char, kReadBytes> scratch;

asio::mutable_buffer scratch_buffer(std::size_t most) {
  return asio::buffer(scratch.data(), std::min(most, scratch.size()));
}

/// Whether the client has closed its side; some of its bytes may still be unread.
bool is_gone(int fd) {
  pollfd state{.fd = fd, .events = POLLRDHUP, .revents = 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

class PlainSocket final : public Socket {
 public:
  explicit PlainSocket(StreamSocket socket)
      : Socket(socket.get_executor()), socket_(std::move(socket)) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
  }

  awaitable<bool> read(std::string& bytes, std::size_t most) override {
    error_code error;
    for (;;) {
      co_await socket_.async_wait(StreamSocket::wait_read, redirect_error(use_awaitable, error));
      if (error) co_return false;
      const std::size_t count = socket_.read_some(scratch_buffer(most), error);
      bytes.append(scratch.data(), count);
      if (count > 0) co_return true;
      if (error && error != asio::error::would_block && error != asio::error::interrupted) {
        co_return false;
      }
    }
  }

  bool has_left() override { return is_gone(socket_.native_handle()); }

  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  awaitable<bool> handshake() override { co_return true; }

  std::size_t write_now(std::string_view bytes) override {
    error_code ignored;
    return socket_.write_some(asio::buffer(bytes), ignored);
  }

  awaitable<bool> write(std::string_view bytes) override {
    error_code error;
    co_await asio::async_write(socket_, asio::buffer(bytes), redirect_error(use_awaitable, error));
    co_return !error;
  }

  awaitable<void> shut_down() override {
    error_code ignored;
    socket_.shutdown(StreamSocket::shutdown_send, ignored);
    co_return;
  }

  StreamSocket socket_;
};

class TlsSocket final : public Socket {
 public:
  TlsSocket(StreamSocket socket, asio::ssl::context& context)
      : Socket(socket.get_executor()), stream_(std::move(socket), context) {}

  awaitable<bool> read(std::string& bytes, std::size_t most) override {
    error_code error;
    // A buffer per socket: OpenSSL writes into it while other connections use the thread's buffer.
    buffer_.resize(std::min<std::size_t>(most, kTlsReadBytes));
    const std::size_t count = co_await stream_.async_read_some(
        asio::buffer(buffer_), redirect_error(use_awaitable, error));
    bytes.append(buffer_.data(), count);
    co_return !error && count > 0;
  }

  bool has_left() override { return is_gone(stream_.lowest_layer().native_handle()); }

  void close() override {
    error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

 private:
  awaitable<bool> handshake() override {
    error_code error;
    co_await stream_.async_handshake(asio::ssl::stream_base::server,
                                     redirect_error(use_awaitable, error));
    co_return !error;
  }

  std::size_t write_now(std::string_view) override { return 0; }

  awaitable<bool> write(std::string_view bytes) override {
    error_code error;
    co_await asio::async_write(stream_, asio::buffer(bytes), redirect_error(use_awaitable, error));
    co_return !error;
  }

  awaitable<void> shut_down() override {
    error_code ignored;
    co_await stream_.async_shutdown(redirect_error(use_awaitable, ignored));
  }

  static constexpr std::size_t kTlsReadBytes = 4 << 10;
  asio::ssl::stream<StreamSocket> stream_;
  std::string buffer_;
};

}  // namespace

/// Closes the socket at `time` unless `stall_` is cancelled before.
void Socket::close_at(SocketClock::time_point time) {
  stall_.expires_at(time);
  stall_.async_wait([self = shared_from_this()](error_code error) {
    if (!error) self->close();
  });
}

awaitable<bool> Socket::begin(const ConnectionTimes& times) {
  close_at(SocketClock::now() + times.head);
  const bool has_begun = co_await handshake();
  stall_.cancel();
  co_return has_begun;
}

awaitable<bool> Socket::send(std::string_view bytes, const ConnectionTimes& times) {
  bytes.remove_prefix(write_now(bytes));
  const auto at_least = std::chrono::milliseconds(
      static_cast<std::int64_t>(bytes.size() * 1000 / times.sent_bytes_per_second));
  const auto all_by = SocketClock::now() + times.write_stall + at_least;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kTimedBytes);
    close_at(std::min(SocketClock::now() + times.write_stall, all_by));
    const bool sent = co_await write(part);
    stall_.cancel();
    if (!sent) co_return false;
    bytes.remove_prefix(part.size());
  }
  co_return true;
}

/// TLS waits for the client's reply, which may never come.
awaitable<void> Socket::end_writing(const ConnectionTimes& times) {
  close_at(SocketClock::now() + times.linger);
  co_await shut_down();
  stall_.cancel();
}

std::shared_ptr<Socket> plain_socket(StreamSocket socket) {
  return std::make_shared<PlainSocket>(std::move(socket));
}

std::shared_ptr<Socket> tls_socket(StreamSocket socket, asio::ssl::context& context) {
  return std::make_shared<TlsSocket>(std::move(socket), context);
}

}  // namespace ingot
