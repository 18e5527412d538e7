// Client sockets by Asio. Awaited calls take no temporaries: GCC 12 destroys aggregate temporaries
// twice.
#include "bench/client/client_socket.h"

#include <openssl/ssl.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

namespace asio = boost::asio;
using asio::redirect_error;
using asio::use_awaitable;
using boost::system::error_code;
using StreamSocket = asio::generic::stream_protocol::socket;

constexpr std::size_t kReadBytes = 16 << 10;

void send_at_once(StreamSocket& socket) {
  error_code ignored;  // a Unix socket does not have this option, nor need it
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
}

bool is_quiet(StreamSocket& socket) {
  char byte = 0;
  const auto count = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

class PlainSocket final : public ClientSocket {
 public:
  explicit PlainSocket(const asio::any_io_executor& executor) : socket_(executor) {}

  Result connect(const StreamEndpoint& endpoint) override {
    error_code error;
    co_await socket_.async_connect(endpoint, redirect_error(use_awaitable, error));
    if (!error) send_at_once(socket_);
    co_return error;
  }

  Result read(std::string& bytes) override {
    error_code error;
    const std::size_t count = co_await socket_.async_read_some(
        asio::buffer(buffer_), redirect_error(use_awaitable, error));
    bytes.append(buffer_.data(), count);
    co_return error;
  }

  Result write(std::string_view bytes) override {
    error_code error;
    co_await asio::async_write(socket_, asio::buffer(bytes), redirect_error(use_awaitable, error));
    co_return error;
  }

  bool is_idle() override { return socket_.is_open() && is_quiet(socket_); }

  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  StreamSocket socket_;
  std::array<char, kReadBytes> buffer_{};
};

class TlsSocket final : public ClientSocket {
 public:
  TlsSocket(const asio::any_io_executor& executor, asio::ssl::context& context,
            const std::string& name)
      : stream_(executor, context) {
    error_code ignored;
    stream_.set_verify_callback(asio::ssl::host_name_verification(name), ignored);
    asio::ip::make_address(name, ignored);
    // The TLS extension for the server's name (SNI) must not hold an address.
    if (ignored) SSL_set_tlsext_host_name(stream_.native_handle(), name.c_str());
  }

  Result connect(const StreamEndpoint& endpoint) override {
    error_code error;
    co_await stream_.lowest_layer().async_connect(endpoint, redirect_error(use_awaitable, error));
    if (error) co_return error;
    send_at_once(stream_.next_layer());
    co_await stream_.async_handshake(asio::ssl::stream_base::client,
                                     redirect_error(use_awaitable, error));
    co_return error;
  }

  Result read(std::string& bytes) override {
    error_code error;
    const std::size_t count = co_await stream_.async_read_some(
        asio::buffer(buffer_), redirect_error(use_awaitable, error));
    bytes.append(buffer_.data(), count);
    co_return error;
  }

  Result write(std::string_view bytes) override {
    error_code error;
    co_await asio::async_write(stream_, asio::buffer(bytes), redirect_error(use_awaitable, error));
    co_return error;
  }

  bool is_idle() override {
    return stream_.next_layer().is_open() && SSL_pending(stream_.native_handle()) == 0 &&
           is_quiet(stream_.next_layer());
  }

  void close() override {
    error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

 private:
  asio::ssl::stream<StreamSocket> stream_;
  std::array<char, kReadBytes> buffer_{};
};

}  // namespace

std::unique_ptr<ClientSocket> plain_client_socket(const asio::any_io_executor& executor) {
  return std::make_unique<PlainSocket>(executor);
}

std::unique_ptr<ClientSocket> tls_client_socket(const asio::any_io_executor& executor,
                                                asio::ssl::context& context,
                                                const std::string& name) {
  return std::make_unique<TlsSocket>(executor, context, name);
}

std::unique_ptr<asio::ssl::context> client_tls_context(bool verify) {
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  error_code error;
  context->set_verify_mode(verify ? asio::ssl::verify_peer : asio::ssl::verify_none, error);
  if (verify && !error) context->set_default_verify_paths(error);
  if (error) {
    throw Error(ErrorCode::kUnavailable, cat("certificates: ", printable(error.message())));
  }
  return context;
}

}  // namespace ingot
