// TrafficRun: sends the requests of a traffic to an engine when they are due, and notes when their
// tokens come.
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

/// Time for a run: seconds since some moment, and waiting for a later one. A wait may be short.
struct TrafficClock {
  std::function<double()> now;
  std::function<void(double until)> wait;
};

/// The system's clock from now on, which waits for a twentieth of a second at most.
TrafficClock steady_traffic_clock();

/// How a run goes.
struct TrafficRunOptions {
  /// Requests under way at once, each of which starts when one ends; 0 = each starts at its
  /// arrival.
  std::int64_t concurrency = 0;
  std::vector<std::size_t> checked{};  ///< requests whose ids and digest are kept; rising
  std::function<void()> on_step{};     ///< called between steps; may throw to end the run
  std::function<void(std::size_t done)> on_done{};
};

/// One run of a traffic on an engine that serves nobody else.
///
/// It steps the engine itself. An engine takes requests in between steps and hands tokens out at
/// their end, so a thread of its own would change neither; and here no threads of readers take
/// time from those that compute, and every time is that of the step that made the token.
class TrafficRun {
 public:
  TrafficRun(Engine& engine, const Traffic& traffic, const RequestWriter& writer,
             TrafficClock clock, TrafficRunOptions options);

  /// Serves all requests; returns what became of each.
  ///
  /// Errors: Error{kInvalid} for a request that the engine can never take.
  std::vector<ServedRequest> run();

 private:
  /// A request that the engine has.
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
  std::size_t next_ = 0;  ///< the first request that was not sent
  std::size_t done_ = 0;
  std::vector<Live> live_;
  Delta delta_;  ///< what was taken last
  std::vector<ServedRequest> served_;
};

/// One request on an engine that has nothing else to do, with its ids and digest. `on_step` as in
/// TrafficRunOptions.
ServedRequest serve_alone(Engine& engine, Request&& request, const std::function<void()>& on_step);

}  // namespace ingot
