// Declares the options of `ingot bench serve-inproc`.
#include "bench/commands/bench_serve_options.h"

#include "bench/traffic/traffic_trace.h"
#include "cli/options/options.h"

namespace ingot {

namespace {

void add_engine_options(CLI::App& app, ServeValues& v) {
  add_number(app, v.sequences,
             {.name = "--sequences", .help = "Requests that run at once", .low = 1, .high = 1024});
  add_number(app, v.step_rows,
             {.name = "--step-rows",
              .help = "Token budget of a step, for all requests together; less if memory is short",
              .low = 1,
              .high = 16384});
  add_number(
      app, v.kv_tokens,
      {.name = "--kv-tokens",
       .help = "Tokens that the KV cache holds, rounded down to whole requests of the longest "
               "length, at least one; running requests that need more preempt each other "
               "(default: what all need, or what fits)",
       .low = 1,
       .high = std::int64_t{1} << 40,
       .show_default = false});
  add_number(app, v.queue,
             {.name = "--queue",
              .help = "Requests that may wait to run; if the queue is full, a request is refused "
                      "and counted as busy, which is an error",
              .low = 1,
              .high = kTraceRequestsMax});
  add_number(
      app, v.target_itl_ms,
      {.name = "--target-itl-ms",
       .help = "Milliseconds that a step with prompt tokens may take while other requests wait "
               "for their next token; 0: in proportion to a step without prompt tokens",
       .low = 0,
       .high = kMillisecondsMax});
  add_switch(app, v.no_prefix_cache, "--no-prefix-cache",
             "Do not reuse keys and values of equal prompt prefixes");
}

void add_result_options(CLI::App& app, ServeValues& v) {
  add_goodput_option(app, v.traffic);
  add_number(
      app, v.check,
      {.name = "--check",
       .help = "Requests that are run again afterwards, each alone; a result that differs in "
               "any bit is a mismatch and makes the exit code 1",
       .low = 0,
       .high = kTraceRequestsMax});
  add_switch(app, v.json, "--json", "One JSON object");
  add_switch(app, v.markdown, "--markdown", "Markdown tables");
  exclude(app, "--json", {"--markdown"});
}

}  // namespace

void add_serve_options(CLI::App& app, ServeValues& values) {
  add_model_options(app, values.model);
  values.model.draft.draft = "off";
  add_draft_options(app, values.model.draft);
  add_traffic_options(app, values.traffic);
  add_engine_options(app, values);
  add_result_options(app, values);
  add_trace_file_options(app, values.step_trace, "--step-trace");
}

void add_settings(const ServeValues& v, Settings& settings) {
  add_traffic_settings(v.traffic, settings);
  settings.emplace_back("queue", v.queue);
  settings.emplace_back("target_itl_ms", v.target_itl_ms);
  settings.emplace_back("prefix_cache", !v.no_prefix_cache);
  settings.emplace_back("draft", v.model.draft.draft);
  settings.emplace_back("draft_tokens", v.model.draft.tokens);
  settings.emplace_back("check", v.check);
  settings.emplace_back("step_trace", v.step_trace.path.has_value());
  settings.emplace_back("profile", v.step_trace.profile);
  settings.emplace_back("goodput", goodput_settings(v.traffic));
}

}  // namespace ingot
