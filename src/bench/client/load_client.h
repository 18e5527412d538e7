// LoadClient: sends many requests to a server when they are due, and keeps what became of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/client/server_url.h"
#include "bench/client/timeline.h"

namespace ingot {

/// The server, and how it is asked.
struct LoadClientOptions {
  ServerUrl url;
  bool verify = true;  ///< the certificate of a server with TLS
  std::string api_key{};
  std::string user_agent{};
  double timeout_seconds = 600;     ///< of each request
  std::function<void()> on_tick{};  ///< called now and then; may throw to end what goes on
};

/// A run of requests.
struct LoadPlan {
  std::string path;              ///< that all are posted to
  std::vector<double> arrivals;  ///< seconds since the run begins, rising; one a request
  std::size_t concurrency = 0;   ///< under way at once; 0: each starts at its arrival
  std::function<std::string(std::size_t number)> body;
  std::function<bool(std::size_t number)> keeps_text;
  std::function<void(std::size_t done)> on_done{};
};

/// One request of a run; times are seconds since the run began.
struct LoadedCall {
  double start = 0;  ///< its arrival, or when its turn came in a closed loop
  CallResult result;
};

/// The answer to a request that is no load.
struct PlainAnswer {
  int status = 0;
  std::string body;
  std::string problem;  ///< why there is none; empty where there is
};

/// A client of one server, with all of its connections in the thread that calls it.
class LoadClient {
 public:
  explicit LoadClient(LoadClientOptions options);
  ~LoadClient();
  LoadClient(const LoadClient&) = delete;
  LoadClient& operator=(const LoadClient&) = delete;

  /// Finds the server. Errors: Error{kUnavailable} when nobody is there.
  void connect();
  /// Asks for `path`, once connected.
  PlainAnswer get(std::string_view path);
  /// Sends all requests of the plan; returns what became of each, by number.
  std::vector<LoadedCall> run(const LoadPlan& plan);
  /// Requests so far that went out again, since the server ended their kept connection.
  std::int64_t reconnects() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ingot
