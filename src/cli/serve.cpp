// ingot serve: a model behind an HTTP API.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "cli/command.h"
#include "cli/log.h"
#include "cli/options/built_in_model.h"
#include "cli/options/chat_input.h"
#include "cli/options/model_options.h"
#include "cli/options/options.h"
#include "cli/options/serve_options.h"
#include "cli/run.h"
#include "cli/stop_signal.h"
#include "runtime/observe/engine_log.h"
#include "server/common/api.h"
#include "server/http/connection_times.h"
#include "server/http/descriptors.h"
#include "server/http/server.h"
#include "server/loading.h"
#include "server/routes.h"
#include "server/sandbox.h"
#include "server/self_test.h"

namespace ingot {

namespace {

constexpr int kInternal = 70;
constexpr int kForced = 3;
using Clock = std::chrono::steady_clock;

/// For the last bytes of responses, once the engine has ended all requests.
constexpr double kFlushSeconds = 1.5;

/// Between two looks at the file that weights are mapped from: a text that the model does not say
/// is worse than none.
constexpr double kLookSeconds = 5;

/// Of the engine's last steps, for GET /admin/steps.
constexpr std::size_t kStepsKept = 256;

/// Tokens of keys and values that are wanted for all requests.
std::int64_t kv_tokens_of(const ServerValues& v, std::int64_t context) {
  return v.kv_tokens > 0 ? v.kv_tokens
                         : std::max(context, static_cast<std::int64_t>(kKvTokensDefault));
}

std::int32_t sequences_of(const ServerValues& v, std::int64_t context) {
  if (v.sequences > 0) return std::min(v.sequences, v.step_rows);
  const std::int64_t by_tokens =
      std::clamp(kv_tokens_of(v, context) / kTokensOfSequence, kSequencesLeast, kSequencesMost);
  return static_cast<std::int32_t>(std::min<std::int64_t>(by_tokens, v.step_rows));
}

/// The most that can run at once, with a KV pool of what memory there is.
StartOptions start_options(const ServerValues& v, const Instance& instance) {
  StartOptions start{.model = {.check_tensors = v.model.check_tensors}};
  start.context = choose_context(instance, v.model, 0, std::numeric_limits<std::int64_t>::max());
  if (v.model.ctx == 0) start.context = std::min(start.context, kServedContext);
  start.sequences = sequences_of(v, start.context);
  start.rows = v.step_rows;
  start.generates = true;
  start.prompt_logprobs = kLogprobsMax;
  if (v.model.ctx == 0) {
    StartOptions one = start;
    one.pool_sequences = 1;
    const MemoryPlan plan = instance.plan(one);
    if (!plan.fits && plan.max_context > 0) start.context = plan.max_context;
  }
  shrink_step_to_fit(instance, start);
  const std::int64_t wanted = kv_tokens_of(v, start.context);
  start.pool_sequences = static_cast<std::int32_t>(std::clamp<std::int64_t>(
      (wanted + start.context - 1) / start.context, 1, instance.fitting_pool(start)));
  return start;
}

/// Says where the server has less than it is meant to have, and why.
void warn_of_less(const ServerValues& v, const Instance& instance, const StartOptions& start) {
  // What does not fit at all is an error that says so.
  if (!instance.plan(start).fits) return;
  constexpr std::string_view kMemory = "the memory holds no more";
  if (start.rows < v.step_rows) {
    log_warning(cat("steps have ", start.rows, " tokens at most instead of ", v.step_rows,
                    " (--step-rows): ", kMemory));
  }
  if (start.sequences < v.sequences) {
    log_warning(cat("--sequences ", v.sequences, ": ", start.sequences,
                    ", since each needs one of the tokens of a step (--step-rows)"));
  }
  const std::int64_t tokens = start.context * start.pool_sequences;
  if (tokens < v.kv_tokens) {
    const std::string of_all = cat(start.sequences, " requests of ", start.context,
                                   " tokens need no more (--sequences, --ctx)");
    log_warning(cat("--kv-tokens ", v.kv_tokens, ": ", tokens, ", since ",
                    start.pool_sequences == start.sequences ? of_all : kMemory));
  }
}

std::string served_name(const ServerValues& v, const Instance& instance) {
  if (v.model_name) return *v.model_name;
  const std::string& path = instance.name();
  std::string name = path.substr(path.find_last_of('/') + 1);
  if (name.ends_with(".gguf")) name.resize(name.size() - 5);
  return name.empty() ? std::string(kBuiltInModel) : name;
}

std::optional<ServedChat> served_chat(const ServerValues& v, const Instance& instance) {
  if (instance.tokenizer() == nullptr) return std::nullopt;
  if (v.chat_template) {
    const NamedTemplate named = find_template(*v.chat_template);
    return ServedChat{{named.text, named.name, *instance.tokenizer()}, std::string(named.text)};
  }
  const TokenizerData* data = instance.checkpoint().tokenizer();
  if (data == nullptr || !data->chat_template) return std::nullopt;
  return ServedChat{{*data->chat_template, instance.name(), *instance.tokenizer()},
                    *data->chat_template};
}

/// The file's, and the environment's behind them.
ApiKeys read_keys(const ServerValues& v) {
  ApiKeys keys = v.api_key_file ? read_api_keys(*v.api_key_file) : ApiKeys();
  if (const char* key = std::getenv("INGOT_API_KEY")) keys.add(key, "INGOT_API_KEY");
  return keys;
}

/// The numbers of the keys that an option names by their ID.
std::vector<std::size_t> numbers_of(const ApiKeys& keys, std::string_view option,
                                    std::string_view id) {
  std::vector<std::size_t> numbers;
  for (std::size_t number = 1; number <= keys.size(); ++number) {
    if (keys.id(number) == id) numbers.push_back(number);
  }
  if (numbers.empty()) {
    throw Error(ErrorCode::kInvalid, cat(option, " ", id, ": no API key has this ID"));
  }
  return numbers;
}

/// The numbers of those that --operator-key names.
std::set<std::size_t> operators_of(const ServerValues& v, const ApiKeys& keys) {
  std::set<std::size_t> operators;
  for (const std::string& id : v.operator_keys) {
    const auto numbers = numbers_of(keys, "--operator-key", id);
    operators.insert(numbers.begin(), numbers.end());
  }
  return operators;
}

/// By number, those of the keys that --key-weight names.
std::map<std::uint64_t, double> weights_of(const ServerValues& v, const ApiKeys& keys) {
  constexpr std::string_view kOption = "--key-weight";
  constexpr double kLeast = 0.01, kMost = 100;
  std::map<std::uint64_t, double> weights;
  for (const std::string& text : v.key_weights) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos) throw bad_option(kOption, text, "expected ID=WEIGHT");
    const double weight =
        parse_real(std::string_view(text).substr(equals + 1), kOption, kLeast, kMost);
    for (const std::size_t number : numbers_of(keys, kOption, text.substr(0, equals))) {
      weights[number] = weight;
    }
  }
  return weights;
}

void check_exposure(const ServerValues& v, const ApiKeys& keys) {
  if (!keys.is_empty() || v.no_auth || is_loopback(v.host)) return;
  throw Error(ErrorCode::kInvalid,
              cat("--host ", v.host,
                  " lets others in and there is no API key: give --api-key-file "
                  "or INGOT_API_KEY, or say --i-accept-no-auth"));
}

ApiOptions api_options(const ServerValues& v, ApiKeys keys) {
  ApiOptions options{.keys = std::move(keys),
                     .allowed_hosts = v.allowed_hosts,
                     .cors_origins = v.cors_origins,
                     .routes = routes()};
  options.allowed_hosts.push_back(v.host.find(':') == std::string::npos ? v.host
                                                                        : cat("[", v.host, "]"));
  for (std::string& host : options.allowed_hosts) {
    std::transform(host.begin(), host.end(), host.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
  }
  const bool any_origin =
      std::find(v.cors_origins.begin(), v.cors_origins.end(), "*") != v.cors_origins.end();
  if (any_origin && options.keys.is_empty()) {
    throw Error(ErrorCode::kInvalid, "--cors-origin * needs API keys");
  }
  return options;
}

/// One thread that reads and writes for every 8 CPUs. One sends some 300 events a second with 0.5 %
/// of a core; more threads than needed interrupt the model, since each wakes up for its
/// connections.
int default_io_threads() {
  constexpr int kCpusOfThread = 8;
  return (available_cpus() + kCpusOfThread - 1) / kCpusOfThread;
}

/// What the server says of itself when it is ready.
Json settings_of(const ServerValues& v, const Instance& instance, const ThreadPool& pool,
                 const StartOptions& start) {
  Json j = Json::object();
  j.set("version", INGOT_VERSION);
  j.set("model", instance.name());
  j.set("architecture", instance.spec().architecture);
  j.set("threads", pool.size());
  j.set("cpu_isa", instance.isa());
  j.set("kv_type", v.model.kv_type);
  j.set("ctx", start.context);
  j.set("sequences", start.sequences);
  j.set("step_rows", start.rows);
  j.set("kv_tokens", start.context * start.pool_sequences);
  j.set("queue", v.queue);
  j.set("drain_timeout", v.drain_timeout);
  j.set("prefix_cache", !v.no_prefix_cache);
  j.set("queue_timeout", v.queue_timeout);
  j.set("request_timeout", v.request_timeout);
  j.set("max_ttft_ms", v.max_ttft_ms);
  j.set("stream_interval_ms", v.stream_interval_ms ? Json(*v.stream_interval_ms) : Json());
  j.set("connections", v.connections);
  j.set("io_threads", default_io_threads());
  j.set("log_requests", v.log_requests || v.log_content);
  j.set("log_content", v.log_content);
  j.set("operator_keys", v.operator_keys.size());
  j.set("key_weights", v.key_weights.size());
  return j;
}

void enter_sandbox_with_warnings(const ServerValues& v) {
  std::vector<std::string> sockets;
  if (v.unix_socket) sockets.push_back(*v.unix_socket);
  if (v.admin_socket) sockets.push_back(*v.admin_socket);
  for (const std::string& missing : enter_sandbox(sockets)) log_warning(missing);
}

ConnectionTimes times_of(const ServerValues& v) {
  const auto ms = [](double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  };
  ConnectionTimes times;
  times.idle = ms(v.idle_timeout);
  times.write_stall = ms(v.write_stall);
  if (v.stream_interval_ms) times.gather = std::chrono::milliseconds(*v.stream_interval_ms);
  return times;
}

/// A server that says that the model is being loaded, from `begin` on until this goes or it serves.
class Meanwhile {
 public:
  explicit Meanwhile(Server& server) : server_(server) {}
  void begin(const ConnectionTimes& times) { server_.answer_meanwhile(loading_, times); }
  ~Meanwhile() { server_.pause(); }
  Meanwhile(const Meanwhile&) = delete;
  Meanwhile& operator=(const Meanwhile&) = delete;

 private:
  Loading loading_;
  Server& server_;
};

/// A server that accepts connections while this lives: what they use goes later.
class Serving {
 public:
  Serving(Server& server, Application& api, Application& admin, const ConnectionTimes& times)
      : server_(server) {
    server_.start(api, admin, times);
  }
  ~Serving() { server_.stop(0); }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

 private:
  Server& server_;
};

ServerLog::Level log_level_of(const ServerValues& v) {
  if (v.log_content) return ServerLog::Level::kContents;
  return v.log_requests ? ServerLog::Level::kRequests : ServerLog::Level::kErrors;
}

/// What is known of the model and of who may use it before the server serves.
struct Served {
  Json settings;
  std::optional<ServedChat> chat;
  std::string fingerprint;
  ApiKeys keys;
  std::set<std::size_t> operators;
  std::map<std::uint64_t, double> weights;
};

/// From a started instance to the end of the process.
int serve_until_stopped(const ServerValues& v, Instance& instance, Server& server,
                        Meanwhile& meanwhile, HttpMetrics& http_metrics, Served served,
                        StopSignal& stop) {
  // Threads that begin from here on, which read what others send, inherit it.
  if (v.sandbox) {
    enter_sandbox_with_warnings(v);
    meanwhile.begin(times_of(v));
  }
  EngineMetrics metrics;
  StepLog steps(kStepsKept);
  EngineLog engine_log({.steps = &steps, .metrics = &metrics});
  auto engine = instance.make_engine(
      {.waiting_max = static_cast<std::size_t>(v.queue),
       .stall_seconds = v.write_stall,
       .prefix_cache = !v.no_prefix_cache,
       .step_seconds = v.target_itl_ms / 1000,
       .waiting = {.policy = v.by_priority ? Policy::kPriority : Policy::kArrival,
                   .weights = std::move(served.weights)},
       .step_limit_seconds = v.exit_on_stall ? kStepSecondsMax : kNever,
       .failed =
           [&](const Error& error) {
             log_error(error.message());
             stop.fail();
           },
       .observer = &engine_log});
  engine->prepare();
  engine->start();
  ServiceOptions options{.model_name = served_name(v, instance), .version = INGOT_VERSION};
  options.drain_seconds = v.drain_timeout;
  options.queue_seconds = v.queue_timeout;
  options.request_seconds = v.request_timeout;
  options.keys = served.keys.size();
  options.operators = std::move(served.operators);
  options.max_tokens_default = v.default_max_tokens;
  if (v.max_ttft_ms > 0) options.first_token_seconds = v.max_ttft_ms / 1000;
  options.settings = served.settings;
  options.by_priority = v.by_priority;
  options.fingerprint = std::move(served.fingerprint);
  options.stop = [&stop] { stop.ask(); };
  options.waiting_per_key = std::max<std::size_t>(1, static_cast<std::size_t>(v.queue) / 2);
  Service service(options, instance, *engine, metrics, steps, http_metrics, std::move(served.chat));
  if (v.log_content) {
    log_alarm("--log-content: what requests and responses say is written to the log");
  }
  ServerLog log(STDERR_FILENO, log_level_of(v), http_metrics.log_lines_dropped);
  Api api(api_options(v, std::move(served.keys)), service, log);
  Api admin({.routes = admin_routes()}, service, log);
  // Before anybody is answered: nobody competes with it for the engine.
  self_test(service);
  server.pause();
  stop.begin();
  const Serving serving(server, api, admin, times_of(v));
  log_info(cat("serving ", options.model_name, ": ", served.settings.dump()));
  log_always(cat("listening on ", server.address()));
  while (!stop.wait_for(kLookSeconds)) instance.expect_weights_not_overwritten();
  if (stop.has_failed()) {
    server.stop(kFlushSeconds);
    // A step that does not end would hold up the engine's own end for ever.
    _exit(kInternal);
  }
  const auto drain_by = Clock::now() + std::chrono::duration<double>(v.drain_timeout);
  service.begin_drain();
  bool drained = engine->wait_drained();
  // Answers may have what is left of the drain's time, for who reads them may be slow.
  const std::chrono::duration<double> left = drain_by - Clock::now();
  drained = server.stop(kFlushSeconds, left.count()) && drained;
  if (engine->has_failed()) _exit(kInternal);
  if (engine->step_seconds_now() > 0) _exit(kForced);
  return drained ? kDone : kForced;
}

/// Connections for which there are descriptors, beside what the process itself opens.
std::int32_t fitting_connections(const ServerValues& v) {
  constexpr std::int64_t kOwn = 32;
  constexpr std::int64_t kOwnOfThread = 3;
  const std::int64_t others =
      kOwn + kOwnOfThread * default_io_threads() + ServerOptions().connections_reserved;
  const std::int64_t wanted = v.connections + others;
  const std::int64_t possible = raise_descriptor_limit(wanted);
  if (possible >= wanted) return v.connections;
  const auto fitting = static_cast<std::int32_t>(std::max<std::int64_t>(1, possible - others));
  log_warning(cat("--connections ", v.connections, " needs ", wanted, " descriptors and ", possible,
                  " are allowed (ulimit -n): there may be ", fitting, " connections"));
  return fitting;
}

int serve(ServerValues v) {
  StopSignal stop(kForced);
  v.connections = fitting_connections(v);
  ApiKeys keys = read_keys(v);
  check_exposure(v, keys);
  std::set<std::size_t> operators = operators_of(v, keys);
  std::map<std::uint64_t, double> weights = weights_of(v, keys);
  HttpMetrics http_metrics;
  ServerOptions options{.host = v.host,
                        .port = static_cast<std::uint16_t>(v.port),
                        .unix_socket = v.unix_socket.value_or(""),
                        .admin_socket = v.admin_socket.value_or(""),
                        .tls_cert = v.tls_cert.value_or(""),
                        .tls_key = v.tls_key.value_or(""),
                        .io_threads = default_io_threads(),
                        .connections_max = v.connections};
  options.http.body_bytes_max = static_cast<std::size_t>(v.body_mib) << 20;
  Server server(options, http_metrics);
  Meanwhile meanwhile(server);
  // What others send is read in the sandbox alone.
  if (!v.sandbox) meanwhile.begin(times_of(v));
  const auto pool = make_pool(v.model);
  Instance instance(*pool, instance_options(v.model));
  show_warnings(instance);
  const StartOptions start = start_options(v, instance);
  warn_of_less(v, instance, start);
  Served served{.settings = settings_of(v, instance, *pool, start),
                .chat = served_chat(v, instance),
                .fingerprint = cat("fp_", to_string(instance.fingerprint()).substr(0, 16)),
                .keys = std::move(keys),
                .operators = std::move(operators),
                .weights = std::move(weights)};
  start_with_progress(instance, start);
  return serve_until_stopped(v, instance, server, meanwhile, http_metrics, std::move(served), stop);
}

}  // namespace

Command add_serve_command(CLI::App& app) {
  auto values = std::make_shared<ServerValues>();
  CLI::App& sub = add_command(app, "serve", "Serve a model over HTTP, as OpenAI's API");
  add_server_options(sub, *values);
  return {&sub, [values] { return serve(*values); }, "ingot serve model.gguf --port 8080"};
}

}  // namespace ingot
