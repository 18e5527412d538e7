// Server: listens, and gives each connection to one of a few threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/http/connection_times.h"
#include "server/http/http.h"
#include "server/http/http_metrics.h"
#include "server/http/request_handler.h"

namespace ingot {

/// Where a server listens, its threads, and its limits on connections and memory.
struct ServerOptions {
  std::string host = "localhost";  ///< an address; "localhost": 127.0.0.1 and, if there, ::1
  std::int32_t port = 0;           ///< up to 65535; 0: the system picks one
  std::string unix_socket{};       ///< a path to listen on too; only its owner can connect
  std::string admin_socket{};      ///< a path for administration, which is not reached over TCP
  std::string tls_cert{};          ///< PEM files; both or neither
  std::string tls_key{};
  int io_threads = 2;      ///< threads that read and write
  int worker_threads = 2;  ///< threads that handle requests, except those of `text_threads`
  int text_threads = 1;    ///< threads that handle `Admitted::is_text`
  std::int64_t connections_max = 1024;
  /// Connections beyond `connections_max` for probes (/health, /livez, /readyz), one request each.
  /// Enough for a load balancer and a supervisor that ask at the same moment.
  std::int64_t connections_reserved = 4;
  HttpLimits http{};
  std::size_t bodies_bytes_max = std::size_t{256} << 20;     ///< see Budgets
  std::size_t responses_bytes_max = std::size_t{256} << 20;  ///< see Budgets
};

/// Sockets and threads. The handlers and the metrics outlive it.
class Server {
 public:
  /// Binds its addresses; it accepts no connection yet.
  ///
  /// Errors: Error{kUnavailable} for an address that cannot be bound; Error{kInvalid} for
  /// certificates.
  Server(const ServerOptions& options, HttpMetrics& metrics);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// "http://127.0.0.1:8080", with the port that it has.
  std::string address() const;
  /// Until `pause`, `loading` answers all requests; it admits none. When `pause` returns, the
  /// threads and connections of this phase have ended, and `start` may be called.
  void answer_until_paused(RequestHandler& loading, const ConnectionTimes& times);
  void pause();
  /// Accepts connections from here on. `admin` answers those of the admin socket.
  void start(RequestHandler& handler, RequestHandler& admin, const ConnectionTimes& times);
  /// Accepts no more connections and ends. Requests under way may end within `seconds`, and
  /// responses to requests that were read within `answer_seconds` if that is longer. False where
  /// such a response was cut off.
  bool stop(double seconds, double answer_seconds = 0);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Threads that read and write where the operator does not say: one for every 8 CPUs. One sends
/// some 300 events a second with 0.5 % of a core; each further one interrupts the model.
int default_io_threads();

/// Whether an address of a host name means this machine alone.
bool is_loopback(const std::string& host);

}  // namespace ingot
