// The options of `ingot bench serve`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/commands/traffic_options.h"

namespace ingot {

/// Values of the flags.
struct ServerBenchValues {
  std::string url;
  TrafficValues traffic;
  std::string endpoint = "completions";
  std::optional<std::string> model;    ///< absent: the first model that the server lists
  std::optional<std::string> dataset;  ///< a file of conversations
  bool has_output_len = false;         ///< --output-len was given
  std::string prompt_ids = "300:1999";
  std::optional<std::string> sweep;
  std::int64_t ctx = 0;  ///< 0 = nothing is cut
  std::int64_t check = 0;
  double timeout = 600;
  bool insecure = false;
  bool no_ignore_eos = false;
  bool json = false;
  bool markdown = false;
};

/// Declares the options and URL on the command.
void add_server_bench_options(CLI::App& app, ServerBenchValues& values);

/// One load out of several.
struct LoadPoint {
  std::string rate;              ///< a value of --rate
  std::int64_t concurrency = 0;  ///< 0 = each starts at its arrival
};

/// The loads to run: those of --sweep, or the load of --rate or --concurrency.
///
/// Errors: Error{kInvalid} naming --sweep.
std::vector<LoadPoint> load_points(const ServerBenchValues& values);

/// Parses --prompt-ids. Errors: Error{kInvalid}.
std::vector<std::int32_t> parse_prompt_ids(const ServerBenchValues& values);

/// The options as part of a result.
void add_settings(const ServerBenchValues& values, Settings& settings);

}  // namespace ingot
