// HttpClient: one request at a time on each connection. Awaited calls take no temporaries: GCC 12
// destroys aggregate temporaries twice.
#include "bench/client/http_client.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "bench/client/http_response.h"

namespace ingot {

namespace asio = boost::asio;
using asio::use_awaitable;
using boost::system::error_code;

namespace {

asio::steady_timer::duration seconds(double value) {
  return std::chrono::duration_cast<asio::steady_timer::duration>(
      std::chrono::duration<double>(value));
}

std::string where(const ServerUrl& url) {
  return printable(url.unix_path.empty() ? url.host_field() : url.unix_path, 256);
}

/// Whether the server ended the connection; with TLS, also without a close notice.
bool is_end(const error_code& error) {
  return error == asio::error::eof || error == asio::ssl::error::stream_truncated;
}

}  // namespace

/// Closes a socket at the timeout; has no effect after the exchange has ended.
struct HttpClient::Watch {
  ClientSocket* socket = nullptr;
  bool is_late = false;
};

HttpClient::HttpClient(asio::any_io_executor executor, HttpClientOptions options)
    : executor_(std::move(executor)), options_(std::move(options)) {
  if (options_.url.is_tls) tls_ = client_tls_context(options_.verify);
}

std::unique_ptr<ClientSocket> HttpClient::make_socket() {
  return tls_ ? tls_client_socket(executor_, *tls_, options_.url.host)
              : plain_client_socket(executor_);
}

std::unique_ptr<ClientSocket> HttpClient::take_idle() {
  while (!idle_.empty()) {
    auto socket = std::move(idle_.back());
    idle_.pop_back();
    if (socket->is_idle()) return socket;
  }
  return nullptr;
}

std::shared_ptr<HttpClient::Watch> HttpClient::begin_watch(ClientSocket& socket,
                                                           asio::steady_timer& deadline) {
  auto watch = std::make_shared<Watch>();
  watch->socket = &socket;
  deadline.async_wait([watch](error_code error) {
    if (error || watch->socket == nullptr) return;
    watch->is_late = true;
    watch->socket->close();
  });
  return watch;
}

HttpClient::Awaitable<std::vector<StreamEndpoint>> HttpClient::resolve() {
  std::vector<StreamEndpoint> found;
  if (!options_.url.unix_path.empty()) {
    found.emplace_back(asio::local::stream_protocol::endpoint(options_.url.unix_path));
    co_return found;
  }
  asio::ip::tcp::resolver resolver(executor_);
  error_code error;
  const auto entries = co_await resolver.async_resolve(options_.url.host, options_.url.port,
                                                       asio::redirect_error(use_awaitable, error));
  if (error) {
    throw Error(ErrorCode::kUnavailable,
                cat("cannot find ", where(options_.url), ": ", printable(error.message())));
  }
  for (const auto& entry : entries) found.emplace_back(entry.endpoint());
  co_return found;
}

HttpClient::Awaitable<void> HttpClient::open() {
  const std::vector<StreamEndpoint> endpoints = co_await resolve();
  error_code error;
  for (const StreamEndpoint& endpoint : endpoints) {
    auto socket = make_socket();
    asio::steady_timer deadline(executor_, seconds(options_.timeout_seconds));
    const auto watch = begin_watch(*socket, deadline);
    error = co_await socket->connect(endpoint);
    watch->socket = nullptr;
    if (watch->is_late) error = asio::error::timed_out;
    if (error) continue;
    endpoint_ = endpoint;
    idle_.push_back(std::move(socket));
    co_return;
  }
  throw Error(ErrorCode::kUnavailable,
              cat("cannot connect to ", where(options_.url), ": ", printable(error.message())));
}

std::string HttpClient::request_text(std::string_view method, std::string_view path,
                                     std::string_view body) const {
  std::string text =
      cat(method, " ", options_.url.prefix, path, " HTTP/1.1\r\nHost: ", options_.url.host_field(),
          "\r\nUser-Agent: ", options_.user_agent,
          "\r\nAccept: text/event-stream, application/json\r\n");
  if (!options_.api_key.empty()) text += cat("Authorization: Bearer ", options_.api_key, "\r\n");
  if (!body.empty()) {
    text += cat("Content-Type: application/json\r\nContent-Length: ", body.size(), "\r\n");
  }
  text += "\r\n";
  text += body;
  return text;
}

HttpClient::Awaitable<std::string> HttpClient::exchange(std::string_view method,
                                                        std::string_view path,
                                                        std::string_view body, ResponseSink& sink) {
  auto socket = take_idle();
  const bool is_connected = socket != nullptr;
  if (!socket) socket = make_socket();
  asio::steady_timer deadline(executor_, seconds(options_.timeout_seconds));
  const auto watch = begin_watch(*socket, deadline);
  const std::string request = request_text(method, path, body);
  bool is_silent = false;
  std::string problem = co_await converse(socket, is_connected, request, sink, is_silent);
  if (is_connected && is_silent && !watch->is_late) {
    ++reconnects_;
    socket = make_socket();
    watch->socket = socket.get();
    problem = co_await converse(socket, false, request, sink, is_silent);
  }
  watch->socket = nullptr;
  if (watch->is_late) problem = cat("no end within ", options_.timeout_seconds, " s");
  co_return problem;
}

HttpClient::Awaitable<std::string> HttpClient::converse(std::unique_ptr<ClientSocket>& socket,
                                                        bool is_connected,
                                                        const std::string& request,
                                                        ResponseSink& sink, bool& is_silent) {
  error_code error;
  if (!is_connected) error = co_await socket->connect(endpoint_);
  if (error) co_return cat("cannot connect: ", printable(error.message()));
  // A server that refuses a request may answer before it has read it.
  const error_code write_error = co_await socket->write(request);
  bool keep = false;
  std::string problem = co_await read_response(*socket, sink, keep, is_silent);
  if (!problem.empty() && write_error) {
    problem = cat("cannot send: ", printable(write_error.message()));
  }
  if (keep && !write_error) idle_.push_back(std::move(socket));
  co_return problem;
}

HttpClient::Awaitable<std::string> HttpClient::read_response(ClientSocket& socket,
                                                             ResponseSink& sink, bool& keep,
                                                             bool& is_silent) {
  HttpResponseReader reader;
  std::string bytes;
  bool has_head = false;
  error_code error;
  is_silent = true;
  while (!reader.is_done() && reader.problem().empty() && !error) {
    error = co_await socket.read(bytes);
    is_silent = is_silent && bytes.empty();
    bytes.erase(0, reader.read(bytes));
    if (is_end(error)) reader.end_of_connection();
    if (reader.has_head() && !std::exchange(has_head, true)) {
      sink.head(reader.status(), reader.is_event_stream());
    }
    const std::string body = reader.take_body();
    if (!body.empty() && !sink.body(body)) co_return std::string();
  }
  keep = !error && bytes.empty() && reader.keeps_alive();
  if (reader.is_done()) co_return std::string();
  co_return reader.problem().empty() ? printable(error.message()) : reader.problem();
}

}  // namespace ingot
