// Declaring the options of traffic, and reading what they say.
#include "cli/bench_serve_options.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "cli/options.h"
#include "runtime/traffic_trace.h"

namespace ingot {

namespace {

constexpr std::int64_t kSyntheticRequests = 64;
constexpr double kRateMin = 1e-6, kRateMax = 1e6;
constexpr double kMillisecondsMax = 1e9;

/// "128", or "64:256" for any length between.
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

Traffic traffic_of_trace(const ServeValues& v) {
  const std::int64_t most = v.requests > 0 ? v.requests : std::numeric_limits<std::int64_t>::max();
  Traffic traffic = read_trace(*v.trace, most);
  for (PlannedRequest& r : traffic.requests) r.arrival /= v.speedup;
  if (v.length_scale != 1) scale_lengths(traffic, v.length_scale);
  return traffic;
}

void add_trace_options(CLI::App& app, ServeValues& v) {
  add_text(app, v.trace, "--trace",
           "Arrivals and lengths from this file: Azure's CSV (TIMESTAMP,ContextTokens,"
           "GeneratedTokens) or Mooncake's JSON lines, whose prompts share what they shared there");
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

void add_synthetic_options(CLI::App& app, ServeValues& v) {
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
           {.name = "--output-len",
            .help = "Tokens to generate, all of them whatever they are, or A:B"});
  add_number(app, v.shared_prefix,
             {.name = "--shared-prefix",
              .help = "Tokens in front of every prompt, the same in all",
              .low = 0,
              .high = kContextMax / 2});
  exclude(app, "--trace",
          {"--rate", "--burstiness", "--input-len", "--output-len", "--shared-prefix"});
}

void add_load_options(CLI::App& app, ServeValues& v) {
  add_number(app, v.requests,
             {.name = "--requests",
              .help = "How many; of a trace the first ones (default: all of a trace, else 64)",
              .low = 1,
              .high = kTraceRequestsMax,
              .show_default = false});
  add_number(app, v.concurrency,
             {.name = "--concurrency",
              .help = "Requests under way at once: the next one starts when one ends, and arrival "
                      "times do not count",
              .low = 1,
              .high = 65536,
              .show_default = false});
  exclude(app, "--concurrency", {"--rate", "--burstiness", "--speedup"});
  add_number(app, v.seed,
             {.name = "--seed",
              .help = "Of arrivals, lengths, tokens, and which requests are checked",
              .low = 0,
              .high = std::numeric_limits<std::uint64_t>::max()});
  add_number(app, v.temperature,
             {.name = "--temperature",
              .help = "How tokens are drawn; 0: the most likely ones",
              .low = 0,
              .high = 100});
}

void add_engine_options(CLI::App& app, ServeValues& v) {
  add_number(app, v.sequences,
             {.name = "--sequences", .help = "Requests that run at once", .low = 1, .high = 1024});
  add_number(app, v.step_rows,
             {.name = "--step-rows",
              .help = "Tokens that a step computes at most, of all that run; fewer where memory is "
                      "short",
              .low = 1,
              .high = 16384});
  add_number(app, v.kv_tokens,
             {.name = "--kv-tokens",
              .help = "Tokens whose keys and values the cache has room for, in whole requests of "
                      "the longest kind and at least one; where all that run need more, they make "
                      "room for each other (default: what all need, or what fits)",
              .low = 1,
              .high = std::int64_t{1} << 40,
              .show_default = false});
  add_number(app, v.queue,
             {.name = "--queue",
              .help = "Requests that may wait to run; one that arrives when so many do is refused "
                      "and counted as busy, an error",
              .low = 1,
              .high = kTraceRequestsMax});
  add_number(
      app, v.target_itl_ms,
      {.name = "--target-itl-ms",
       .help = "Milliseconds that a step may take where prompts are computed beside requests "
               "that wait for their next token; 0: in proportion to a step without prompts",
       .low = 0,
       .high = kMillisecondsMax});
  add_switch(app, v.no_prefix_cache, "--no-prefix-cache",
             "Nothing that was computed for one request is taken over by another");
}

void add_result_options(CLI::App& app, ServeValues& v) {
  add_texts(app, v.goodput, "--goodput",
            "What a request has to keep to count for request_goodput, in milliseconds: ttft:MS "
            "tpot:MS e2el:MS",
            3);
  add_number(app, v.check,
             {.name = "--check",
              .help = "Requests that are run again afterwards, each alone: a result that differs "
                      "in a bit is a mismatch, and the exit code 1",
              .low = 0,
              .high = kTraceRequestsMax});
  add_switch(app, v.json, "--json", "One JSON object");
  add_switch(app, v.markdown, "--markdown", "Markdown tables");
  exclude(app, "--json", {"--markdown"});
}

}  // namespace

void add_serve_options(CLI::App& app, ServeValues& values) {
  add_model_options(app, values.model);
  add_trace_options(app, values);
  add_synthetic_options(app, values);
  add_load_options(app, values);
  add_engine_options(app, values);
  add_result_options(app, values);
  add_trace_file_options(app, values.step_trace, "--step-trace");
}

Traffic make_traffic(const ServeValues& values) {
  if (values.trace) return traffic_of_trace(values);
  return synthetic_traffic({.requests = values.requests > 0 ? values.requests : kSyntheticRequests,
                            .rate = parse_rate(values.rate),
                            .burstiness = values.burstiness,
                            .input = parse_range(values.input_len, "--input-len"),
                            .output = parse_range(values.output_len, "--output-len"),
                            .shared_prefix = values.shared_prefix,
                            .seed = values.seed});
}

Goodput parse_goodput(const ServeValues& values) {
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

void add_settings(const ServeValues& v, Settings& settings) {
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
  settings.emplace_back("queue", v.queue);
  settings.emplace_back("target_itl_ms", v.target_itl_ms);
  settings.emplace_back("prefix_cache", !v.no_prefix_cache);
  settings.emplace_back("check", v.check);
  settings.emplace_back("step_trace", v.step_trace.path.has_value());
  settings.emplace_back("profile", v.step_trace.profile);
  Json goodput = Json::array();
  for (const std::string& text : v.goodput) goodput.push(text);
  settings.emplace_back("goodput", std::move(goodput));
}

}  // namespace ingot
