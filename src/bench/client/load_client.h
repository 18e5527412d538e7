// LoadClient: sends requests to a server on schedule and records each result.
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

/// The server, and settings shared by all requests.
struct LoadClientOptions {
  ServerUrl url;
  bool verify = true;  ///< whether to verify the certificate of a server with TLS
  std::string api_key{};
  std::string user_agent{};
  double timeout_seconds = 600;     ///< time limit of each request, in seconds
  std::function<void()> on_tick{};  ///< called about every 50 ms; may throw to end the run
};

/// The requests of one run.
struct LoadPlan {
  std::string path;              ///< path of all requests, which are POST requests
  std::vector<double> arrivals;  ///< requests' arrivals in seconds from the run's start, ascending
  std::size_t concurrency = 0;   ///< number of requests in flight; 0: requests start at `arrivals`
  std::function<std::string(std::size_t number)> body;  ///< returns the JSON body of a request
  std::function<bool(std::size_t number)> keeps_text;   ///< returns true to keep a response's text
  std::function<void(std::size_t done)> on_done{};      ///< called when `done` requests have ended
};

/// The result of one request of a run. Times are seconds since the run began.
struct LoadedCall {
  double start = 0;  ///< planned arrival time; actual start if the concurrency is fixed
  CallResult result;
};

/// The response to a single request outside a run.
struct PlainAnswer {
  int status = 0;
  std::string body;
  std::string problem;  ///< why there is no response; empty on success
};

/// Sends requests to one server. All its connections run in the calling thread.
class LoadClient {
 public:
  explicit LoadClient(LoadClientOptions options);
  ~LoadClient();
  LoadClient(const LoadClient&) = delete;
  LoadClient& operator=(const LoadClient&) = delete;

  /// Connects to the server. Errors: Error{kUnavailable} if the connection fails.
  void connect();
  /// Sends GET `path` and returns the response. Call connect() first.
  PlainAnswer get(std::string_view path);
  /// Sends all requests of the plan on schedule. Returns their results in the order of requests.
  std::vector<LoadedCall> run(const LoadPlan& plan);
  /// Returns the number of requests sent again so far because a persistent connection had ended.
  std::int64_t reconnects() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ingot
