// The options of `ingot bench serve-inproc`.
#pragma once

#include <cstdint>

#include "bench/commands/traffic_options.h"
#include "cli/options/model_options.h"
#include "cli/options/trace_file.h"
#include "cli/table.h"

namespace ingot {

/// Values of the flags.
struct ServeValues {
  ModelOptionValues model;
  TrafficValues traffic;
  std::int64_t check = 8;
  TraceValues step_trace;
  std::int32_t sequences = 64;
  std::int32_t step_rows = 512;
  std::int64_t kv_tokens = 0;  ///< 0 = the largest useful number
  std::int64_t queue = 1024;
  double target_itl_ms = 0;  ///< 0 = in proportion to steps without prompts
  bool no_prefix_cache = false;
  bool json = false;
  bool markdown = false;
};

/// Declares the options and MODEL on the command.
void add_serve_options(CLI::App& app, ServeValues& values);

/// The options as part of a result.
void add_settings(const ServeValues& values, Settings& settings);

}  // namespace ingot
