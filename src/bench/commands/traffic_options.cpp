// Declares and parses the traffic options of serving benchmarks.
#include "bench/commands/traffic_options.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "bench/traffic/traffic_trace.h"
#include "cli/log.h"
#include "cli/options/options.h"
#include "load/config.h"

namespace ingot {

namespace {

constexpr std::int64_t kSyntheticRequests = 64;

/// Parses "128", or "64:256" for any length between.
LengthRange parse_range(const std::string& text, std::string_view option) {
  const std::size_t colon = text.find(':');
  const auto bound = [&](const std::string& part) {
    return parse_whole<std::int64_t>(part, option, 1, kContextMax);
  };
  if (colon == std::string::npos) return {.low = bound(text), .high = bound(text)};
  const LengthRange range{.low = bound(text.substr(0, colon)),
                          .high = bound(text.substr(colon + 1))};
  if (range.low > range.high) throw bad_option(option, text, "expected the lower length first");
  return range;
}

double parse_rate(const std::string& text) {
  return text == "inf" ? std::numeric_limits<double>::infinity()
                       : parse_real(text, "--rate", kRateMin, kRateMax);
}

Traffic traffic_of_trace(const TrafficValues& v) {
  const std::int64_t most = v.requests > 0 ? v.requests : std::numeric_limits<std::int64_t>::max();
  Traffic traffic = read_trace(*v.trace, most);
  for (PlannedRequest& r : traffic.requests) r.arrival /= v.speedup;
  if (v.length_scale != 1) scale_lengths(traffic, v.length_scale);
  return traffic;
}

void add_trace_options(CLI::App& app, TrafficValues& v) {
  add_text(app, v.trace, "--trace",
           "Arrivals and lengths from this file: Azure's CSV (TIMESTAMP,ContextTokens,"
           "GeneratedTokens) or Mooncake's JSON lines, whose shared prefixes are kept");
  mark_inputs(app, {"--trace"});
  add_number(app, v.speedup,
             {.name = "--speedup",
              .help = "Divides the arrival times of a trace",
              .low = 1e-6,
              .high = 1e9});
  add_number(app, v.length_scale,
             {.name = "--length-scale",
              .help = "Multiplies the lengths of a trace",
              .low = 1e-6,
              .high = 1e3});
  for (const char* option : {"--speedup", "--length-scale"}) need(app, option, "--trace");
}

void add_synthetic_options(CLI::App& app, TrafficValues& v) {
  add_text(app, v.rate,
           {.name = "--rate", .help = "Requests a second on average, or inf: all arrive at once"});
  add_number(app, v.burstiness,
             {.name = "--burstiness",
              .help = "Shape of the gamma distribution of the gaps between arrivals; 1: a Poisson "
                      "process, less: burstier",
              .low = 0.01,
              .high = 1000});
  add_text(app, v.input_len,
           {.name = "--input-len", .help = "Tokens of a prompt, or A:B for any number between"});
  add_text(app, v.output_len,
           {.name = "--output-len", .help = "Tokens to generate, even after an end token, or A:B"});
  add_number(app, v.shared_prefix,
             {.name = "--shared-prefix",
              .help = "Tokens that begin every prompt and are equal in all",
              .low = 0,
              .high = kContextMax / 2});
  exclude(app, "--trace",
          {"--rate", "--burstiness", "--input-len", "--output-len", "--shared-prefix"});
}

void add_load_options(CLI::App& app, TrafficValues& v) {
  add_number(
      app, v.requests,
      {.name = "--requests",
       .help = "Number of requests; the first ones of a trace (default: all of a trace, else 64)",
       .low = 1,
       .high = kTraceRequestsMax,
       .show_default = false});
  add_number(app, v.concurrency,
             {.name = "--concurrency",
              .help = "Requests in flight at once: the next one starts when one ends, and arrival "
                      "times are ignored",
              .low = 1,
              .high = 65536,
              .show_default = false});
  exclude(app, "--concurrency", {"--rate", "--burstiness", "--speedup"});
  add_number(app, v.seed,
             {.name = "--seed",
              .help = "Seed of arrivals, lengths, tokens, and the choice of checked requests",
              .low = 0,
              .high = std::numeric_limits<std::uint64_t>::max()});
  add_number(app, v.temperature,
             {.name = "--temperature",
              .help = "Sampling temperature; 0: always the most likely token",
              .low = 0,
              .high = 100});
}

}  // namespace

void add_traffic_options(CLI::App& app, TrafficValues& values) {
  add_trace_options(app, values);
  add_synthetic_options(app, values);
  add_load_options(app, values);
}

void add_goodput_option(CLI::App& app, TrafficValues& values) {
  add_texts(app, values.goodput, "--goodput",
            "Latency limits of requests that count for request_goodput, in milliseconds: ttft:MS "
            "tpot:MS e2el:MS",
            3);
}

Traffic make_traffic(const TrafficValues& values) {
  if (values.trace) return traffic_of_trace(values);
  return synthetic_traffic({.requests = values.requests > 0 ? values.requests : kSyntheticRequests,
                            .rate = parse_rate(values.rate),
                            .burstiness = values.burstiness,
                            .input = parse_range(values.input_len, "--input-len"),
                            .output = parse_range(values.output_len, "--output-len"),
                            .shared_prefix = values.shared_prefix,
                            .seed = values.seed});
}

Goodput parse_goodput(const TrafficValues& values) {
  Goodput goodput;
  for (const std::string& text : values.goodput) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string name = text.substr(0, colon);
    std::optional<double>* bound = name == "ttft"   ? &goodput.ttft_ms
                                   : name == "tpot" ? &goodput.tpot_ms
                                   : name == "e2el" ? &goodput.e2el_ms
                                                    : nullptr;
    if (bound == nullptr || *bound || colon == text.size()) {
      throw bad_option("--goodput", text, "expected ttft:MS, tpot:MS and e2el:MS, each once");
    }
    *bound = parse_real(text.substr(colon + 1), "--goodput", 0, kMillisecondsMax);
  }
  return goodput;
}

CutLengths cut_with_warning(Traffic& traffic, std::int64_t context) {
  const CutLengths cut = cut_to_context(traffic, context);
  if (cut.prompts + cut.outputs > 0) {
    log_warning(cat("cut to the context of ", context, " tokens: ", cut.prompts, " prompts and ",
                    cut.outputs, " outputs of ", traffic.requests.size(),
                    " requests; --length-scale and --ctx keep their proportions"));
  }
  return cut;
}

void add_traffic_settings(const TrafficValues& v, Settings& settings) {
  settings.emplace_back("trace", v.trace ? Json(*v.trace) : Json());
  if (v.trace) {
    settings.emplace_back("speedup", v.speedup);
    settings.emplace_back("length_scale", v.length_scale);
  } else {
    settings.emplace_back("rate", v.rate);
    settings.emplace_back("burstiness", v.burstiness);
    settings.emplace_back("input_len", v.input_len);
    settings.emplace_back("output_len", v.output_len);
    settings.emplace_back("shared_prefix", v.shared_prefix);
  }
  settings.emplace_back("concurrency", v.concurrency > 0 ? Json(v.concurrency) : Json());
  settings.emplace_back("seed", v.seed);
  settings.emplace_back("temperature", v.temperature);
}

Json goodput_settings(const TrafficValues& v) {
  Json goodput = Json::array();
  for (const std::string& text : v.goodput) goodput.push(text);
  return goodput;
}

}  // namespace ingot
