// The common model options: declares and checks them, opens and starts models.
#include "cli/options/model_options.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "backend/backends.h"
#include "base/error.h"
#include "base/ignore_case.h"
#include "base/text.h"
#include "cli/log.h"
#include "cli/options/built_in_model.h"
#include "cli/options/model_path.h"
#include "cli/options/options.h"
#include "cli/progress.h"
#include "quant/formats.h"
#include "runtime/session/session.h"
#include "runtime/thread_choice.h"

namespace ingot {

namespace {

constexpr int kThreadsMax = 1024;

int parse_threads(const std::string& text) {
  return text == "auto" ? 0 : parse_whole(text, "--threads", 1, kThreadsMax);
}

std::optional<KvType> parse_kv_type(const std::string& text) {
  if (equal_ignoring_case(text, "auto")) return {};
  if (equal_ignoring_case(text, "f32")) return KvType::kF32;
  if (equal_ignoring_case(text, "f16")) return KvType::kF16;
  if (equal_ignoring_case(text, "bf16")) return KvType::kBF16;
  if (equal_ignoring_case(text, "int8")) return KvType::kInt8;
  throw bad_option("--kv-type", text, "expected auto, f32, f16, bf16 or int8");
}

LogLevel parse_log_level(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, LogLevel>, 4> kLevels{{
      {"debug", LogLevel::kDebug},
      {"info", LogLevel::kInfo},
      {"warning", LogLevel::kWarning},
      {"error", LogLevel::kError},
  }};
  for (const auto& [name, level] : kLevels) {
    if (text == name) return level;
  }
  throw bad_option("--log-level", text, "expected debug, info, warning or error");
}

std::optional<Format> parse_weights(const std::string& text) {
  if (text == "stored") return {};
  if (equal_ignoring_case(text, "q8_0")) return Q8_0::kFormat;
  if (equal_ignoring_case(text, "q4_k")) return Q4_K::kFormat;
  if (equal_ignoring_case(text, "bf16")) return BF16::kFormat;
  if (equal_ignoring_case(text, "f32")) return F32::kFormat;
  throw bad_option("--weights", text, "expected stored, q8_0, q4_k, bf16 or f32");
}

std::vector<std::int32_t> parse_end_tokens(const std::optional<std::string>& text) {
  std::vector<std::int32_t> ids;
  if (!text) return ids;
  for (const std::int64_t id : parse_list(*text, "--end-tokens", 0, kVocabMax - 1)) {
    ids.push_back(static_cast<std::int32_t>(id));
  }
  return ids;
}

}  // namespace

std::vector<OptionRow> work_option_rows(ModelOptionValues& v) {
  return {
      {.flag = "--threads",
       .value = &v.threads,
       .help = "Threads to compute with, or auto: one a core, or a CPU if that is faster"},
      {.flag = "--log-level",
       .value = &v.log_level,
       .help = "Lines that are shown on stderr",
       .unit = "debug|info|warning|error"},
  };
}

std::vector<OptionRow> model_option_rows(ModelOptionValues& v) {
  std::vector<OptionRow> rows = work_option_rows(v);
  rows.insert(
      rows.end(),
      {{.flag = "--ctx",
        .value = &v.ctx,
        .help = "Tokens a sequence may have; more than the model was made for is possible, but its "
                "text gets worse (default: the model's own)",
        .low = 1,
        .high = kContextMax,
        .show_default = false},
       {.flag = "--kv-type",
        .value = &v.kv_type,
        .help = "Type of cached keys and values; auto: bf16 if the layers' matrices are mostly "
                "BF16 in memory, f32 if the model embeds or scores, else f16",
        .unit = "auto|f16|f32|bf16|int8"},
       {.flag = "--weights",
        .value = &v.weights,
        .help = "Round or widen the F32, F16 and BF16 matrices to this type while loading; other "
                "types stay as stored",
        .unit = "stored|q8_0|q4_k|bf16|f32"},
       {.flag = "--end-tokens",
        .value = &v.end_tokens,
        .help = "Ids of the tokens that end a text, in place of the model's own: 1,2",
        .unit = "IDS"},
       {.flag = "--device",
        .value = &v.device,
        .help = "Where to compute; auto: the fastest device that this build and machine offer",
        .unit = "auto|cpu"},
       {.flag = "--numerics",
        .value = &v.numerics,
        .help = "canon: the same bits on every device; fast: a device's faster order; auto: the "
                "device's choice",
        .unit = "auto|canon|fast"},
       {.flag = "--cpu-isa",
        .value = &v.isa,
        .help = "Kernels to use; all give the same bits",
        .unit = "auto|scalar|avx2-novnni|avx2|avx512-novnni|avx512|avx512-bf16|avx512-amx|neon"},
       {.flag = "--memory-limit",
        .value = &v.memory_limit,
        .help = "Bytes to use at most, with K, M or G; 0: what the system has available"},
       {.flag = "--pin-threads",
        .value = &v.pin_threads,
        .help = "Bind each thread to a CPU of its own"},
       {.flag = "--check-tensors",
        .value = &v.check_tensors,
        .help = "Refuse weights that are NaN or infinite (reads every weight)"},
       {.flag = "--accept-unknown",
        .value = &v.accept_unknown,
        .help = std::string(kAcceptUnknownHelp),
        .unit = "KEY"}});
  const std::vector<OptionRow> pack = pack_cache_rows(v.pack_cache);
  rows.insert(rows.end(), pack.begin(), pack.end());
  return rows;
}

void add_model_options(CLI::App& app, ModelOptionValues& values) {
  add_text(app, values.path, "MODEL",
           cat("A GGUF file, a Hugging Face folder, or a name that ingot models lists (default: ",
               kBuiltInModel, ", which is part of the program)"));
  add_options(app, model_option_rows(values));
}

void add_work_options(CLI::App& app, ModelOptionValues& values) {
  add_options(app, work_option_rows(values));
}

void apply_log_level(const ModelOptionValues& values) {
  set_log_level(parse_log_level(values.log_level));
}

InstanceOptions instance_options(const ModelOptionValues& values) {
  apply_log_level(values);
  const ModelPlace place = find_model(values.path);
  return {.path = place.path,
          .bytes = place.bytes,
          .device = values.device,
          .numerics = values.numerics,
          .isa = values.isa,
          .kv_type = parse_kv_type(values.kv_type),
          .weights = parse_weights(values.weights),
          .context = values.ctx,
          .pack_cache = pack_cache_options(values.pack_cache),
          .memory_limit = parse_bytes(values.memory_limit, "--memory-limit"),
          .adapters = adapter_sources(values.adapters),
          .accept_unknown = values.accept_unknown,
          .end_ids = parse_end_tokens(values.end_tokens)};
}

std::unique_ptr<ThreadPool> make_pool(const ModelOptionValues& values) {
  ThreadPoolOptions options{.pin = values.pin_threads};
  int threads = parse_threads(values.threads);
  if (threads == 0) {
    options.cpus = choose_cpus(*host_kernels().back());
    threads = std::max(1, static_cast<int>(options.cpus.size()));
  }
  return std::make_unique<ThreadPool>(threads, std::move(options));
}

std::string kv_type_name(const Instance& instance) {
  std::string name(to_string(instance.kv_type()));
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

OpenModel::OpenModel(const ModelOptionValues& values, const ComputeOptions& compute)
    : pool(make_pool(values)), instance(*pool, [&] {
        InstanceOptions options = instance_options(values);
        options.profile = compute.profile;
        options.pools = compute.pools;
        options.pooling = compute.pooling;
        options.normalise = compute.normalise;
        return options;
      }()) {
  show_warnings(instance);
}

std::vector<std::int64_t> parse_list(std::string_view text, std::string_view option,
                                     std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> values;
  for (;;) {
    const std::size_t comma = text.find(',');
    values.push_back(parse_whole(text.substr(0, comma), option, low, high));
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

std::vector<std::int32_t> parse_tokens(std::string_view text, std::int64_t vocab) {
  if (vocab == 0) {
    throw Error(ErrorCode::kInvalid, "--tokens: this model has no embeddings, use --embeds");
  }
  std::vector<std::int32_t> ids;
  for (const std::int64_t id : parse_list(text, "--tokens", 0, vocab - 1)) {
    ids.push_back(static_cast<std::int32_t>(id));
  }
  return ids;
}

const Tokenizer& require_tokenizer(const Instance& instance, std::string_view hint) {
  if (instance.tokenizer() != nullptr) return *instance.tokenizer();
  throw model_error(instance.name(), "tokenizer",
                    cat("the model has no tokenizer that ingot can read", hint));
}

std::vector<std::int32_t> encode_prompt(const Instance& instance, std::string_view text,
                                        const PromptOptions& options) {
  const Tokenizer& tokenizer = require_tokenizer(instance, kUseTokens);
  if (options.suffix.empty()) {
    return tokenizer.encode_prompt(text, options.special.value_or(true));
  }
  if (!tokenizer.fim()) {
    throw Error(ErrorCode::kInvalid, "suffix: the model has no fill-in-the-middle tokens");
  }
  return encode_fim(
      tokenizer,
      {.prefix = text, .suffix = options.suffix, .parse_special = options.special.value_or(false)});
}

std::int64_t choose_context(const Instance& instance, const ModelOptionValues& values,
                            std::int64_t prompt, std::int64_t needed) {
  const std::int64_t made_for = instance.spec().context;
  const std::int64_t trained = std::max(made_for, instance.config().context);
  const std::int64_t limit = values.ctx > 0 ? values.ctx : trained;
  if (prompt > limit) {
    throw Error(ErrorCode::kInvalid, cat("the input has ", prompt, " tokens, the context is ",
                                         limit, values.ctx > 0 ? " (--ctx)" : ": --ctx raises it"));
  }
  if (values.ctx > trained) {
    log_warning(cat("--ctx ", values.ctx, " is more than the ", trained,
                    " tokens that the model was made for"));
  }
  if (values.ctx > 0) return std::min(needed, limit);
  if (prompt > made_for) {
    log_warning(cat("the input has ", prompt, " tokens, the model's rotary factors are those of ",
                    made_for, " tokens: --ctx chooses factors for longer texts"));
  }
  return std::max(std::min(needed, made_for), prompt);
}

void shrink_step_to_fit(const Instance& instance, StartOptions& start) {
  StartOptions one = start;
  one.pool_sequences = 1;
  while (one.rows > 1 && !instance.plan(one).fits) {
    one.rows /= 2;
    one.sequences = std::min(one.sequences, one.rows);
  }
  start.rows = one.rows;
  start.sequences = one.sequences;
}

std::int64_t largest_context(const Instance& instance, const ModelOptionValues& values,
                             std::int64_t most, StartOptions start) {
  start.context = choose_context(instance, values, 0, std::numeric_limits<std::int64_t>::max());
  if (values.ctx > 0) return start.context;
  start.context = std::min(start.context, most);
  start.pool_sequences = 1;
  const MemoryPlan plan = instance.plan(start);
  return !plan.fits && plan.max_context > 0 ? plan.max_context : start.context;
}

void show_warnings(const Instance& instance, std::size_t first) {
  for (const std::string& warning : std::span(instance.warnings()).subspan(first)) {
    log_warning(with_flags(warning));
  }
}

void start_with_progress(Instance& instance, const StartOptions& options) {
  const std::size_t known = instance.warnings().size();
  {
    ProgressBar bar("loading and packing weights");
    instance.start(options, interruptible(bar));
  }
  show_warnings(instance, known);
  for (const std::string& note : instance.notes()) log_info(note);
}

}  // namespace ingot
