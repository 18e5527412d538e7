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
/// Limit on a latency bound: about twelve days in milliseconds.
inline constexpr double kMillisecondsMax = 1e9;

/// Values of the flags that describe traffic.
struct TrafficValues {
  std::optional<std::string> trace;
  double speedup = 1;
  double length_scale = 1;
  std::int64_t requests = 0;  ///< number of requests; 0 = all of a trace, or 64 synthetic ones
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

/// Makes the traffic that the options describe, without a cut to a context.
///
/// Errors: Error{kInvalid} that names the option; also those of read_trace.
Traffic make_traffic(const TrafficValues& values);

/// Parses --goodput. Errors: Error{kInvalid}.
Goodput parse_goodput(const TrafficValues& values);

/// Cuts the traffic to a context; logs a warning if it cuts a length. Returns the numbers of cuts.
CutLengths cut_with_warning(Traffic& traffic, std::int64_t context);

/// Adds the values of the traffic options to a result's settings.
void add_traffic_settings(const TrafficValues& values, Settings& settings);

/// Returns the value of --goodput as JSON, for a result's settings.
Json goodput_settings(const TrafficValues& values);

}  // namespace ingot
