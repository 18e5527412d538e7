// The options of `ingot bench serve-inproc`, and the traffic that they ask for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/model_options.h"
#include "cli/table.h"
#include "cli/trace_file.h"
#include "runtime/traffic.h"
#include "runtime/traffic_summary.h"

namespace ingot {

/// Values of the flags.
struct ServeValues {
  ModelOptionValues model;
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
  std::int64_t check = 8;
  TraceValues step_trace;
  std::int32_t sequences = 64;
  std::int32_t step_rows = 512;
  std::int64_t kv_tokens = 0;  ///< 0 = as many as can be used
  std::int64_t queue = 1024;
  double target_itl_ms = 0;  ///< 0 = in proportion to steps without prompts
  bool no_prefix_cache = false;
  bool json = false;
  bool markdown = false;
};

/// Declares the options and MODEL on the command.
void add_serve_options(CLI::App& app, ServeValues& values);

/// The traffic before it is cut to a context.
///
/// Errors: Error{kInvalid} naming the option; as of read_trace.
Traffic make_traffic(const ServeValues& values);

/// What --goodput says. Errors: Error{kInvalid}.
Goodput parse_goodput(const ServeValues& values);

/// The options as part of a result.
void add_settings(const ServeValues& values, Settings& settings);

}  // namespace ingot
