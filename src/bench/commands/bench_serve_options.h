// Declares and holds the options of `ingot bench serve-inproc`.
#pragma once

#include <cstdint>

#include "bench/commands/traffic_options.h"
#include "cli/options/model_options.h"
#include "cli/options/trace_file.h"
#include "cli/table.h"

namespace ingot {

/// Values of the command's flags.
struct ServeValues {
  ModelOptionValues model;
  DraftChoice draft;  ///< read from `model.draft` before the model opens
  TrafficValues traffic;
  std::int64_t check = 8;  ///< number of requests that run again, each alone, to compare results
  TraceValues step_trace;
  std::int32_t sequences = 64;
  std::int32_t step_rows = 512;
  std::int64_t kv_tokens = 0;  ///< KV pool size in tokens; 0 = what all requests need, or what fits
  std::int64_t queue = 1024;
  double target_itl_ms = 0;  ///< time limit of steps with prefill; 0: relative to steps without it
  bool no_prefix_cache = false;
  bool json = false;
  bool markdown = false;
};

/// Declares the options and the argument MODEL on the command.
void add_serve_options(CLI::App& app, ServeValues& values);

/// Adds the options' values to a result's settings.
void add_settings(const ServeValues& values, Settings& settings);

}  // namespace ingot
