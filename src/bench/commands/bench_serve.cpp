// ingot bench serve-inproc: measures an engine in this process under the load of many requests.
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "bench/commands/bench_commands.h"
#include "bench/commands/bench_serve_options.h"
#include "bench/commands/bench_serve_report.h"
#include "bench/traffic/traffic_run.h"
#include "cli/interrupt.h"
#include "cli/log.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run.h"

namespace ingot {

namespace {

/// The largest possible context; longer requests are cut to it.
std::int64_t context_limit(const ServeValues& v, const Instance& instance) {
  const std::int64_t limit = choose_context(instance, v.model, 0, kContextMax);
  if (limit < 2) {
    throw Error(ErrorCode::kInvalid,
                cat("a context of ", limit, " tokens has no room for a prompt and a token"));
  }
  return limit;
}

/// Start options for the sizes that the traffic needs, as far as memory allows.
StartOptions start_options(const ServeValues& v, const Instance& instance, const Traffic& traffic) {
  StartOptions start{.model = {.check_tensors = v.model.check_tensors}};
  start.context = longest_request(traffic);
  const std::int64_t at_once = v.traffic.concurrency > 0
                                   ? v.traffic.concurrency
                                   : static_cast<std::int64_t>(traffic.requests.size());
  start.sequences = static_cast<std::int32_t>(
      std::min<std::int64_t>({v.sequences, v.step_rows, std::ssize(traffic.requests), at_once}));
  start.rows = v.step_rows;
  start.generates = true;
  start.draft_rows = v.draft.draft_rows(start.sequences);
  shrink_step_to_fit(instance, start);
  start.pool_sequences = instance.fitting_pool(start);
  if (v.kv_tokens > 0) {
    start.pool_sequences = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(v.kv_tokens / start.context, 1, start.pool_sequences));
  }
  return start;
}

Settings settings_of(const ServeValues& v, const Instance& instance, const ThreadPool& pool,
                     const StartOptions& start, std::size_t requests) {
  Settings settings{{"version", INGOT_VERSION},
                    {"model", instance.name()},
                    {"architecture", instance.spec().architecture},
                    {"threads", pool.size()},
                    {"pin_threads", v.model.pin_threads},
                    {"device", std::string_view(instance.backend().name())},
                    {"numerics", instance.backend().numerics()},
                    {"cpu_isa", instance.isa()},
                    {"memory_limit", v.model.memory_limit},
                    {"kv_type", kv_type_name(instance)},
                    {"weights", v.model.weights},
                    {"ctx", v.model.ctx > 0 ? v.model.ctx : instance.spec().context},
                    {"sequences", start.sequences},
                    {"step_rows", start.rows},
                    {"kv_tokens", start.context * start.pool_sequences},
                    {"requests", static_cast<std::int64_t>(requests)}};
  add_settings(v, settings);
  return settings;
}

/// A benchmark of one instance that has been started.
class ServeBench {
 public:
  ServeBench(const ServeValues& values, Instance& instance, SpeculationOptions speculation,
             const Traffic& traffic)
      : values_(values),
        instance_(instance),
        speculation_(std::move(speculation)),
        traffic_(traffic),
        writer_(traffic, {.ids = text_ids(instance.tokenizer(),
                                          std::min(instance.sampled_ids(), instance.spec().vocab),
                                          ids_of(instance.end_tokens())),
                          .seed = values.traffic.seed,
                          .temperature = static_cast<float>(values.traffic.temperature)}),
        checked_(draw_sample(traffic.requests.size(), to_size(values.check), values.traffic.seed)) {
  }

  void run(ServeReport& report) {
    serve(report);
    check(report);
    const Goodput goodput = parse_goodput(values_.traffic);
    report.has_goodput = goodput.is_asked();
    report.summary = summarise(served_, goodput);
  }

  /// The error of the first failed request; empty when none failed.
  std::string first_error() const {
    const auto failed = std::find_if(served_.begin(), served_.end(),
                                     [](const ServedRequest& r) { return !r.error.empty(); });
    return failed == served_.end() ? "" : failed->error;
  }

 private:
  void serve(ServeReport& report) {
    ProgressBar bar("serving");
    EngineMetrics metrics;
    TraceFile trace(values_.step_trace, &metrics);
    auto engine = instance_.make_engine({.waiting_max = to_size(values_.queue),
                                         .prefix_cache = !values_.no_prefix_cache,
                                         .step_seconds = values_.target_itl_ms / 1000,
                                         .speculation = speculation_,
                                         .observer = trace.observer()});
    engine->prepare();
    const auto total = traffic_.requests.size();
    const auto on_step = [&] {
      interruption_point();
      engine->require_alive();
    };
    TrafficRun run(*engine, traffic_, writer_, steady_traffic_clock(),
                   {.concurrency = values_.traffic.concurrency,
                    .checked = checked_,
                    .on_step = on_step,
                    .on_done = [&](std::size_t done) { bar.show(done, total); }});
    served_ = run.run();
    engine->require_alive();
    report.engine = metrics.snapshot();
    engine.reset();
    trace.finish();
  }

  /// Runs each checked request on its own engine, which has an empty cache.
  void check(ServeReport& report) {
    ProgressBar bar("checking");
    for (const std::size_t number : checked_) {
      const ServedRequest& served = served_[number];
      if (!served.is_completed()) continue;
      const auto engine = instance_.make_engine();
      const ServedRequest alone = serve_alone(*engine, writer_.write(number), interruption_point);
      engine->require_alive();
      ++report.checked;
      report.checked_cached += alone.cached_tokens;
      if (!alone.has_output_of(served)) ++report.mismatches;
      bar.show(static_cast<std::uint64_t>(report.checked), checked_.size());
    }
  }

  const ServeValues& values_;
  Instance& instance_;
  SpeculationOptions speculation_;
  const Traffic& traffic_;
  RequestWriter writer_;
  std::vector<std::size_t> checked_;
  std::vector<ServedRequest> served_;
};

int exit_code(const ServeReport& report, const std::string& first_error) {
  if (report.mismatches > 0) {
    log_error(cat("mismatch: ", report.mismatches, " of ", report.checked,
                  " requests gave other results alone than under load"));
    return kCheckFailed;
  }
  if (report.summary.failed > 0) {
    log_error(cat(report.summary.failed, " requests failed, the first one with: ", first_error));
    return kCheckFailed;
  }
  return kDone;
}

int serve_inproc(ServeValues& v) {
  parse_goodput(v.traffic);
  v.draft = choose_drafts(v.model);
  Traffic traffic = make_traffic(v.traffic);
  const auto pool = make_pool(v.model);
  InstanceOptions options = instance_options(v.model);
  options.profile = v.step_trace.profile;
  Instance instance(*pool, options);
  show_warnings(instance);
  ServeReport report;
  report.cut = cut_with_warning(traffic, context_limit(v, instance));
  const StartOptions start = start_options(v, instance, traffic);
  report.settings = settings_of(v, instance, *pool, start, traffic.requests.size());
  start_with_progress(instance, start);
  ServeBench bench(v, instance, start_drafts(v.draft, *pool, instance, start), traffic);
  bench.run(report);
  write_stdout(v.json ? as_json(report)
                      : as_tables(report, v.markdown ? kMarkdownFrame : kPlainFrame));
  return exit_code(report, bench.first_error());
}

}  // namespace

Command add_serve_inproc_command(CLI::App& bench) {
  auto values = std::make_shared<ServeValues>();
  CLI::App& sub = add_command(bench, "serve-inproc",
                              "Send requests to an engine in this process on schedule, and measure "
                              "throughput and latencies");
  add_serve_options(sub, *values);
  return {&sub, [values] { return serve_inproc(*values); },
          "ingot bench serve-inproc model.gguf --requests 64 --rate 4"};
}

}  // namespace ingot
