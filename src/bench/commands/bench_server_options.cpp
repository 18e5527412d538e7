// Declares the options of `ingot bench serve`.
#include "bench/commands/bench_server_options.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "bench/traffic/traffic_trace.h"
#include "cli/options/options.h"
#include "load/config.h"

namespace ingot {

namespace {

constexpr std::size_t kSweepMax = 64;
constexpr std::int64_t kConcurrencyMax = 65536;

void add_target_options(CLI::App& app, ServerBenchValues& v) {
  add_text(app, v.url,
           {.name = "URL",
            .help = "http://HOST:PORT or https://HOST, with the path in front of /v1 if there is "
                    "one; or unix:PATH",
            .takes = {},
            .is_required = true});
  add_text(app, v.endpoint,
           {.name = "--endpoint",
            .help = "The endpoint to measure: completions of token ids, or chats of text",
            .takes = "completions|chat",
            .is_checked = true});
  add_text(app, v.model, "--model",
           "The model's name (default: the first one of the server's /v1/models)");
  add_number(app, v.timeout,
             {.name = "--timeout",
              .help = "Seconds that a request may take",
              .low = 0.001,
              .high = 86400});
  add_switch(app, v.insecure, "--insecure", "Accept any TLS certificate of the server");
}

void add_prompt_options(CLI::App& app, ServerBenchValues& v) {
  add_text(app, v.dataset, "--dataset",
           "Prompts from this file, ShareGPT's JSON: an array of objects with `conversations`; "
           "outputs have the length of the recorded replies at 4 bytes a token, unless "
           "--output-len is given");
  add_text(
      app, v.prompt_ids,
      {.name = "--prompt-ids", .help = "A:B, the range of token ids for prompts of completions"});
  add_number(app, v.ctx,
             {.name = "--ctx",
              .help = "The server's context, to which requests are cut (default: nothing is cut)",
              .low = 2,
              .high = kContextMax,
              .show_default = false});
  add_switch(app, v.no_ignore_eos, "--no-ignore-eos",
             "Leave ignore_eos out of requests, for servers that do not support it; texts may then "
             "end early");
  mark_inputs(app, {"--dataset"});
  exclude(app, "--dataset", {"--trace", "--input-len", "--shared-prefix", "--prompt-ids", "--ctx"});
}

void add_result_options(CLI::App& app, ServerBenchValues& v) {
  add_text(
      app, v.sweep, "--sweep",
      "Several runs, one at each of these rates: 1,2,4,8, or with these numbers of requests in "
      "flight: concurrency:1,2,4,8. Each run has another seed, so that no run finds the "
      "prompts of another run in a cache");
  exclude(app, "--sweep", {"--rate", "--concurrency"});
  add_goodput_option(app, v.traffic);
  add_number(
      app, v.check,
      {.name = "--check",
       .help = "Requests that are sent again after a run, each alone; a text that differs is "
               "a mismatch and makes the exit code 1",
       .low = 0,
       .high = kTraceRequestsMax});
  add_switch(app, v.json, "--json", "One JSON object");
  add_switch(app, v.markdown, "--markdown", "Markdown tables");
  exclude(app, "--json", {"--markdown"});
}

/// Splits a text at its commas.
std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace

void add_server_bench_options(CLI::App& app, ServerBenchValues& values) {
  add_target_options(app, values);
  add_traffic_options(app, values.traffic);
  add_prompt_options(app, values);
  add_result_options(app, values);
}

std::vector<LoadPoint> load_points(const ServerBenchValues& v) {
  if (!v.sweep) return {{.rate = v.traffic.rate, .concurrency = v.traffic.concurrency}};
  constexpr std::string_view kConcurrency = "concurrency:";
  const bool is_closed = v.sweep->starts_with(kConcurrency);
  if (!is_closed && v.traffic.trace) {
    throw bad_option("--sweep", *v.sweep, "expected concurrency:N,.. as a trace has its arrivals");
  }
  std::vector<LoadPoint> points;
  for (const std::string& part :
       split(is_closed ? v.sweep->substr(kConcurrency.size()) : *v.sweep)) {
    LoadPoint& point = points.emplace_back();
    if (is_closed) {
      point.rate = "inf";
      point.concurrency = parse_whole<std::int64_t>(part, "--sweep", 1, kConcurrencyMax);
    } else {
      point.rate = part;
      if (part != "inf") parse_real(part, "--sweep", kRateMin, kRateMax);
    }
  }
  if (points.size() > kSweepMax) {
    throw Error(ErrorCode::kInvalid,
                cat("--sweep has ", points.size(), " entries, at most ", kSweepMax));
  }
  return points;
}

std::vector<std::int32_t> parse_prompt_ids(const ServerBenchValues& v) {
  constexpr std::int32_t kIdMax = 1 << 24;
  const std::size_t colon = std::min(v.prompt_ids.find(':'), v.prompt_ids.size());
  if (colon == v.prompt_ids.size()) throw bad_option("--prompt-ids", v.prompt_ids, "expected A:B");
  const auto bound = [&](const std::string& text) {
    return parse_whole<std::int32_t>(text, "--prompt-ids", 0, kIdMax);
  };
  const std::int32_t low = bound(v.prompt_ids.substr(0, colon));
  const std::int32_t high = bound(v.prompt_ids.substr(colon + 1));
  if (low > high) throw bad_option("--prompt-ids", v.prompt_ids, "expected the lower id first");
  std::vector<std::int32_t> ids(to_size(high - low) + 1);
  std::iota(ids.begin(), ids.end(), low);
  return ids;
}

void add_settings(const ServerBenchValues& v, Settings& settings) {
  settings.emplace_back("url", v.url);
  settings.emplace_back("endpoint", v.endpoint);
  settings.emplace_back("dataset", v.dataset ? Json(*v.dataset) : Json());
  add_traffic_settings(v.traffic, settings);
  if (v.sweep) {
    std::erase_if(settings,
                  [](const auto& s) { return s.first == "rate" || s.first == "concurrency"; });
  }
  settings.emplace_back("prompt_ids", v.prompt_ids);
  settings.emplace_back("ctx", v.ctx > 0 ? Json(v.ctx) : Json());
  settings.emplace_back("sweep", v.sweep ? Json(*v.sweep) : Json());
  settings.emplace_back("ignore_eos", !v.no_ignore_eos);
  settings.emplace_back("timeout", v.timeout);
  settings.emplace_back("check", v.check);
  settings.emplace_back("goodput", goodput_settings(v.traffic));
}

}  // namespace ingot
