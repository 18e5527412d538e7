// Server: the HTTP server. It listens and distributes connections over a few threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/http/connection_times.h"
#include "server/http/http.h"
#include "server/http/http_metrics.h"
#include "server/http/request_handler.h"

namespace ingot {

/// Addresses, threads, and limits on connections and memory.
struct ServerOptions {
  std::string host = "localhost";  ///< address; "localhost" means 127.0.0.1 and, if present, ::1
  std::int32_t port = 0;           ///< TCP port up to 65535; 0: the system picks a port
  std::string unix_socket{};       ///< path of a Unix socket, which only its owner can use
  std::string admin_socket{};      ///< path of a Unix socket for administration
  std::string tls_cert{};          ///< PEM files of certificate and key; set both or neither
  std::string tls_key{};
  int io_threads = 2;      ///< number of threads for input and output
  int worker_threads = 2;  ///< number of threads of HandlerThreads::kRequests
  int text_threads = 1;    ///< number of threads of HandlerThreads::kTexts
  std::int64_t connections_max = 1024;
  /// Number of connections beyond `connections_max`. Each serves one probe (/health, /livez or
  /// /readyz). Enough for a load balancer and a supervisor that ask at the same moment.
  std::int64_t connections_reserved = 4;
  HttpLimits http{};
  std::size_t bodies_bytes_max = std::size_t{256} << 20;     ///< limit of `Budgets::bodies`
  std::size_t responses_bytes_max = std::size_t{256} << 20;  ///< limit of `Budgets::responses`
};

/// Owns the listening sockets and the threads. Handlers and metrics must outlive the server.
class Server {
 public:
  /// Binds the addresses. Accepts no connection yet.
  ///
  /// Errors: Error{kUnavailable} if an address cannot be bound; Error{kInvalid} for a wrong
  /// certificate or key.
  Server(const ServerOptions& options, HttpMetrics& metrics);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Returns the server's address with its actual port: "http://127.0.0.1:8080".
  std::string address() const;
  /// Lets `loading` answer all requests until a call of `pause`. `loading` must admit no request.
  /// When `pause` returns, all threads and connections have ended, and `start` may be called.
  void answer_until_paused(RequestHandler& loading, const ConnectionTimes& times);
  void pause();
  /// Accepts connections from now on. `admin` handles requests of the admin socket.
  void start(RequestHandler& handler, RequestHandler& admin, const ConnectionTimes& times);
  /// Stops accepting connections, then ends. Waits up to `seconds` for running requests. If
  /// `answer_seconds` is longer, waits up to that time for responses to fully read requests.
  /// Returns false if the response to a fully read request is cut off.
  bool stop(double seconds, double answer_seconds = 0);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Returns the default number of IoThreads: one for every 8 CPUs. One thread sends some 300
/// events a second with 0.5 % of a core. More threads would interrupt the model more often.
int default_io_threads();

/// Whether `host` is "localhost" or a loopback address.
bool is_loopback(const std::string& host);

}  // namespace ingot
