// Listening, and the threads of connections.
#include "server/http/server.h"

#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/processors.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "server/http/connection.h"

namespace ingot {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::local::stream_protocol;
using boost::system::error_code;

namespace {

/// One address, other than this machine's own, may have this part of the connections, or 16: a
/// single client cannot take them all. A proxy on another machine needs --connections of four times
/// what it opens.
constexpr std::int64_t kAddressPart = 4;
constexpr std::int64_t kAddressMin = 16;

/// For connections that were closed to notice.
constexpr double kCloseSeconds = 1;

/// For connections whose request is on its way to be answered when answers change.
constexpr double kAnswerSeconds = 0.2;

/// How long a listener rests when the process has no descriptor left.
constexpr auto kRest = std::chrono::milliseconds(50);

/// Ports that are tried where any will do.
constexpr int kPortAttempts = 16;

/// For the head of a probe while there are as many connections as may be.
constexpr auto kProbeTime = std::chrono::milliseconds(1000);

/// What is said to a connection too many, without reading its request.
constexpr std::string_view kTooMany =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n"
    "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n";

/// Bytes of a connection that the system holds and has not sent.
constexpr int kNotSentBytes = 128 << 10;

[[noreturn]] void unavailable(const std::string& what, const error_code& error) {
  throw Error(ErrorCode::kUnavailable, cat("cannot listen on ", what, ": ", error.message()));
}

/// A thread that reads and writes for its share of the connections.
class IoThread {
 public:
  IoThread() : work_(asio::make_work_guard(context_)) {}

  asio::io_context& context() { return context_; }
  /// For connections of this thread.
  ThreadPaces& paces() { return paces_; }
  void start() {
    thread_ = std::thread([this] { run(); });
  }
  /// It can be started again, and goes on with what is left to do.
  void join() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
    context_.restart();
  }

  // In this thread alone.
  void add(const std::shared_ptr<Connection>& connection) {
    connections_[connection.get()] = connection;
  }
  void remove(const Connection* connection) { connections_.erase(connection); }
  template <class Body>
  void for_each(Body body) {
    std::vector<std::shared_ptr<Connection>> all;
    for (const auto& [raw, weak] : connections_) {
      if (auto connection = weak.lock()) all.push_back(std::move(connection));
    }
    for (const auto& connection : all) body(*connection);
  }

 private:
  /// What escapes a handler, which only running out of memory does, ends that handler alone.
  void run() {
    interrupt_nobody();
    for (;;) {
      try {
        while (context_.run_one() > 0) {
          context_.poll();
          // No waiting for anybody: what came meanwhile is read in one go.
          const auto rest = paces_.refusals.rest(RefusalPace::Clock::now());
          if (rest.count() > 0) std::this_thread::sleep_for(rest);
        }
        return;
      } catch (const std::exception&) {
        continue;
      }
    }
  }

  ThreadPaces paces_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::map<const Connection*, std::weak_ptr<Connection>> connections_;
  std::thread thread_;
};

std::unique_ptr<asio::ssl::context> tls_context(const ServerOptions& options) {
  if (options.tls_cert.empty()) return nullptr;
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  context->set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1 |
                       asio::ssl::context::no_compression);
  SSL_CTX_set_mode(context->native_handle(), SSL_MODE_RELEASE_BUFFERS);
  error_code error;
  context->use_certificate_chain_file(options.tls_cert, error);
  if (error) {
    throw Error(ErrorCode::kInvalid,
                cat("--tls-cert ", options.tls_cert, " cannot be used: ", error.message()));
  }
  context->use_private_key_file(options.tls_key, asio::ssl::context::pem, error);
  if (error) {
    throw Error(ErrorCode::kInvalid,
                cat("--tls-key ", options.tls_key, " cannot be used: ", error.message()));
  }
  return context;
}

/// Gives a connection's place back when the last copy goes, however that comes.
class Leaving {
 public:
  template <class Body>
  explicit Leaving(Body body) : end_(this, [body](void*) { body(); }) {}

 private:
  std::shared_ptr<void> end_;
};

}  // namespace

class Server::Impl {
 public:
  Impl(const ServerOptions& options, HttpMetrics& metrics)
      : options_(options),
        metrics_(metrics),
        tls_(tls_context(options)),
        budgets_{.bodies = Budget(options.bodies_bytes_max),
                 .responses = Budget(options.responses_bytes_max)},
        threads_(static_cast<std::size_t>(std::max(1, options.io_threads))) {
    listen_tcp();
    if (!options_.unix_socket.empty()) listen_unix(unix_, options_.unix_socket);
    if (!options_.admin_socket.empty()) listen_unix(admin_, options_.admin_socket);
  }

  ~Impl() { remove_sockets(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::string address() const {
    const tcp::endpoint endpoint = tcp_.front().local_endpoint();
    const bool is_v6 = endpoint.address().is_v6();
    return cat(tls_ ? "https://" : "http://", is_v6 ? "[" : "", endpoint.address().to_string(),
               is_v6 ? "]" : "", ":", endpoint.port());
  }

  void answer_meanwhile(Application& loading, const ConnectionTimes& times) {
    run(loading, loading, times, no_workers_);
  }

  void pause() {
    if (!is_running_) return;
    is_pausing_.store(true);
    for_each_acceptor([](auto& acceptor) {
      error_code ignored;
      acceptor.cancel(ignored);
    });
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return accepting_ == 0; });
    }
    // Those that have sent a request get their answer.
    wait_until(kAnswerSeconds, [this] { return open_ == 0; });
    for_each_connection([](Connection& c) { c.close(); });
    wait_until(kCloseSeconds, [this] { return open_ == 0; });
    for (IoThread& thread : threads_) thread.join();
    is_running_ = false;
    is_pausing_.store(false);
  }

  void start(Application& application, Application& admin, const ConnectionTimes& times) {
    const auto requests = static_cast<std::size_t>(std::max(1, options_.worker_threads));
    const auto texts = static_cast<std::size_t>(std::max(1, options_.text_threads));
    // Here and not before: threads inherit what the process has given up by now.
    workers_ = std::make_unique<Workers>(requests, texts);
    run(application, admin, times, *workers_);
  }

  bool stop(double seconds, double answer_seconds) {
    if (!is_running_) return true;
    is_running_ = false;
    for_each_acceptor([](auto& acceptor) {
      error_code ignored;
      acceptor.close(ignored);
    });
    for_each_connection([](Connection& c) { c.close_when_idle(); });
    const auto none_is_open = [this] { return open_ == 0; };
    bool has_ended = wait_until(seconds, none_is_open);
    if (!has_ended && answer_seconds > seconds) {
      for_each_connection([](Connection& c) { c.close_unless_answering(); });
      has_ended = wait_until(answer_seconds - seconds, none_is_open);
    }
    const bool has_cut = budgets_.answering.load() > 0;
    if (!has_ended) {
      for_each_connection([](Connection& c) { c.close(); });
      // Nobody waits any more for what was not begun.
      Workers& workers = parts_->workers;
      for (auto* pool : {&workers.requests, &workers.texts}) pool->stop();
      for (auto* pool : {&workers.requests, &workers.texts}) pool->join();
      wait_until(kCloseSeconds, none_is_open);
    }
    for (IoThread& thread : threads_) thread.join();
    remove_sockets();
    drop_all();
    return !has_cut;
  }

 private:
  using TcpAcceptor = tcp::acceptor;
  using UnixAcceptor = stream_protocol::acceptor;

  /// Calls body(connection) for each, in its thread.
  template <class Body>
  void for_each_connection(Body body) {
    for (IoThread& thread : threads_) {
      asio::post(thread.context(), [&thread, body] { thread.for_each(body); });
    }
  }

  /// The same for acceptors, which live in the first one.
  template <class Body>
  void for_each_acceptor(Body body) {
    asio::post(threads_.front().context(), [this, body] {
      for (TcpAcceptor& acceptor : tcp_) body(acceptor);
      if (unix_) body(*unix_);
      if (admin_) body(*admin_);
    });
  }

  void run(Application& application, Application& admin, const ConnectionTimes& times,
           Workers& workers) {
    INGOT_CHECK(!is_running_, "the server runs already");
    parts_ = std::make_unique<ConnectionParts>(
        ConnectionParts{application, workers, budgets_, options_.http, times});
    admin_parts_ = std::make_unique<ConnectionParts>(
        ConnectionParts{admin, workers, budgets_, options_.http, times});
    is_running_ = true;
    for (TcpAcceptor& acceptor : tcp_) accept(acceptor, *parts_);
    if (unix_) accept(*unix_, *parts_);
    if (admin_) accept(*admin_, *admin_parts_);
    for (IoThread& thread : threads_) thread.start();
  }

  /// Of those that it listens on, or did.
  void remove_sockets() {
    for (const auto& [acceptor, path] :
         {std::pair(&unix_, &options_.unix_socket), std::pair(&admin_, &options_.admin_socket)}) {
      if (acceptor->has_value()) ::unlink(path->c_str());
    }
  }

  /// No thread runs any more. Requests that did not come to their end go, while what they use is
  /// there: those that a worker never began, then those that wait for their connection.
  void drop_all() {
    workers_.reset();
    tcp_.clear();
    unix_.reset();
    admin_.reset();
    threads_.clear();
    parts_.reset();
    admin_parts_.reset();
  }

  std::uint16_t port() const { return static_cast<std::uint16_t>(options_.port); }

  /// "localhost" is both loopback addresses: clients try either.
  void listen_tcp() {
    if (options_.host == "localhost") return listen_loopback();
    error_code error;
    const auto address = asio::ip::make_address(options_.host, error);
    if (!error) error = listen_at(address, port());
    if (error) unavailable(cat(options_.host, ":", options_.port), error);
  }

  /// Somebody else may have the second address of a port that the system picked for the first.
  void listen_loopback() {
    for (int attempt = 1;; ++attempt) {
      if (const error_code error = listen_at(asio::ip::address_v4::loopback(), port())) {
        unavailable(cat("127.0.0.1:", options_.port), error);
      }
      const std::uint16_t picked = tcp_.front().local_endpoint().port();
      const error_code error = listen_at(asio::ip::address_v6::loopback(), picked);
      // Where there is no IPv6 nobody looks for the server there.
      if (!error || error == asio::error::address_family_not_supported ||
          error == boost::system::errc::address_not_available) {
        return;
      }
      if (options_.port != 0 || attempt == kPortAttempts) {
        unavailable(cat("[::1]:", picked), error);
      }
      tcp_.clear();
    }
  }

  error_code listen_at(const asio::ip::address& address, std::uint16_t port) {
    const tcp::endpoint endpoint(address, port);
    TcpAcceptor acceptor(threads_.front().context());
    error_code error;
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (!error) tcp_.push_back(std::move(acceptor));
    return error;
  }

  void listen_unix(std::optional<UnixAcceptor>& acceptor, const std::string& path) {
    error_code error;
    stream_protocol::endpoint endpoint;
    try {
      endpoint = stream_protocol::endpoint(path);
    } catch (const boost::system::system_error& e) {
      unavailable(path, e.code());
    }
    remove_dead_socket(endpoint);
    acceptor.emplace(threads_.front().context());
    acceptor->open(endpoint.protocol(), error);
    // Nobody else can connect, from the first moment on.
    const mode_t before = ::umask(0177);
    if (!error) acceptor->bind(endpoint, error);
    ::umask(before);
    if (!error) acceptor->listen(asio::socket_base::max_listen_connections, error);
    if (error) unavailable(path, error);
  }

  /// What a server that was killed left behind; never one that somebody listens on.
  void remove_dead_socket(const stream_protocol::endpoint& endpoint) {
    struct stat status {};
    if (::lstat(endpoint.path().c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return;
    stream_protocol::socket probe(threads_.front().context());
    error_code error;
    probe.connect(endpoint, error);
    if (error == asio::error::connection_refused) ::unlink(endpoint.path().c_str());
  }

  template <class Acceptor>
  void accept(Acceptor& acceptor, const ConnectionParts& parts) {
    ++accepting_;
    asio::co_spawn(threads_.front().context(), accept_loop(acceptor, parts),
                   [this](const std::exception_ptr&) {
                     const std::lock_guard lock(mutex_);
                     --accepting_;
                     changed_.notify_all();
                   });
  }

  template <class Acceptor>
  asio::awaitable<void> accept_loop(Acceptor& acceptor, const ConnectionParts& parts) {
    asio::steady_timer rest(acceptor.get_executor());
    bool has_failed = false;
    while (acceptor.is_open() && !is_pausing_.load()) {
      try {
        // The thread's connections have their turn, whose memory may be what is missing.
        if (std::exchange(has_failed, false)) {
          co_await asio::post(acceptor.get_executor(), asio::use_awaitable);
        }
        co_await accept_one(acceptor, parts, rest);
      } catch (const std::exception&) {
        has_failed = true;
        metrics_.refused_connections.fetch_add(1);
      }
    }
  }

  template <class Acceptor>
  asio::awaitable<void> accept_one(Acceptor& acceptor, const ConnectionParts& parts,
                                   asio::steady_timer& rest) {
    IoThread& thread = threads_[next_++ % threads_.size()];
    error_code error;
    auto socket = co_await acceptor.async_accept(thread.context(),
                                                 asio::redirect_error(asio::use_awaitable, error));
    if (!error) co_return take(thread, std::move(socket), parts);
    if (error == asio::error::operation_aborted) co_return;
    // No descriptors, most likely: trying again at once would only burn time.
    error_code ignored;
    rest.expires_after(kRest);
    co_await rest.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }

  template <class Executor>
  static std::string peer_of(const asio::basic_stream_socket<tcp, Executor>& socket) {
    error_code ignored;
    return socket.remote_endpoint(ignored).address().to_string(ignored);
  }
  template <class Executor>
  static std::string peer_of(const asio::basic_stream_socket<stream_protocol, Executor>&) {
    return {};
  }
  template <class Executor>
  static void tune(asio::basic_stream_socket<tcp, Executor>& socket) {
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    // A socket takes more as soon as little is left to send, however large the system's buffer has
    // become: else a slow reader would seem to take nothing for a long time.
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kNotSentBytes,
                 sizeof kNotSentBytes);
  }
  template <class Executor>
  static void tune(asio::basic_stream_socket<stream_protocol, Executor>&) {}

  /// `is_so` looks at what the mutex guards; false where it was not so in time.
  template <class Condition>
  bool wait_until(double seconds, Condition is_so) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(seconds), is_so);
  }

  enum class Place {
    kNone,      ///< one connection too many
    kReserved,  ///< for a probe
    kFree,
  };

  /// Connections that one address may have.
  std::int64_t address_max() const {
    return std::max(kAddressMin, options_.connections_max / kAddressPart);
  }

  /// Counts the connection where there is a place for it.
  Place enter(const std::string& peer) {
    const std::lock_guard lock(mutex_);
    const bool is_free = open_ - reserved_ < options_.connections_max;
    if (!is_free && reserved_ >= options_.connections_reserved) return Place::kNone;
    if (!peer.empty() && !is_loopback(peer)) {
      if (per_address_[peer] >= address_max()) return Place::kNone;
      ++per_address_[peer];
    }
    ++open_;
    reserved_ += is_free ? 0 : 1;
    metrics_.open_connections.store(open_);
    return is_free ? Place::kFree : Place::kReserved;
  }

  void leave(const std::string& peer, Place place) {
    const std::lock_guard lock(mutex_);
    const auto at = per_address_.find(peer);
    if (at != per_address_.end() && --at->second == 0) per_address_.erase(at);
    --open_;
    reserved_ -= place == Place::kReserved ? 1 : 0;
    metrics_.open_connections.store(open_);
    if (open_ == 0) changed_.notify_all();
  }

  /// A probe's connection, which is soon free for the next one.
  static ConnectionParts reserved(ConnectionParts parts) {
    parts.is_reserved = true;
    parts.times.requests_max = 1;
    parts.times.head = std::min(parts.times.head, kProbeTime);
    parts.times.idle = std::min(parts.times.idle, kProbeTime);
    return parts;
  }

  template <class Socket>
  void take(IoThread& thread, Socket socket, const ConnectionParts& parts) {
    const std::string peer = peer_of(socket);
    const Place place = enter(peer);
    if (place == Place::kNone) {
      metrics_.refused_connections.fetch_add(1);
      error_code ignored;
      socket.non_blocking(true, ignored);
      socket.send(asio::buffer(kTooMany), 0, ignored);
      socket.close(ignored);
      return;
    }
    Leaving leaving([this, peer, place] { leave(peer, place); });
    tune(socket);
    StreamSocket generic(std::move(socket));
    const bool is_tls = tls_ && !peer.empty();
    auto wrapped =
        is_tls ? tls_socket(std::move(generic), *tls_) : plain_socket(std::move(generic));
    const bool is_reserved = place == Place::kReserved;
    auto connection =
        std::make_shared<Connection>(is_reserved ? reserved(parts) : parts, thread.paces(),
                                     thread.context().get_executor(), std::move(wrapped), peer);
    asio::post(thread.context(), [&thread, connection = std::move(connection),
                                  leaving = std::move(leaving)]() mutable {
      thread.add(connection);
      const Connection* raw = connection.get();
      connection->start([&thread, raw, leaving = std::move(leaving)] { thread.remove(raw); });
    });
  }

  const ServerOptions options_;
  HttpMetrics& metrics_;
  std::unique_ptr<asio::ssl::context> tls_;
  Budgets budgets_;
  std::unique_ptr<ConnectionParts> parts_;
  std::unique_ptr<ConnectionParts> admin_parts_;
  std::size_t next_ = 0;
  bool is_running_ = false;  ///< there are threads
  std::atomic<bool> is_pausing_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t open_ = 0;
  std::int64_t reserved_ = 0;   ///< of them
  std::int64_t accepting_ = 0;  ///< loops
  std::map<std::string, std::int64_t> per_address_;
  // What connections live in: it goes first.
  std::vector<IoThread> threads_;
  Workers no_workers_{0, 0};  ///< of whoever handles nothing
  std::unique_ptr<Workers> workers_;
  std::vector<TcpAcceptor> tcp_;
  std::optional<UnixAcceptor> unix_;
  std::optional<UnixAcceptor> admin_;
};

Server::Server(const ServerOptions& options, HttpMetrics& metrics)
    : impl_(std::make_unique<Impl>(options, metrics)) {}
Server::~Server() { stop(0); }
std::string Server::address() const { return impl_->address(); }
void Server::answer_meanwhile(Application& loading, const ConnectionTimes& times) {
  impl_->answer_meanwhile(loading, times);
}
void Server::pause() { impl_->pause(); }
void Server::start(Application& application, Application& admin, const ConnectionTimes& times) {
  impl_->start(application, admin, times);
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
