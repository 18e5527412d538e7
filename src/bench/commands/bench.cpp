// ingot bench: measures speed as a fraction of the machine's limits.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "backend/backends.h"
#include "base/error.h"
#include "base/system_memory.h"
#include "base/text.h"
#include "bench/commands/bench_commands.h"
#include "bench/commands/bench_report.h"
#include "bench/drafted_runner.h"
#include "cli/interrupt.h"
#include "cli/log.h"
#include "cli/options/model_options.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "cli/progress.h"

namespace ingot {

namespace {

struct BenchValues {
  ModelOptionValues model;
  std::optional<std::string> prefill;
  std::optional<std::string> decode;
  std::optional<std::string> depth;
  std::optional<std::string> batch;
  std::int32_t reps = 5;
  bool shared_prefix = false;
  bool mixes_adapters = false;
  bool profile = false;
  bool profile_layers = false;
  bool peaks = false;
  bool json = false;
  bool markdown = false;
};

constexpr std::size_t kListMax = 64;
constexpr std::size_t kRowsMax = 1024;
constexpr std::int32_t kBatchMax = 4096;

/// Least memory for a read peak that caches do not distort: 512 MiB.
constexpr std::int64_t kReadBytesGood = std::int64_t{512} << 20;

/// Prompt length without --prefill, and generated tokens without --decode.
constexpr std::int64_t kPrefill = 512, kDecode = 128;

/// The values of the list options; empty for an option that was not given.
struct Lists {
  std::vector<std::int64_t> prefill, decode, depth, batch;
};

std::vector<std::int64_t> read_list(const std::optional<std::string>& text, std::string_view option,
                                    std::int64_t low, std::int64_t high) {
  if (!text) return {};
  auto values = parse_list(*text, option, low, high);
  if (values.size() > kListMax) {
    throw Error(ErrorCode::kInvalid,
                cat(option, " has ", values.size(), " entries, at most ", kListMax));
  }
  return values;
}

/// Needs no model, so that a wrong list is refused before a model is opened.
Lists read_lists(const BenchValues& v) {
  return {.prefill = read_list(v.prefill, "--prefill", 0, kContextMax),
          .decode = read_list(v.decode, "--decode", 0, kContextMax),
          .depth = read_list(v.depth, "--depth", 0, kContextMax),
          .batch = read_list(v.batch, "--batch", 1, kBatchMax)};
}

/// Refuses what --draft cannot measure: an engine decodes, and its drafts are verified in no
/// prompt.
void check_drafted(const BenchValues& v, Lists& lists) {
  const auto refuse = [](std::string_view option) {
    throw Error(ErrorCode::kInvalid,
                cat("--draft measures only decodes of two tokens or more: leave ", option, " out"));
  };
  if (v.prefill) refuse("--prefill");
  if (v.shared_prefix) refuse("--shared-prefix");
  if (v.profile) refuse("--profile");
  if (v.profile_layers) refuse("--profile-layers");
  if (!v.model.adapters.lora.empty()) refuse("--lora");
  const bool is_short = std::any_of(lists.decode.begin(), lists.decode.end(),
                                    [](std::int64_t tokens) { return tokens < 2; });
  if (is_short) refuse("--decode 0 and 1");
  lists.prefill = {0};
}

/// `embeds`: whether the model only embeds or scores texts, of at most `longest` tokens.
void set_defaults(Lists& lists, bool embeds, std::int64_t longest) {
  const auto set = [](std::vector<std::int64_t>& list, std::int64_t value) {
    if (list.empty()) list.push_back(value);
  };
  set(lists.prefill, embeds ? std::min(kPrefill, longest) : kPrefill);
  set(lists.decode, embeds ? 0 : kDecode);
  set(lists.depth, 0);
  set(lists.batch, 1);
}

using Kind = Workload::Kind;

/// Adds the prefills and decodes of all combinations. Prefills have depth 0 and batch 1, unless
/// both options are single values.
void add_text_workloads(const Lists& lists, std::vector<Workload>& workloads) {
  const bool single = lists.depth.size() == 1 && lists.batch.size() == 1;
  const std::int64_t depth_of_prefills = single ? lists.depth[0] : 0;
  const auto batch_of_prefills = static_cast<std::int32_t>(single ? lists.batch[0] : 1);
  for (const std::int64_t tokens : lists.prefill) {
    workloads.push_back({Kind::kPrefill, tokens, depth_of_prefills, batch_of_prefills});
  }
  for (const std::int64_t tokens : lists.decode) {
    for (const std::int64_t depth : lists.depth) {
      for (const std::int64_t batch : lists.batch) {
        workloads.push_back({Kind::kDecode, tokens, depth, static_cast<std::int32_t>(batch)});
      }
    }
  }
}

/// The option that a model which only embeds or scores texts refuses; empty: there is none.
std::string_view option_of_texts(const Lists& lists, const BenchValues& v) {
  if (std::any_of(lists.decode.begin(), lists.decode.end(), std::identity{})) return "--decode";
  if (std::any_of(lists.depth.begin(), lists.depth.end(), std::identity{})) return "--depth";
  return v.shared_prefix ? "--shared-prefix" : "";
}

/// Adds the embeddings of all combinations of --prefill and --batch.
void add_embeddings(const Lists& lists, std::vector<Workload>& workloads) {
  for (const std::int64_t tokens : lists.prefill) {
    for (const std::int64_t batch : lists.batch) {
      workloads.push_back({Kind::kEmbed, tokens, 0, static_cast<std::int32_t>(batch)});
    }
  }
}

/// Makes the workloads of all combinations. A length of 0 means no workload.
std::vector<Workload> all_workloads(const Lists& lists, bool embeds) {
  std::vector<Workload> workloads;
  if (embeds) {
    add_embeddings(lists, workloads);
  } else {
    add_text_workloads(lists, workloads);
  }
  std::erase_if(workloads, [](const Workload& workload) { return workload.tokens == 0; });
  return workloads;
}

void check_count(std::size_t workloads) {
  if (workloads == 0) {
    throw Error(ErrorCode::kInvalid, "--prefill 0 and --decode 0 leave nothing to measure");
  }
  if (workloads > kRowsMax) {
    throw Error(ErrorCode::kInvalid,
                cat("the lists make ", workloads, " combinations, at most ", kRowsMax));
  }
}

/// Refuses lists that have too many combinations for every model.
void check_lists(const Lists& lists, const BenchValues& v) {
  const auto count = [&](bool embeds) {
    Lists all = lists;
    set_defaults(all, embeds, kContextMax);
    return all_workloads(all, embeds).size();
  };
  const std::size_t texts = count(false);
  if (!option_of_texts(lists, v).empty() || count(true) > kRowsMax) check_count(texts);
}

/// Errors: Error{kInvalid} if there are too many workloads or none, or for options that the model
/// does not have.
std::vector<Workload> make_workloads(const Lists& lists, const BenchValues& v, bool embeds) {
  const std::string_view option = embeds ? option_of_texts(lists, v) : "";
  if (!option.empty()) {
    throw Error(ErrorCode::kInvalid,
                cat(option,
                    ": the model embeds or scores whole texts, and continues none: it has "
                    "--prefill and --batch alone"));
  }
  std::vector<Workload> workloads = all_workloads(lists, embeds);
  check_count(workloads.size());
  return workloads;
}

Json list_json(const std::vector<std::int64_t>& values) {
  Json list = Json::array();
  for (const std::int64_t v : values) list.push(v);
  return list;
}

/// Sets the settings that reports have with and without --peaks.
void set_common(BenchReport& report, const BenchValues& v, const ThreadPool& pool,
                std::string_view isa) {
  for (const HostKernels* kernels : host_kernels()) report.isas.emplace_back(kernels->name);
  auto& settings = report.settings;
  settings.emplace_back("version", INGOT_VERSION);
  settings.emplace_back("threads", pool.size());
  settings.emplace_back("pin_threads", v.model.pin_threads);
  settings.emplace_back("cpu_isa", isa);
  settings.emplace_back("memory_limit", v.model.memory_limit);
}

void set_model_settings(BenchReport& report, const BenchValues& v, const Lists& lists,
                        const Instance& instance) {
  auto& settings = report.settings;
  settings.emplace_back("model", instance.name());
  settings.emplace_back("architecture", instance.spec().architecture);
  settings.emplace_back("device", std::string_view(instance.backend().name()));
  settings.emplace_back("numerics", instance.backend().numerics());
  settings.emplace_back("kv_type", kv_type_name(instance));
  settings.emplace_back("ctx", v.model.ctx > 0 ? v.model.ctx : instance.spec().context);
  settings.emplace_back("check_tensors", v.model.check_tensors);
  settings.emplace_back("prefill", list_json(lists.prefill));
  settings.emplace_back("decode", list_json(lists.decode));
  settings.emplace_back("depth", list_json(lists.depth));
  settings.emplace_back("batch", list_json(lists.batch));
  settings.emplace_back("reps", v.reps);
  settings.emplace_back("shared_prefix", v.shared_prefix);
  settings.emplace_back("profile", report.profile != ShownProfile::kNone);
  settings.emplace_back("draft", v.model.draft.draft);
  settings.emplace_back("draft_tokens", v.model.draft.tokens);
}

ShownProfile shown_profile(const BenchValues& v) {
  if (v.profile_layers) return ShownProfile::kLayers;
  return v.profile ? ShownProfile::kOps : ShownProfile::kNone;
}

/// Makes a PeakMeter that uses a part of `free_bytes`.
PeakMeter peak_meter(const ThreadPool& pool, const HostKernels& kernels, std::int64_t free_bytes) {
  const std::int64_t bytes = peak_read_bytes(free_bytes);
  if (bytes < kReadBytesGood) {
    log_warning(cat("the read peak is measured over only ", bytes >> 20,
                    " MiB, a quarter of the free memory: caches may raise it"));
  }
  return PeakMeter(pool.size(), pool.cpus(), kernels, bytes, interruption_point);
}

StartOptions start_options(const BenchValues& v, const Instance& instance,
                           const std::vector<Workload>& workloads) {
  const WorkloadLimits limits = workload_limits(workloads, v.shared_prefix);
  choose_context(instance, v.model, limits.longest, limits.longest);
  const bool embeds = workloads.front().kind == Kind::kEmbed;
  return {.model = {.head = !embeds, .check_tensors = v.model.check_tensors},
          .context = limits.context,
          .sequences = limits.sequences,
          .rows = limits.rows,
          .out_rows = limits.sequences,
          .logits_rows = embeds ? 0 : limits.sequences,
          .finds_best = !embeds};
}

/// The options of an engine that runs the decodes with drafts.
StartOptions drafted_start_options(const BenchValues& v, const Instance& instance,
                                   const std::vector<Workload>& workloads,
                                   const DraftChoice& draft) {
  StartOptions start = start_options(v, instance, workloads);
  start.generates = true;
  start.finds_best = false;
  start.draft_rows = draft.draft_rows(start.sequences);
  start.rows = std::max(start.rows, start.sequences + start.draft_rows);
  return start;
}

/// The median of each rate.
Peaks median_peaks(const std::vector<Peaks>& rounds) {
  const auto of = [&](double Peaks::*rate) {
    std::vector<double> values;
    values.reserve(rounds.size());
    for (const Peaks& peaks : rounds) values.push_back(peaks.*rate);
    return median(std::move(values));
  };
  return {.read_gb_s = of(&Peaks::read_gb_s),
          .f32_gflop_s = of(&Peaks::f32_gflop_s),
          .int8_gop_s = of(&Peaks::int8_gop_s),
          .bf16_gflop_s = of(&Peaks::bf16_gflop_s),
          .int8_tiles_gop_s = of(&Peaks::int8_tiles_gop_s)};
}

/// Most measurements of the peaks: with more, they would take longer than the runs of small models.
constexpr std::int32_t kPeakRoundsMax = 16;

/// The adapters of the sequences, in turn: all of --lora, or the usual one.
AdapterTurns adapters_of(const BenchValues& v, AdapterStore& adapters) {
  AdapterTurns lists;
  if (!v.mixes_adapters) return {default_adapters(v.model.adapters, adapters)};
  for (const auto& adapter : adapters.all()) {
    const AdapterChoice choice{.adapter = adapter};
    lists.push_back(adapters.list({&choice, 1}));
  }
  return lists;
}

using RunWorkload = FunctionRef<WorkloadResult(const Workload&)>;

/// Measures all rows in rounds, one repetition of each row per round, so that noise on the machine
/// hits all rows alike. Peaks are measured before each round, or before some of many rounds.
void measure_rows(const BenchValues& v, PeakMeter& meter, BenchReport& report, RunWorkload run) {
  std::vector<BenchRow>& rows = report.rows;
  std::vector<Peaks> peaks;
  ProgressBar bar("measuring");
  const std::uint64_t total = rows.size() * static_cast<std::uint64_t>(v.reps);
  std::uint64_t done = 0;
  const std::int32_t rounds_a_peak = (v.reps + kPeakRoundsMax - 1) / kPeakRoundsMax;
  for (std::int32_t i = 0; i < v.reps; ++i) {
    if (i == 0) {
      report.peaks = meter.measure();
      peaks.push_back(report.peaks.all_threads);
    } else if (i % rounds_a_peak == 0) {
      peaks.push_back(meter.measure_again());
    }
    for (BenchRow& row : rows) {
      const WorkloadResult result = run(row.workload);
      row.seconds.push_back(result.seconds);
      if (i == 0) {
        row.digest = result.digest;
        row.sequence_digests = result.sequence_digests;
        row.drafted = result.drafted;
        row.accepted = result.accepted;
      }
      row.mismatch =
          row.mismatch || result.mismatch || result.sequence_digests != row.sequence_digests;
      row.profile += result.profile;
      bar.show(++done, total);
    }
  }
  report.peaks.all_threads = median_peaks(peaks);
  report.peak_rounds = std::ssize(peaks);
}

/// Measures all rows in steps of the executor alone.
void measure_steps(Instance& instance, const BenchValues& v, PeakMeter& meter,
                   BenchReport& report) {
  std::vector<Workload> workloads;
  workloads.reserve(report.rows.size());
  for (const BenchRow& row : report.rows) workloads.push_back(row.workload);
  WorkloadRunner runner(instance.executor(), v.shared_prefix, interruption_point,
                        instance.profiled());
  runner.set_adapters(adapters_of(v, instance.adapters()));
  runner.prepare(workloads);
  measure_rows(v, meter, report, [&](const Workload& workload) { return runner.run(workload); });
}

/// Measures all rows in an engine with drafts.
void measure_drafted(Instance& instance, const BenchValues& v, SpeculationOptions speculation,
                     PeakMeter& meter, BenchReport& report) {
  const auto engine = instance.make_engine({.speculation = std::move(speculation)});
  engine->prepare();
  DraftedRunner runner(*engine, instance.spec().vocab, interruption_point);
  measure_rows(v, meter, report, [&](const Workload& workload) { return runner.run(workload); });
}

void write_report(const BenchValues& v, const BenchReport& report) {
  write_stdout(v.json ? as_json(report) : v.markdown ? as_markdown(report) : as_text(report));
}

int report_mismatches(const BenchReport& report) {
  int mismatches = 0;
  for (const BenchRow& row : report.rows) mismatches += row.mismatch ? 1 : 0;
  if (mismatches == 0) return kDone;
  log_error(cat("mismatch: the results of ", mismatches, " of ", report.rows.size(),
                " rows differ between runs that must be equal"));
  return kCheckFailed;
}

int bench_peaks(const BenchValues& v) {
  ModelOptionValues machine = v.model;
  machine.path = "";  // do not look for a model
  const InstanceOptions options = instance_options(machine);
  const HostKernels& kernels = find_host_kernels(options.isa);
  const auto pool = make_pool(v.model);
  BenchReport report;
  set_common(report, v, *pool, kernels.name);
  const std::int64_t limit = options.memory_limit;
  report.peaks = peak_meter(*pool, kernels, limit > 0 ? limit : available_memory()).measure();
  write_report(v, report);
  return kDone;
}

int bench_model(const BenchValues& v) {
  if (v.mixes_adapters && v.model.adapters.lora.empty()) {
    throw Error(ErrorCode::kInvalid, "--mix-adapters: there are no adapters, give --lora");
  }
  Lists lists = read_lists(v);
  check_lists(lists, v);
  const DraftChoice draft = choose_drafts(v.model);
  if (draft.is_on()) check_drafted(v, lists);
  InstanceOptions options = instance_options(v.model);
  BenchReport report;
  report.profile = shown_profile(v);
  options.profile = report.profile != ShownProfile::kNone;
  options.pools = !draft.is_on();
  report.drafts = draft.is_on();
  const auto pool = make_pool(v.model);
  Instance instance(*pool, options);
  show_warnings(instance);
  const bool embeds = !can_do(instance.config(), ModelUse::kText);
  if (draft.is_on()) instance.require(ModelUse::kText);
  set_defaults(lists, embeds, instance.spec().context);
  const std::vector<Workload> workloads = make_workloads(lists, v, embeds);
  const StartOptions start = draft.is_on() ? drafted_start_options(v, instance, workloads, draft)
                                           : start_options(v, instance, workloads);
  const MemoryPlan plan = instance.plan(start);
  require_fit(plan, instance.name());
  set_common(report, v, *pool, instance.isa());
  set_model_settings(report, v, lists, instance);
  // The memory that the meter reads is allocated besides the model's.
  PeakMeter meter = peak_meter(*pool, find_host_kernels(instance.isa()), plan.host.unused_bytes());
  start_with_progress(instance, start);
  for (const Workload& w : workloads) report.rows.emplace_back().workload = w;
  if (draft.is_on()) {
    measure_drafted(instance, v, start_drafts(draft, *pool, instance, start), meter, report);
  } else {
    measure_steps(instance, v, meter, report);
  }
  const Executor& executor = instance.executor();
  const AdapterTurns adapters = adapters_of(v, instance.adapters());
  for (BenchRow& row : report.rows) {
    row.cost = workload_cost(executor.model(), executor.cache(), report.peaks.all_threads,
                             row.workload, adapters);
  }
  write_report(v, report);
  return report_mismatches(report);
}

int bench(const BenchValues& v) { return v.peaks ? bench_peaks(v) : bench_model(v); }

void add_workload_options(CLI::App& sub, BenchValues& v) {
  add_text(sub, v.prefill, "--prefill",
           "Prompt lengths, or lengths of texts to embed: 512,4096; 0 for none (default: 512)");
  add_text(sub, v.decode, "--decode", "Tokens to generate: 128; 0 for none (default: 128)");
  add_text(sub, v.depth, "--depth", "Tokens that sequences begin with: 0,4096 (default: 0)");
  add_text(sub, v.batch, "--batch", "Sequences at once: 1,8 (default: 1)");
  add_number(
      sub, v.reps,
      {.name = "--reps", .help = "Repetitions; medians are reported", .low = 1, .high = 1000});
  add_switch(sub, v.shared_prefix, "--shared-prefix",
             "The sequences of a batch begin with the same tokens, in shared KV blocks");
  add_switch(sub, v.mixes_adapters, "--mix-adapters",
             "The sequences of a batch use the adapters of --lora in turn, not the first alone");
  exclude(sub, "--mix-adapters", {"--adapter", "--shared-prefix"});
}

}  // namespace

Command add_bench_command(CLI::App& app) {
  auto values = std::make_shared<BenchValues>();
  CLI::App& sub = add_command(app, "bench", "Measure speed as fractions of the machine's limits");
  add_model_options(sub, values->model);
  add_adapter_options(sub, values->model.adapters);
  values->model.draft.draft = "off";
  add_draft_options(sub, values->model.draft);
  add_workload_options(sub, *values);
  add_switch(
      sub, values->peaks, "--peaks",
      "Measure only the machine's limits: memory reads, float and byte products, and those of "
      "AMX tiles where there are any");
  add_switch(sub, values->profile, "--profile",
             "Measure and print the time of each op; steps become slightly slower");
  add_switch(sub, values->profile_layers, "--profile-layers", "As --profile, and by layer");
  add_switch(sub, values->json, "--json", "One JSON object");
  add_switch(sub, values->markdown, "--markdown", "Markdown tables");
  exclude(sub, "--json", {"--markdown"});
  exclude(sub, "--peaks",
          {"MODEL", "--prefill", "--decode", "--depth", "--batch", "--reps", "--shared-prefix",
           "--draft", "--draft-tokens", "--device", "--numerics", "--kv-type", "--ctx",
           "--check-tensors", "--profile", "--profile-layers"});
  return {&sub,
          [values] { return bench(*values); },
          "ingot bench model.gguf --prefill 512 --decode 128 --depth 0,4096 --batch 1,8",
          {add_serve_inproc_command(sub), add_bench_server_command(sub)}};
}

}  // namespace ingot
