// Server: listens, and gives every connection to one of a few threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/http/application.h"
#include "server/http/connection_times.h"
#include "server/http/http.h"
#include "server/http/http_metrics.h"

namespace ingot {

/// Where a server listens, and how much of it there may be at once.
struct ServerOptions {
  std::string host = "localhost";  ///< an address; "localhost": 127.0.0.1 and, if there, ::1
  std::int32_t port = 0;           ///< up to 65535; 0: the system picks one
  std::string unix_socket{};       ///< a path to listen on too; only its owner can connect
  std::string admin_socket{};      ///< the same for administration, which TCP never sees
  std::string tls_cert{};          ///< PEM files; both or neither
  std::string tls_key{};
  int io_threads = 2;      ///< that read and write
  int worker_threads = 2;  ///< for requests and answers that are not quick
  int text_threads = 1;    ///< for those that work on text alone: nobody else waits for them
  std::int64_t connections_max = 1024;
  /// Connections beyond `connections_max` for probes (/health, /livez, /readyz), one request each.
  /// Enough for a load balancer and a supervisor that ask at the same moment.
  std::int64_t connections_reserved = 4;
  HttpLimits http{};
  std::size_t bodies_bytes_max = std::size_t{256} << 20;     ///< see Budgets
  std::size_t responses_bytes_max = std::size_t{256} << 20;  ///< see Budgets
};

/// Sockets and threads. The application and the metrics outlive it.
class Server {
 public:
  /// Binds, and accepts nobody yet.
  ///
  /// Errors: Error{kUnavailable} for an address that is not to be had; Error{kInvalid} for
  /// certificates.
  Server(const ServerOptions& options, HttpMetrics& metrics);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// "http://127.0.0.1:8080", with the port that it has.
  std::string address() const;
  /// Until `pause`, what comes is answered by `loading`, which admits nothing: from threads that
  /// are gone when that returns, as connections are. `start` comes behind it.
  void answer_meanwhile(Application& loading, const ConnectionTimes& times);
  void pause();
  /// Accepts connections from here on; those of the admin socket are `admin`'s.
  void start(Application& application, Application& admin, const ConnectionTimes& times);
  /// Accepts nobody any more, lets requests that are under way end for `seconds`, answers to those
  /// that came whole go out for `answer_seconds` where that is longer, and ends. False where such
  /// an answer had to be cut off.
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
