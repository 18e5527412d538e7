// Declares and holds the options of `ingot bench serve`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/commands/traffic_options.h"

namespace ingot {

/// Values of the command's flags.
struct ServerBenchValues {
  std::string url;
  TrafficValues traffic;
  std::string endpoint = "completions";
  std::optional<std::string> model;    ///< name; absent: the first model that the server lists
  std::optional<std::string> dataset;  ///< file of conversations; absent: random prompts
  bool has_output_len = false;         ///< whether --output-len was given
  std::string prompt_ids = "300:1999";
  std::optional<std::string> sweep;
  std::int64_t ctx = 0;    ///< context in tokens; longer requests are cut to it; 0 = no cut
  std::int64_t check = 0;  ///< number of requests that are sent again, to compare texts
  double timeout = 600;    ///< seconds that a request may take
  bool insecure = false;
  bool no_ignore_eos = false;
  bool json = false;
  bool markdown = false;
};

/// Declares the options and the argument URL on the command.
void add_server_bench_options(CLI::App& app, ServerBenchValues& values);

/// A load to measure: a request rate or a concurrency.
struct LoadPoint {
  std::string rate;              ///< requests per second, or "inf", as in --rate
  std::int64_t concurrency = 0;  ///< number of requests in flight; 0 = use `rate` instead
};

/// Returns the loads to measure: all values of --sweep, or the load of --rate or --concurrency.
///
/// Errors: Error{kInvalid} if --sweep is wrong; the message names --sweep.
std::vector<LoadPoint> load_points(const ServerBenchValues& values);

/// Returns all token ids in the range of --prompt-ids. Errors: Error{kInvalid}.
std::vector<std::int32_t> parse_prompt_ids(const ServerBenchValues& values);

/// Adds the options' values to a result's settings.
void add_settings(const ServerBenchValues& values, Settings& settings);

}  // namespace ingot
