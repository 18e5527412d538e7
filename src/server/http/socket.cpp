// Sockets.
#include "server/http/socket.h"

#include <poll.h>

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

/// What one thread reads into at once: connections that wait hold no buffer.
constexpr std::size_t kReadBytes = 16 << 10;
thread_local std::array<char, kReadBytes> scratch;

asio::mutable_buffer scratch_buffer(std::size_t most) {
  return asio::buffer(scratch.data(), std::min(most, scratch.size()));
}

/// Whether the other end sends no more, whatever of it is still to be read.
bool is_gone(int fd) {
  pollfd state{.fd = fd, .events = POLLRDHUP, .revents = 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

class PlainSocket final : public Socket {
 public:
  explicit PlainSocket(StreamSocket socket) : socket_(std::move(socket)) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
  }

  awaitable<bool> begin() override { co_return true; }

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

  std::size_t write_now(std::string_view bytes) override {
    error_code ignored;
    return socket_.write_some(asio::buffer(bytes), ignored);
  }

  awaitable<bool> write(std::string_view bytes) override {
    error_code error;
    co_await asio::async_write(socket_, asio::buffer(bytes), redirect_error(use_awaitable, error));
    co_return !error;
  }

  awaitable<void> end_writing() override {
    error_code ignored;
    socket_.shutdown(StreamSocket::shutdown_send, ignored);
    co_return;
  }

  bool has_left() override { return is_gone(socket_.native_handle()); }

  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  StreamSocket socket_;
};

class TlsSocket final : public Socket {
 public:
  TlsSocket(StreamSocket socket, asio::ssl::context& context)
      : stream_(std::move(socket), context) {}

  awaitable<bool> begin() override {
    error_code error;
    co_await stream_.async_handshake(asio::ssl::stream_base::server,
                                     redirect_error(use_awaitable, error));
    co_return !error;
  }

  awaitable<bool> read(std::string& bytes, std::size_t most) override {
    error_code error;
    // Kept by the socket: OpenSSL writes into it while other connections use the thread.
    buffer_.resize(std::min<std::size_t>(most, kTlsReadBytes));
    const std::size_t count = co_await stream_.async_read_some(
        asio::buffer(buffer_), redirect_error(use_awaitable, error));
    bytes.append(buffer_.data(), count);
    co_return !error && count > 0;
  }

  std::size_t write_now(std::string_view) override { return 0; }

  awaitable<bool> write(std::string_view bytes) override {
    error_code error;
    co_await asio::async_write(stream_, asio::buffer(bytes), redirect_error(use_awaitable, error));
    co_return !error;
  }

  awaitable<void> end_writing() override {
    error_code ignored;
    co_await stream_.async_shutdown(redirect_error(use_awaitable, ignored));
  }

  bool has_left() override { return is_gone(stream_.lowest_layer().native_handle()); }

  void close() override {
    error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

 private:
  static constexpr std::size_t kTlsReadBytes = 4 << 10;
  asio::ssl::stream<StreamSocket> stream_;
  std::string buffer_;
};

}  // namespace

std::unique_ptr<Socket> plain_socket(StreamSocket socket) {
  return std::make_unique<PlainSocket>(std::move(socket));
}

std::unique_ptr<Socket> tls_socket(StreamSocket socket, asio::ssl::context& context) {
  return std::make_unique<TlsSocket>(std::move(socket), context);
}

}  // namespace ingot
