// Server: accepts connections, distributes them over a few threads, starts and stops them.
#include "server/http/server.h"

#include <netinet/tcp.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <semaphore>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "server/http/connection.h"
#include "server/http/connection_places.h"
#include "server/http/io_thread.h"
#include "server/http/listener.h"

namespace ingot {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Place = ConnectionPlaces::Place;

namespace {

/// Share of the connections (a quarter), or 16, that one remote address may have, so that a single
/// client cannot take all. A proxy on another machine needs --connections of four times its own
/// connections.
constexpr std::int64_t kAddressPart = 4;
constexpr std::int64_t kAddressMin = 16;

/// Seconds that a stop waits for connections to end after it has closed them.
constexpr double kCloseSeconds = 1;
/// Seconds that `pause` waits for connections to get their response.
constexpr double kAnswerSeconds = 0.2;
/// Pause after accepting has failed: most likely the process has no descriptor left.
constexpr auto kRest = std::chrono::milliseconds(50);
/// Timeout of a probe's head on a reserved connection.
constexpr auto kProbeTime = std::chrono::milliseconds(1000);

/// The response to a connection beyond the limit; its request is not read.
constexpr std::string_view kTooMany =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n"
    "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n";

/// Maximum bytes of a connection that the system may hold unsent.
constexpr int kNotSentBytes = 128 << 10;

std::unique_ptr<asio::ssl::context> tls_context(const ServerOptions& options) {
  if (options.tls_cert.empty()) return nullptr;
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  context->set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1 |
                       asio::ssl::context::no_compression);
  SSL_CTX_set_mode(context->native_handle(), SSL_MODE_RELEASE_BUFFERS);
  const auto check = [](const error_code& error, std::string_view option, const std::string& path) {
    if (!error) return;
    throw Error(ErrorCode::kInvalid, cat(option, " ", path, " cannot be used: ", error.message()));
  };
  error_code error;
  context->use_certificate_chain_file(options.tls_cert, error);
  check(error, "--tls-cert", options.tls_cert);
  context->use_private_key_file(options.tls_key, asio::ssl::context::pem, error);
  check(error, "--tls-key", options.tls_key);
  return context;
}

void tune(StreamSocket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  // The socket accepts bytes as soon as few are unsent, even if the system's buffer has grown.
  // Otherwise a slow client would seem to take nothing for a long time.
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kNotSentBytes,
               sizeof kNotSentBytes);
}

/// The parts for a probe's connection, which ends soon to free its place.
ConnectionParts reserved(ConnectionParts parts) {
  parts.is_reserved = true;
  parts.times.requests_max = 1;
  parts.times.head = std::min(parts.times.head, kProbeTime);
  parts.times.idle = std::min(parts.times.idle, kProbeTime);
  return parts;
}

}  // namespace

class Server::Impl {
 public:
  Impl(const ServerOptions& options, HttpMetrics& metrics)
      : options_(options),
        metrics_(metrics),
        tls_(tls_context(options)),
        budgets_{.bodies = Budget(options.bodies_bytes_max),
                 .responses = Budget(options.responses_bytes_max)},
        places_(options.connections_max, options.connections_reserved,
                std::max(kAddressMin, options.connections_max / kAddressPart)),
        threads_(to_size(std::max(1, options.io_threads))) {
    asio::io_context& context = threads_.front().context();
    listeners_ = listen_tcp(context, options_.host, static_cast<std::uint16_t>(options_.port));
    address_ = cat(tls_ ? "https://" : "http://", address_of(*listeners_.front()));
    if (!options_.unix_socket.empty()) {
      listeners_.push_back(listen_unix(context, options_.unix_socket));
    }
    if (!options_.admin_socket.empty()) admin_ = listen_unix(context, options_.admin_socket);
  }

  const std::string& address() const { return address_; }

  void answer_until_paused(RequestHandler& loading, const ConnectionTimes& times) {
    run(loading, loading, times, no_workers_);
  }

  void pause() {
    if (!is_running_) return;
    is_pausing_.store(true);
    for_each_listener([](Listener& listener) {
      error_code ignored;
      listener.acceptor.cancel(ignored);
    });
    for (; accepting_ > 0; --accepting_) ended_accepting_.acquire();
    // Connections that have sent a request get their response.
    places_.wait_until_none(kAnswerSeconds);
    for_each_connection([](Connection& c) { c.close(); });
    places_.wait_until_none(kCloseSeconds);
    for (IoThread& thread : threads_) thread.join();
    is_running_ = false;
    is_pausing_.store(false);
  }

  void start(RequestHandler& handler, RequestHandler& admin, const ConnectionTimes& times) {
    const auto requests = to_size(std::max(1, options_.worker_threads));
    const auto texts = to_size(std::max(1, options_.text_threads));
    // Created only now, since threads inherit the sandbox that the process has entered by now.
    workers_ = std::make_unique<Workers>(requests, texts, 1, 1);
    run(handler, admin, times, *workers_);
  }

  bool stop(double seconds, double answer_seconds) {
    if (!is_running_) return true;
    is_running_ = false;
    for_each_listener([](Listener& listener) {
      error_code ignored;
      listener.acceptor.close(ignored);
    });
    for_each_connection([](Connection& c) { c.close_when_idle(); });
    bool has_ended = places_.wait_until_none(seconds);
    if (!has_ended && answer_seconds > seconds) {
      for_each_connection([](Connection& c) { c.close_unless_answering(); });
      has_ended = places_.wait_until_none(answer_seconds - seconds);
    }
    const bool has_cut = budgets_.answering.load() > 0;
    if (!has_ended) {
      for_each_connection([](Connection& c) { c.close(); });
      // No connection waits any longer for requests that were not started.
      for (auto* pool : parts_->workers.all()) pool->stop();
      for (auto* pool : parts_->workers.all()) pool->join();
      places_.wait_until_none(kCloseSeconds);
    }
    for (IoThread& thread : threads_) thread.join();
    drop_all();
    return !has_cut;
  }

 private:
  /// Calls body(connection) for each, in its thread.
  void for_each_connection(void (*body)(Connection&)) {
    for (IoThread& thread : threads_) {
      asio::post(thread.context(), [&thread, body] { thread.for_each(body); });
    }
  }

  /// Calls body(listener) for each, in the first thread, where they live.
  void for_each_listener(void (*body)(Listener&)) {
    asio::post(threads_.front().context(), [this, body] {
      for (const auto& listener : listeners_) body(*listener);
      if (admin_) body(*admin_);
    });
  }

  void run(RequestHandler& handler, RequestHandler& admin, const ConnectionTimes& times,
           Workers& workers) {
    INGOT_CHECK(!is_running_, "the server runs already");
    const auto parts_of = [&](RequestHandler& own) {
      return std::make_unique<ConnectionParts>(
          ConnectionParts{own, workers, budgets_, options_.http, times});
    };
    parts_ = parts_of(handler);
    admin_parts_ = parts_of(admin);
    is_running_ = true;
    for (const auto& listener : listeners_) accept(*listener, *parts_);
    if (admin_) accept(*admin_, *admin_parts_);
    for (IoThread& thread : threads_) thread.start();
  }

  /// Called when no thread runs. Destroys unfinished requests before the parts that they use: first
  /// requests that no worker started, then requests that wait for their connection.
  void drop_all() {
    workers_.reset();
    listeners_.clear();
    admin_.reset();
    threads_.clear();
    parts_.reset();
    admin_parts_.reset();
  }

  void accept(Listener& listener, const ConnectionParts& parts) {
    ++accepting_;
    asio::co_spawn(threads_.front().context(), accept_loop(listener, parts),
                   [this](const std::exception_ptr&) { ended_accepting_.release(); });
  }

  asio::awaitable<void> accept_loop(Listener& listener, const ConnectionParts& parts) {
    asio::steady_timer rest(listener.acceptor.get_executor());
    bool has_failed = false;
    while (listener.acceptor.is_open() && !is_pausing_.load()) {
      try {
        // The thread's connections run first: they may free the memory that was missing.
        if (std::exchange(has_failed, false)) {
          co_await asio::post(listener.acceptor.get_executor(), asio::use_awaitable);
        }
        co_await accept_one(listener, parts, rest);
      } catch (const std::exception&) {
        has_failed = true;
        metrics_.refused_connections.fetch_add(1);
      }
    }
  }

  asio::awaitable<void> accept_one(Listener& listener, const ConnectionParts& parts,
                                   asio::steady_timer& rest) {
    IoThread& thread = threads_[next_++ % threads_.size()];
    error_code error;
    auto socket = co_await listener.acceptor.async_accept(
        thread.context(), asio::redirect_error(asio::use_awaitable, error));
    if (!error) co_return take(thread, std::move(socket), parts);
    if (error == asio::error::operation_aborted) co_return;
    // Most likely there is no free descriptor, so an immediate attempt would fail too.
    error_code ignored;
    rest.expires_after(kRest);
    co_await rest.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }

  /// Frees the place when the last copy of the returned pointer is destroyed.
  std::shared_ptr<void> leaving(const std::string& address, Place place) {
    return {this, [this, address, place](void*) {
              metrics_.open_connections.fetch_sub(1);
              places_.leave(address, place);
            }};
  }

  void take(IoThread& thread, StreamSocket socket, const ConnectionParts& parts) {
    const std::string peer = peer_of(socket);
    // Connections from this machine have no limit per address.
    const std::string address = is_loopback(peer) ? std::string() : peer;
    const Place place = places_.enter(address);
    if (place == Place::kNone) {
      metrics_.refused_connections.fetch_add(1);
      error_code ignored;
      socket.non_blocking(true, ignored);
      socket.send(asio::buffer(kTooMany), 0, ignored);
      socket.close(ignored);
      return;
    }
    std::shared_ptr<void> held = leaving(address, place);
    metrics_.open_connections.fetch_add(1);
    if (!peer.empty()) tune(socket);
    auto wrapped = tls_ && !peer.empty() ? tls_socket(std::move(socket), *tls_)
                                         : plain_socket(std::move(socket));
    auto connection = std::make_shared<Connection>(
        place == Place::kReserved ? reserved(parts) : parts, thread.paces(),
        thread.context().get_executor(), std::move(wrapped), peer);
    asio::post(thread.context(),
               [&thread, connection = std::move(connection), held = std::move(held)]() mutable {
                 thread.add(connection);
                 const Connection* raw = connection.get();
                 connection->start([&thread, raw, held = std::move(held)] { thread.remove(raw); });
               });
  }

  const ServerOptions options_;
  HttpMetrics& metrics_;
  std::unique_ptr<asio::ssl::context> tls_;
  std::string address_;
  Budgets budgets_;
  std::unique_ptr<ConnectionParts> parts_;
  std::unique_ptr<ConnectionParts> admin_parts_;
  std::size_t next_ = 0;     ///< thread for the next connection
  bool is_running_ = false;  ///< the threads run
  std::atomic<bool> is_pausing_{false};
  int accepting_ = 0;  ///< accept loops that may still run
  std::counting_semaphore<> ended_accepting_{0};
  ConnectionPlaces places_;
  // Connections live in the threads' contexts, so those are destroyed first.
  std::vector<IoThread> threads_;
  Workers no_workers_{0, 0, 0, 0};  ///< used while nothing is admitted
  std::unique_ptr<Workers> workers_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::unique_ptr<Listener> admin_;
};

Server::Server(const ServerOptions& options, HttpMetrics& metrics)
    : impl_(std::make_unique<Impl>(options, metrics)) {}
Server::~Server() { stop(0); }
std::string Server::address() const { return impl_->address(); }
void Server::answer_until_paused(RequestHandler& loading, const ConnectionTimes& times) {
  impl_->answer_until_paused(loading, times);
}
void Server::pause() { impl_->pause(); }
void Server::start(RequestHandler& handler, RequestHandler& admin, const ConnectionTimes& times) {
  impl_->start(handler, admin, times);
}
bool Server::stop(double seconds, double answer_seconds) {
  return impl_->stop(seconds, answer_seconds);
}

int default_io_threads() {
  constexpr int kCpusOfThread = 8;
  return (available_cpus() + kCpusOfThread - 1) / kCpusOfThread;
}

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  return !error && address.is_loopback();
}

}  // namespace ingot
