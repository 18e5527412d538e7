// The options of a serving benchmark's traffic, and the traffic that they describe.
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

/// Values of the flags.
struct TrafficValues {
  std::optional<std::string> trace;
  double speedup = 1;
  double length_scale = 1;
  std::int64_t requests = 0;  ///< 0 = all of a trace, or 64
  std::string rate = "inf";
  double burstiness = 1;
  std::int64_t concurrency = 0;  ///< 0 = each starts at its arrival
  std::string input_len = "128";
  std::string output_len = "64";
  std::int64_t shared_prefix = 0;
  std::uint64_t seed = 0;
  double temperature = 0;
  std::vector<std::string> goodput;
};

/// Declares the options of traffic on the command.
void add_traffic_options(CLI::App& app, TrafficValues& values);

/// Declares --goodput.
void add_goodput_option(CLI::App& app, TrafficValues& values);

/// The traffic before it is cut to a context.
///
/// Errors: Error{kInvalid} that names the option; those of read_trace.
Traffic make_traffic(const TrafficValues& values);

/// Parses --goodput. Errors: Error{kInvalid}.
Goodput parse_goodput(const TrafficValues& values);

/// Cuts the traffic to a context; warns when a length was cut.
CutLengths cut_with_warning(Traffic& traffic, std::int64_t context);

/// The options of traffic as part of a result.
void add_traffic_settings(const TrafficValues& values, Settings& settings);

/// --goodput as part of a result.
Json goodput_settings(const TrafficValues& values);

}  // namespace ingot
