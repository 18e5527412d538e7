// Declares the options of a serving benchmark's traffic, and makes the traffic that they describe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/traffic/traffic.h"
#include "bench/traffic/traffic_summary.h"
#include "cli/table.h"

namespace CLI {
class App;
}

namespace ingot {

/// Bounds of a rate, in requests per second.
inline constexpr double kRateMin = 1e-6, kRateMax = 1e6;
/// The largest latency limit that an option may set, in milliseconds: about twelve days.
inline constexpr double kMillisecondsMax = 1e9;

/// Values of the flags that describe traffic.
struct TrafficValues {
  std::optional<std::string> trace;
  double speedup = 1;
  double length_scale = 1;
  std::int64_t requests = 0;  ///< 0 = all requests of a trace, or else 64 synthetic requests
  std::string rate = "inf";
  double burstiness = 1;
  std::int64_t concurrency = 0;  ///< number of requests in flight; 0 = each starts at its arrival
  std::string input_len = "128";
  std::string output_len = "64";
  std::int64_t shared_prefix = 0;
  std::uint64_t seed = 0;
  double temperature = 0;
  std::vector<std::string> goodput;
};

/// Declares the traffic options on the command, except --goodput.
void add_traffic_options(CLI::App& app, TrafficValues& values);

/// Declares the option --goodput on the command.
void add_goodput_option(CLI::App& app, TrafficValues& values);

/// Makes the traffic that the options describe. Does not cut requests to a context.
///
/// Errors: Error{kInvalid}, whose message names the wrong option; also those of read_trace.
Traffic make_traffic(const TrafficValues& values);

/// Parses --goodput. Errors: Error{kInvalid}.
Goodput parse_goodput(const TrafficValues& values);

/// Calls cut_to_context and returns its result. Logs a warning if a prompt or an output was cut.
CutLengths cut_with_warning(Traffic& traffic, std::int64_t context);

/// Adds the values of the traffic options to a result's settings.
void add_traffic_settings(const TrafficValues& values, Settings& settings);

/// Returns the value of --goodput as JSON, for a result's settings.
Json goodput_settings(const TrafficValues& values);

}  // namespace ingot
