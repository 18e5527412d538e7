// ingot bench serve: measures any server of OpenAI's API under the load of many requests.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "bench/client/load_client.h"
#include "bench/client/metrics_text.h"
#include "bench/commands/bench_commands.h"
#include "bench/commands/bench_server_options.h"
#include "bench/commands/bench_server_report.h"
#include "bench/commands/request_bodies.h"
#include "cli/interrupt.h"
#include "cli/log.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "cli/progress.h"

namespace ingot {

namespace {

constexpr std::int64_t kBytesPerToken = 4;
/// Most output tokens for a conversation, because some recorded replies are very long.
constexpr std::int64_t kAnswerTokensMax = 2048;

std::string api_key() {
  for (const char* name : {"INGOT_API_KEY", "OPENAI_API_KEY"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string key = value;
    // Other characters, such as line ends, would change the request's head.
    if (std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 0x7f; })) return key;
    throw Error(ErrorCode::kInvalid,
                cat(name, " is not possible: it holds more than plain letters, digits and signs"));
  }
  return {};
}

std::string first_model_of(LoadClient& client) {
  const PlainAnswer answer = client.get("/v1/models");
  if (!answer.problem.empty()) {
    throw Error(ErrorCode::kUnavailable, cat("/v1/models: ", answer.problem));
  }
  if (answer.status != 200) {
    throw Error(ErrorCode::kUnavailable,
                cat("/v1/models: status ", answer.status, ": ", error_message(answer.body)));
  }
  std::string model = first_model(answer.body);
  if (model.empty()) {
    throw Error(ErrorCode::kUnavailable, "/v1/models names no model: --model says which one");
  }
  return model;
}

/// The server's preemptions so far; nullopt if its metrics do not say.
std::optional<double> preemptions_of(LoadClient& client) {
  const PlainAnswer answer = client.get("/metrics");
  if (!answer.problem.empty() || answer.status != 200) return std::nullopt;
  return metric_sum(answer.body, "vllm:num_preemptions_total");
}

/// Converts a call's result to the type from which figures are computed.
ServedRequest as_served(const LoadedCall& call, const PlannedRequest& planned) {
  const CallResult& r = call.result;
  ServedRequest served{
      .start = call.start, .queue = r.sent - call.start, .first = r.first, .last = r.last};
  served.gaps = r.gaps;
  served.prompt_tokens = r.usage ? r.usage->prompt_tokens : planned.prompt_tokens;
  served.cached_tokens = r.usage ? r.usage->cached_tokens : 0;
  served.output_tokens = r.output_tokens();
  served.is_busy = r.is_rejected();
  if (!served.is_busy) served.error = r.error;
  return served;
}

std::string kind_of_error(const CallResult& r) {
  if (r.status == 0) return "connection";
  return r.status == 200 ? "stream" : cat(r.status);
}

/// The inputs of requests, read before the first connection to the server.
struct LoadInputs {
  explicit LoadInputs(const ServerBenchValues& values)
      : traffic(make_traffic(values.traffic)), prompt_ids(parse_prompt_ids(values)) {
    if (values.dataset) conversations = read_conversations(*values.dataset);
  }

  Traffic traffic;  ///< a trace's traffic, used by all runs; synthetic traffic differs by run
  std::vector<std::int32_t> prompt_ids;
  std::vector<Conversation> conversations;
};

/// Runs loads on one server.
class ServerBench {
 public:
  ServerBench(const ServerBenchValues& values, const LoadInputs& inputs, LoadClient& client,
              std::string model)
      : values_(values), inputs_(inputs), client_(client), model_(std::move(model)) {}

  ServerRun run(const LoadPoint& load, std::uint64_t seed) {
    ServerRun run;
    run.load = load;
    const Traffic traffic = traffic_of(run, seed);
    const RequestBodies bodies(traffic, inputs_.conversations,
                               {.is_chat = values_.endpoint == "chat",
                                .model = model_,
                                .prompt_ids = inputs_.prompt_ids,
                                .seed = seed,
                                .temperature = values_.traffic.temperature,
                                .ignore_eos = !values_.no_ignore_eos});
    const auto checked = draw_sample(traffic.requests.size(), to_size(values_.check), seed);
    const std::optional<double> before = preemptions_of(client_);
    const std::int64_t reconnects = client_.reconnects();
    const std::vector<LoadedCall> calls = serve(traffic, bodies, checked, load);
    run.reconnects = client_.reconnects() - reconnects;
    const std::optional<double> after = before ? preemptions_of(client_) : std::nullopt;
    if (after) run.preemptions = std::llround(*after - *before);
    add_up(calls, traffic, run);
    check(calls, bodies, checked, run);
    return run;
  }

 private:
  Traffic traffic_of(ServerRun& run, std::uint64_t seed) const {
    Traffic traffic = inputs_.traffic;
    if (!values_.traffic.trace) {
      TrafficValues asked = values_.traffic;
      asked.rate = run.load.rate;
      asked.seed = seed;
      traffic = make_traffic(asked);
    }
    if (values_.ctx > 0) run.cut = cut_with_warning(traffic, values_.ctx);
    if (!inputs_.conversations.empty()) take_conversation_lengths(traffic, seed);
    return traffic;
  }

  void take_conversation_lengths(Traffic& traffic, std::uint64_t seed) const {
    const std::vector<Conversation>& all = inputs_.conversations;
    for (std::size_t i = 0; i < traffic.requests.size(); ++i) {
      const Conversation& conversation = all[conversation_of(i, all.size(), seed)];
      PlannedRequest& planned = traffic.requests[i];
      planned.prompt_tokens = 1 + std::ssize(conversation.prompt) / kBytesPerToken;
      if (values_.has_output_len) continue;
      const auto tokens = static_cast<std::int64_t>(conversation.answer_bytes) / kBytesPerToken;
      planned.output_tokens = std::clamp<std::int64_t>(tokens, 1, kAnswerTokensMax);
    }
  }

  std::vector<LoadedCall> serve(const Traffic& traffic, const RequestBodies& bodies,
                                const std::vector<std::size_t>& checked, const LoadPoint& load) {
    ProgressBar bar("serving");
    const std::size_t total = traffic.requests.size();
    LoadPlan plan{.path = bodies.path(),
                  .arrivals = {},
                  .concurrency = to_size(load.concurrency),
                  .body = [&](std::size_t number) { return bodies.write(number); },
                  .keeps_text =
                      [&](std::size_t number) {
                        return std::binary_search(checked.begin(), checked.end(), number);
                      },
                  .on_done = [&](std::size_t done) { bar.show(done, total); }};
    for (const PlannedRequest& r : traffic.requests) plan.arrivals.push_back(r.arrival);
    return client_.run(plan);
  }

  void add_up(const std::vector<LoadedCall>& calls, const Traffic& traffic, ServerRun& run) const {
    std::vector<double> rejected;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const CallResult& r = calls[i].result;
      const ServedRequest& served =
          run.served.emplace_back(as_served(calls[i], traffic.requests[i]));
      run.send_delay_ms_max = std::max(run.send_delay_ms_max, served.queue * 1e3);
      if (served.is_busy) rejected.push_back((r.answer - served.start) * 1e3);
      if (!served.is_completed()) ++run.errors_by_status[kind_of_error(r)];
      if (served.is_completed() && !r.usage) ++run.without_usage;
      if (r.usage && r.usage->says_cached) run.says_cached = true;
      if (run.first_error.empty()) run.first_error = served.error;
    }
    run.rejected_ms = distribution(std::move(rejected));
    run.summary = summarise(run.served, parse_goodput(values_.traffic));
  }

  void check(const std::vector<LoadedCall>& calls, const RequestBodies& bodies,
             std::vector<std::size_t> sample, ServerRun& run) {
    std::erase_if(sample, [&](std::size_t n) { return !run.served[n].is_completed(); });
    ProgressBar bar("checking");
    const LoadPlan plan{.path = bodies.path(),
                        .arrivals = std::vector<double>(sample.size()),
                        .concurrency = 1,
                        .body = [&](std::size_t i) { return bodies.write(sample[i]); },
                        .keeps_text = [](std::size_t) { return true; },
                        .on_done = [&](std::size_t done) { bar.show(done, sample.size()); }};
    const std::vector<LoadedCall> alone = client_.run(plan);
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const CallResult& again = alone[i].result;
      const CallResult& loaded = calls[sample[i]].result;
      ++run.checked;
      if (!again.error.empty()) {
        ++run.check_failed;
        if (run.first_error.empty()) run.first_error = again.error;
        continue;
      }
      const bool is_same = again.text == loaded.text && again.finish_reason == loaded.finish_reason;
      if (!is_same) ++run.mismatches;
    }
  }

  const ServerBenchValues& values_;
  const LoadInputs& inputs_;
  LoadClient& client_;
  std::string model_;
};

int exit_code(const ServerReport& report) {
  std::int64_t mismatches = 0, checked = 0, check_failed = 0, failed = 0, completed = 0;
  std::string first_error;
  for (const ServerRun& run : report.runs) {
    mismatches += run.mismatches;
    checked += run.checked;
    check_failed += run.check_failed;
    failed += run.summary.failed;
    completed += run.summary.completed;
    if (first_error.empty()) first_error = run.first_error;
  }
  if (mismatches > 0) {
    log_error(cat("mismatch: ", mismatches, " of ", checked,
                  " requests gave other results alone than under load"));
    return kCheckFailed;
  }
  if (failed > 0) {
    log_error(cat(failed, " requests failed, the first one with: ", first_error));
  } else if (check_failed > 0) {
    log_error(cat(check_failed, " of ", checked,
                  " requests could not be checked, the first one with: ", first_error));
  } else if (completed == 0) {
    log_error("no request was served: the server refused all of them");
  } else {
    return kDone;
  }
  return kCheckFailed;
}

/// The time in UTC, such as "20261126-081500".
std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &utc)};
}

int serve_bench(const ServerBenchValues& v) {
  const std::vector<LoadPoint> points = load_points(v);
  ServerReport report{.runs = {},
                      .is_sweep = v.sweep.has_value(),
                      .has_goodput = parse_goodput(v.traffic).is_asked(),
                      .settings = {}};
  const LoadInputs inputs(v);
  LoadClient client({.url = parse_server_url(v.url),
                     .verify = !v.insecure,
                     .api_key = api_key(),
                     .user_agent = "ingot/" INGOT_VERSION,
                     .timeout_seconds = v.timeout,
                     .on_tick = interruption_point});
  client.connect();
  const std::string model = v.model ? *v.model : first_model_of(client);
  ServerBench bench(v, inputs, client, model);
  for (std::size_t i = 0; i < points.size(); ++i) {
    report.runs.push_back(bench.run(points[i], v.traffic.seed + i));
  }
  report.settings = {{"version", INGOT_VERSION},
                     {"model", model},
                     {"requests", std::ssize(report.runs.front().served)}};
  add_settings(v, report.settings);
  const char* const backend = v.endpoint == "chat" ? "openai-chat" : "openai";
  report.identity = {{"date", date_now()},
                     {"backend", backend},
                     {"model_id", model},
                     {"num_prompts", std::ssize(report.runs.front().served)},
                     {"burstiness", v.traffic.burstiness}};
  write_stdout(v.json ? as_json(report)
                      : as_tables(report, v.markdown ? kMarkdownFrame : kPlainFrame));
  return exit_code(report);
}

}  // namespace

Command add_bench_server_command(CLI::App& bench) {
  auto values = std::make_shared<ServerBenchValues>();
  CLI::App& sub = add_command(
      bench, "serve",
      "Send requests to a server of OpenAI's API, and measure throughput and latencies");
  add_server_bench_options(sub, *values);
  set_footer(sub,
             "Environment:\n  INGOT_API_KEY, OPENAI_API_KEY  the API key; the first one that is "
             "set");
  return {&sub,
          [values, &sub] {
            values->has_output_len = is_given(sub, "--output-len");
            return serve_bench(*values);
          },
          "ingot bench serve http://127.0.0.1:8080 --requests 64 --rate 4"};
}

}  // namespace ingot
