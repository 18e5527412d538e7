// TrafficRun: sends a benchmark's requests to an engine on schedule, and records when their tokens
// arrive.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/traffic/served_request.h"
#include "bench/traffic/traffic.h"
#include "runtime/engine.h"

namespace ingot {

/// A run's clock. `now` is in seconds; `wait` sleeps until a time, and may return early.
struct TrafficClock {
  std::function<double()> now;
  std::function<void(double until)> wait;
};

/// Returns a steady clock that is 0 at this call. A wait ends after at most 50 ms.
TrafficClock steady_traffic_clock();

/// Settings of a TrafficRun.
struct TrafficRunOptions {
  /// Number of requests in flight, kept constant. 0: each request starts at its arrival.
  std::int64_t concurrency = 0;
  std::vector<std::size_t> checked{};  ///< requests (ascending) whose results keep ids and digest
  std::function<void()> on_step{};     ///< called between steps; may throw to end the run
  std::function<void(std::size_t done)> on_done{};  ///< called after steps; `done`: ended requests
};

/// Runs the requests of a Traffic on an engine that has no other requests.
///
/// The run steps the engine on the calling thread. Other threads would gain nothing, because an
/// engine admits requests between steps and delivers tokens at the end of a step. With one thread,
/// the computing threads have all CPUs, and each token gets the time at which its step ended.
class TrafficRun {
 public:
  TrafficRun(Engine& engine, const Traffic& traffic, const RequestWriter& writer,
             TrafficClock clock, TrafficRunOptions options);

  /// Serves all requests; returns their results.
  ///
  /// Errors: Error{kInvalid} for a request that the engine can never admit.
  std::vector<ServedRequest> run();

 private:
  /// A request that was submitted and has not ended.
  struct Live {
    std::size_t number = 0;
    Stream stream;
  };

  bool is_due(double now) const;
  void submit_due();
  void submit(std::size_t number, double now);
  void wait();
  void collect();
  void take(Live& live, double now);
  void finish(Live& live);

  Engine& engine_;
  const Traffic& traffic_;
  const RequestWriter& writer_;
  const TrafficClock clock_;
  const TrafficRunOptions options_;
  double began_ = 0;
  std::size_t next_ = 0;  ///< number of the first request not yet submitted
  std::size_t done_ = 0;
  std::vector<Live> live_;
  Delta delta_;  ///< buffer for the delta that `take` reads
  std::vector<ServedRequest> served_;
};

/// Serves one request on an idle engine, and calls `on_step` between steps. The result also has the
/// output ids and the digest.
ServedRequest serve_alone(Engine& engine, Request&& request, const std::function<void()>& on_step);

}  // namespace ingot
