// ingot serve: serves a model over HTTP, from start-up to the end of the process.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "cli/command.h"
#include "cli/log.h"
#include "cli/options/built_in_model.h"
#include "cli/options/chat_input.h"
#include "cli/options/options.h"
#include "cli/options/serve_options.h"
#include "cli/serve/access.h"
#include "cli/serve/capacity.h"
#include "cli/stop_signal.h"
#include "load/json_object.h"
#include "model/fingerprint.h"
#include "runtime/observe/engine_log.h"
#include "runtime/session/session.h"
#include "server/loading_phase.h"
#include "server/routes.h"
#include "server/sandbox.h"
#include "server/self_check.h"

namespace ingot {

namespace {

constexpr int kInternal = 70;
constexpr int kForced = 3;
using Clock = std::chrono::steady_clock;

/// Seconds for sending the last bytes of responses after the engine has ended all requests.
constexpr double kFlushSeconds = 1.5;

/// Seconds between checks of the file from which weights are mapped. Until the next check, an
/// overwritten file can give wrong text.
constexpr double kWeightCheckSeconds = 5;

/// Number of engine steps that GET /admin/steps shows.
constexpr std::size_t kStepsKept = 256;

/// Errors: Error{kInvalid} if a name of the model is empty or comes twice.
void check_model_names(const std::vector<std::string>& names) {
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (name->empty()) throw bad_option("--model-name", *name, "expected a name");
    if (std::find(names.begin(), name, *name) != name) {
      throw bad_option("--model-name", *name, "the name is given twice");
    }
  }
}

/// The name of the model's file, without its ending, or of its folder.
std::string file_name(const Instance& instance) {
  std::string path = instance.name();
  while (path.ends_with('/')) path.pop_back();
  std::string name = path.substr(path.find_last_of('/') + 1);
  if (name.ends_with(".gguf")) name.resize(name.size() - 5);
  return name.empty() ? std::string(kBuiltInModel) : name;
}

/// The model's names: those of --model-name, or its file's name.
std::vector<std::string> model_names(const ServerConfig& config, const Instance& instance) {
  if (!config.model_names.empty()) return config.model_names;
  return {file_name(instance)};
}

/// Errors: Error{kInvalid} if there are too many adapters, or if one has a name of the model.
void check_adapters(const std::vector<AdapterSource>& sources, std::int32_t adapters_max,
                    const std::vector<std::string>& names) {
  if (std::ssize(sources) > adapters_max) {
    throw Error(ErrorCode::kInvalid,
                cat("--max-loras ", adapters_max, ": --lora names ", sources.size(), " adapters"));
  }
  for (const AdapterSource& source : sources) {
    if (std::find(names.begin(), names.end(), source.name) == names.end()) continue;
    throw Error(ErrorCode::kInvalid,
                cat("--lora: the adapter's name ", printable(source.name),
                    " is the model's: write NAME=PATH, or name the model with --model-name"));
  }
}

AdapterSettings adapter_settings(const ServerValues& values, const Instance& instance) {
  AdapterSettings settings{.model_path = instance.name(),
                           .can_load = may_load_adapters(values.server)};
  if (!values.server.lora_dir.empty()) settings.folder.emplace(values.server.lora_dir);
  for (const AdapterSource& source : adapter_sources(values.model.adapters)) {
    settings.ids.push_back(source.name);
  }
  return settings;
}

/// The chat templates; nothing if the model has none, or has no tokenizer.
std::optional<ChatTemplates> served_templates(const ServerConfig& config,
                                              const Instance& instance) {
  if (instance.tokenizer() == nullptr) return std::nullopt;
  const auto chosen = choose_templates(instance, config.chat_template);
  if (!chosen) return std::nullopt;
  ChatTemplates templates = parse_templates(*chosen, *instance.tokenizer());
  warn_of_tools_error(templates);
  if (!templates.find(false)) {
    log_warning(cat(templates.no_standard(), "; chats ",
                    templates.find(true) ? "without tools are refused" : "are refused"));
  }
  return templates;
}

/// Adds the pack cache's folder, and the limit in bytes if the user set one. A path is for the
/// operator alone.
void add_pack_cache(const PackCacheOptions& options, bool texts, Json& j) {
  const bool is_on = !options.folder.empty();
  j.set("packed_weights_kept", is_on);
  if (texts) j.set("pack_cache", is_on ? Json(options.folder) : Json());
  j.set("pack_cache_limit", options.bytes_max ? Json(*options.bytes_max) : Json());
}

/// Adds --lora: as typed, or only the number of adapters, since the texts have paths.
void add_lora(const std::vector<std::string>& lora, bool texts, Json& j) {
  Json list = Json::array();
  for (const std::string& text : lora) list.push(text);
  j.set("lora", texts ? std::move(list) : Json(std::ssize(lora)));
}

/// The effective settings. With `texts` they are for the operator's log; without, for GET /props,
/// which must not reveal paths of this machine.
Json settings(ServerValues values, const Instance& instance, const StartOptions& start, int threads,
              bool texts) {
  Json j = Json::object();
  j.set("version", INGOT_VERSION);
  if (texts) j.set("model", instance.name());
  j.set("architecture", instance.spec().architecture);
  j.set("threads", threads);
  j.set("device", std::string_view(instance.backend().name()));
  j.set("numerics", instance.backend().numerics());
  j.set("cpu_isa", instance.isa());
  j.set("kv_type", kv_type_name(instance));
  j.set("ctx", start.context);
  j.set("sequences", start.sequences);
  j.set("step_rows", start.rows);
  j.set("kv_tokens", start.context * start.pool_sequences);
  j.set("later_adapter_bytes", start.later_adapter_bytes);
  j.set("io_threads", values.server.listen.io_threads);
  add_pack_cache(pack_cache_options(values.model.pack_cache), texts, j);
  add_lora(values.model.adapters.lora, texts, j);
  j.set("draft", texts ? std::string_view(values.model.draft.draft) : values.draft.kind());
  j.set("draft_tokens", values.model.draft.tokens);
  std::vector<OptionRow> rows = model_option_rows(values.model);
  const std::vector<OptionRow> server_rows = server_option_rows(values.server);
  rows.insert(rows.end(), server_rows.begin(), server_rows.end());
  report_options(rows, texts, j);
  return j;
}

/// While it exists, the server accepts connections. Objects that requests use must outlive it.
class ListeningPhase {
 public:
  ListeningPhase(Server& server, RequestHandler& gate, RequestHandler& admin,
                 const ConnectionTimes& times)
      : server_(server) {
    server_.start(gate, admin, times);
  }
  ~ListeningPhase() { server_.stop(0); }
  ListeningPhase(const ListeningPhase&) = delete;
  ListeningPhase& operator=(const ListeningPhase&) = delete;

 private:
  Server& server_;
};

/// The running engine and its observers.
class ServingEngine {
 public:
  ServingEngine(const ServerConfig& config, std::map<std::uint64_t, double> weights,
                SpeculationOptions speculation, Instance& instance, StopSignal& stop)
      : engine_(instance.make_engine(
            {.waiting_max = to_size(config.requests.queue),
             .stall_seconds = std::chrono::duration<double>(config.times.write_stall).count(),
             .prefix_cache = config.prefix_cache,
             .step_seconds = config.target_itl_ms / 1000,
             .waiting = {.policy =
                             config.requests.by_priority ? Policy::kPriority : Policy::kArrival,
                         .weights = std::move(weights)},
             .speculation = std::move(speculation),
             .step_limit_seconds = config.exit_on_stall ? kStepSecondsMax : kNever,
             .failed =
                 [&stop](const Error& error) {
                   log_error(stderr_message(error));
                   stop.fail();
                 },
             .observer = &log_})) {
    engine_->prepare();
    engine_->start();
  }

  Engine& engine() { return *engine_; }
  const EngineMetrics& metrics() const { return metrics_; }
  const StepLog& steps() const { return steps_; }

 private:
  EngineMetrics metrics_;
  StepLog steps_{kStepsKept};
  EngineLog log_{{.steps = &steps_, .metrics = &metrics_}};
  std::unique_ptr<Engine> engine_;
};

ServerLog::Level log_level(const ServerConfig& config) {
  if (config.log_content) return ServerLog::Level::kContents;
  return config.log_requests ? ServerLog::Level::kRequests : ServerLog::Level::kErrors;
}

void enter_sandbox_with_warnings(const ServerOptions& listen, const std::string& folder) {
  std::vector<std::string> sockets;
  for (const std::string* path : {&listen.unix_socket, &listen.admin_socket}) {
    if (!path->empty()) sockets.push_back(*path);
  }
  for (const std::string& missing : enter_sandbox(sockets, folder)) log_warning(missing);
}

/// Waits until the process must end. Errors: Error{kIo} if the file of the weights changed.
void wait_until_stopped(StopSignal& stop, const Instance& instance) {
  while (!stop.wait_for(kWeightCheckSeconds)) instance.expect_weights_not_overwritten();
}

/// Logs the start and the end of a drain.
class DrainLog {
 public:
  /// Logs the start. `service` must not have begun to drain.
  DrainLog(ServerLog& log, Service& service, std::string_view cause, double seconds)
      : log_(log), service_(service), before_(service.counts()) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    log_.event("draining",
               json_object({{"cause", cause},
                            {"running", before_.running},
                            {"waiting", before_.waiting},
                            {"until", std::chrono::duration<double>(now).count() + seconds}}));
  }
  /// Logs the end. Call this when the engine and the server have stopped, or do not answer.
  void end() {
    const EngineCounts now = service_.counts();
    const auto ended = [&](FinishReason reason) {
      return static_cast<std::int64_t>(now.finished_by(reason) - before_.finished_by(reason));
    };
    const std::chrono::duration<double> seconds = Clock::now() - begin_;
    log_.event("drained",
               json_object({{"finished", ended(FinishReason::kStop) + ended(FinishReason::kLength)},
                            {"cut", ended(FinishReason::kCancelled) + ended(FinishReason::kError) +
                                        now.running + now.waiting},
                            {"seconds", seconds.count()}}));
  }

 private:
  ServerLog& log_;
  Service& service_;
  EngineCounts before_;
  Clock::time_point begin_ = Clock::now();
};

/// Gives requests the time of --drain-timeout to end. Returns the exit code. If the engine's thread
/// is stuck, ends the process itself, since destructors would wait for the thread.
int drain(double seconds, std::string_view cause, Service& service, Engine& engine, Server& server,
          ServerLog& log) {
  const auto drain_by = Clock::now() + std::chrono::duration<double>(seconds);
  DrainLog drain_log(log, service, cause, seconds);
  service.begin_drain();
  bool is_drained = engine.wait_drained();
  // The rest of the time is for responses that clients read slowly.
  const std::chrono::duration<double> left = drain_by - Clock::now();
  is_drained = server.stop(kFlushSeconds, left.count()) && is_drained;
  drain_log.end();
  if (engine.has_failed()) _exit(kInternal);
  if (engine.step_seconds_now() > 0) _exit(kForced);
  return is_drained ? kDone : kForced;
}

int serve(ServerValues values) {
  ServerConfig& config = values.server;
  check_model_names(config.model_names);
  values.draft = choose_drafts(values.model);
  StopSignal stop(kForced);
  config.listen.io_threads = default_io_threads();
  fit_connections(config.listen);
  KeyRing keys = read_keys(config);
  HttpMetrics http_metrics;
  Server server(config.listen, http_metrics);
  LoadingPhase loading(server);
  if (!config.sandbox) loading.begin(config.times);

  OpenModel model(values.model, {.pools = true});
  Instance& instance = model.instance;
  AdapterSettings adapter_folder = adapter_settings(values, instance);
  const StartOptions start =
      plan_start(values, instance, adapter_folder.folder ? &*adapter_folder.folder : nullptr);
  auto templates = served_templates(config, instance);
  std::vector<std::string> aliases = model_names(config, instance);
  check_adapters(adapter_sources(values.model.adapters), config.max_loras, aliases);
  const ModelFingerprint fingerprint = instance.fingerprint();
  start_with_progress(instance, start);
  SpeculationOptions speculation = start_drafts(values.draft, *model.pool, instance, start);
  if (config.sandbox) {
    // Threads that start from now on, which read requests, inherit the sandbox.
    enter_sandbox_with_warnings(config.listen, config.lora_dir);
    loading.begin(config.times);
  }

  ServingEngine serving(config, std::move(keys.weights), std::move(speculation), instance, stop);
  ServedAdapters adapters(instance.adapters(), std::move(adapter_folder));
  std::string model_name = std::move(aliases.front());
  aliases.erase(aliases.begin());
  ServiceOptions options{.limits = config.requests,
                         .model_name = std::move(model_name),
                         .aliases = std::move(aliases),
                         .any_model = config.any_model,
                         .version = INGOT_VERSION,
                         .fingerprint = fingerprint,
                         .keys = keys.keys.size(),
                         .operators = std::move(keys.operators),
                         .settings = settings(values, instance, start, model.pool->size(), false),
                         .stop = [&stop] { stop.ask(); }};
  Service service(std::move(options), instance, serving.engine(), adapters, serving.metrics(),
                  serving.steps(), http_metrics, std::move(templates));
  if (config.log_content) {
    log_alarm("--log-content: the log has the contents of requests and responses");
  }
  ServerLog log(STDERR_FILENO, log_level(config), http_metrics.log_lines_dropped);
  RequestGate gate(gate_options(config, std::move(keys.keys)), service, log);
  RequestGate admin({.routes = admin_routes()}, service, log);
  // Runs before requests are served, which would compete with it for the engine.
  self_check(service);
  server.pause();
  stop.begin();
  const ListeningPhase listening(server, gate, admin, config.times);
  log_info(cat("serving ", service.options().model_name, ": ",
               settings(values, instance, start, model.pool->size(), true).dump()));
  log_always(cat("listening on ", server.address()));
  wait_until_stopped(stop, instance);
  if (stop.has_failed()) {
    server.stop(kFlushSeconds);
    // The engine's destructor would wait for a step that may never end.
    _exit(kInternal);
  }
  return drain(config.requests.drain_seconds, stop.cause(), service, serving.engine(), server, log);
}

}  // namespace

Command add_serve_command(CLI::App& app) {
  auto values = std::make_shared<ServerValues>();
  CLI::App& sub = add_command(app, "serve", "Serve a model over HTTP, as OpenAI's API");
  add_server_options(sub, *values);
  return {&sub, [values] { return serve(*values); }, "ingot serve model.gguf --port 8080"};
}

}  // namespace ingot
