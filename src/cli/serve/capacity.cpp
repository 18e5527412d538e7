// Fits a server's options to the model, the memory and the limit on descriptors.
#include "cli/serve/capacity.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cli/log.h"
#include "server/descriptors.h"

namespace ingot {

namespace {

/// Tokens of the KV pool to plan for: --kv-tokens or its default.
std::int64_t wanted_kv_tokens(const ServerConfig& config, std::int64_t context) {
  return config.kv_tokens > 0 ? config.kv_tokens : std::max(context, kKvTokensDefault);
}

std::int32_t wanted_sequences(const ServerConfig& config, std::int64_t context) {
  if (config.sequences > 0) return std::min(config.sequences, config.step_rows);
  const std::int64_t by_tokens = std::clamp(wanted_kv_tokens(config, context) / kTokensPerSequence,
                                            kSequencesMin, kSequencesMax);
  return static_cast<std::int32_t>(std::min<std::int64_t>(by_tokens, config.step_rows));
}

void warn_of_less(const ServerConfig& config, const StartOptions& start) {
  constexpr std::string_view kMemory = "the memory holds no more";
  if (start.rows < config.step_rows) {
    log_warning(cat("steps have ", start.rows, " tokens at most instead of ", config.step_rows,
                    " (--step-rows): ", kMemory));
  }
  if (start.sequences < config.sequences) {
    log_warning(cat("--sequences ", config.sequences, ": ", start.sequences,
                    ", since each needs one of the tokens of a step (--step-rows)"));
  }
  const std::int64_t tokens = start.context * start.pool_sequences;
  if (tokens < config.kv_tokens) {
    const std::string of_all = cat(start.sequences, " requests of ", start.context,
                                   " tokens need no more (--sequences, --ctx)");
    log_warning(cat("--kv-tokens ", config.kv_tokens, ": ", tokens, ", since ",
                    start.pool_sequences == start.sequences ? of_all : kMemory));
  }
}

/// Least context that a server chooses for itself.
constexpr std::int64_t kLeastContext = 64;

/// Makes a step large enough for the longest sequence of a model that needs whole sequences. If the
/// memory holds no such step, lowers the context and the step to the most that fits, unless --ctx
/// states the context: then starting fails.
void fit_whole_sequences(const Instance& instance, const ServerValues& values,
                         StartOptions& start) {
  const std::int64_t wanted = start.context;
  const auto sized = [&](std::int64_t context) {
    StartOptions other = start;
    other.context = context;
    other.rows = static_cast<std::int32_t>(context);
    other.sequences = std::min(start.sequences, other.rows);
    other.pool_sequences = 1;
    return other;
  };
  StartOptions most = sized(wanted);
  most.rows = std::max(most.rows, start.rows);
  if (instance.plan(most).fits || values.model.ctx > 0) {
    start = instance.plan(most).fits ? most : sized(wanted);
    return;
  }
  std::int64_t fits = std::min(kLeastContext, wanted), over = wanted + 1;
  while (over - fits > 1) {
    const std::int64_t middle = fits + (over - fits) / 2;
    (instance.plan(sized(middle)).fits ? fits : over) = middle;
  }
  start = sized(fits);
  if (fits < wanted) {
    log_warning(cat("requests have ", fits, " tokens at most instead of ", wanted,
                    " (--ctx): the memory holds no more"));
  }
}

/// The bytes of the largest known adapter: the adapters of --lora, and the folder's adapter with
/// the largest file. 0: there is none.
std::int64_t largest_adapter(const Instance& instance, const ModelOptions& model,
                             const AdapterFolder* folder) {
  constexpr std::size_t kTriesMax = 16;  // each reads a file
  const std::int64_t opened = instance.largest_adapter(model);
  if (folder == nullptr) return opened;
  std::vector<std::string> names = folder->names_by_bytes();
  names.resize(std::min(names.size(), kTriesMax));
  for (const std::string& name : names) {
    try {
      return std::max(opened, instance.adapter_bytes(folder->open(name), model));
    } catch (const Error& error) {
      // The first request for the adapter gets the reason too.
      log_warning(cat("--lora-dir: ", error.plain_message()));
    }
  }
  return opened;
}

/// Keeps memory for adapters that are loaded later: for as many as fit beside one sequence.
void keep_room_for_adapters(const ServerValues& values, const Instance& instance,
                            const AdapterFolder* folder, StartOptions& start) {
  const std::int64_t places = values.server.max_loras - std::ssize(values.model.adapters.lora);
  if (!start.more_adapters || places <= 0) return;
  const std::int64_t bytes = largest_adapter(instance, start.model, folder);
  if (bytes == 0) {
    log_info("no adapter is known yet: later loads get what the memory plan leaves");
    return;
  }
  StartOptions one = start;
  one.pool_sequences = 1;
  const std::int64_t unused =
      std::max<std::int64_t>(0, instance.plan(one).op_memory().unused_bytes());
  const std::int64_t fitting = std::min(places, unused / bytes);
  start.later_adapter_bytes = fitting * bytes;
  log_info(cat("memory is kept for ", fitting, " more adapters of ", bytes, " bytes"));
  if (fitting == places) return;
  log_warning(cat("--max-loras ", values.server.max_loras, ": memory is kept for ", fitting,
                  " instead of ", places, " more adapters of ", bytes,
                  " bytes: the memory holds no more"));
}

}  // namespace

bool may_load_adapters(const ServerConfig& config) {
  return !config.any_model && (!config.lora_dir.empty() || !config.listen.admin_socket.empty());
}

StartOptions plan_start(const ServerValues& values, const Instance& instance,
                        const AdapterFolder* folder) {
  const ServerConfig& config = values.server;
  StartOptions start{.model = {.check_tensors = values.model.check_tensors},
                     .sequences = wanted_sequences(config, values.model.ctx),
                     .rows = config.step_rows,
                     .generates = true,
                     .more_adapters = may_load_adapters(config),
                     .adapters_max = config.max_loras};
  if (can_do(instance.config(), ModelUse::kText)) {
    start.prompt_logprobs = kLogprobsMax;
    start.draft_rows = values.draft.draft_rows(start.sequences);
  } else {
    start.model.head = false;
  }
  const std::int64_t most = std::min(kServedContext, instance.input_tokens_max());
  const bool is_whole = instance.needs_whole_sequences();
  StartOptions least = start;
  if (is_whole) least.rows = least.sequences = 1;  // the context decides
  start.context = largest_context(instance, values.model, most, least);
  if (is_whole) {
    fit_whole_sequences(instance, values, start);
  } else {
    shrink_step_to_fit(instance, start);
  }
  keep_room_for_adapters(values, instance, folder, start);
  const std::int64_t wanted = wanted_kv_tokens(config, start.context);
  start.pool_sequences = static_cast<std::int32_t>(std::clamp<std::int64_t>(
      (wanted + start.context - 1) / start.context, 1, instance.fitting_pool(start)));
  // If one sequence does not fit, starting fails and reports the numbers.
  if (instance.plan(start).fits) warn_of_less(config, start);
  return start;
}

void fit_connections(ServerOptions& listen) {
  // Descriptors for the model, the log, sockets and libraries; then for each thread.
  constexpr std::int64_t kOwn = 32, kOwnOfThread = 3;
  const std::int64_t others = kOwn + kOwnOfThread * listen.io_threads + listen.connections_reserved;
  const std::int64_t wanted = listen.connections_max + others;
  const std::int64_t possible = raise_descriptor_limit(wanted);
  if (possible >= wanted) return;
  const std::int64_t fitting = std::max<std::int64_t>(1, possible - others);
  log_warning(cat("--connections ", listen.connections_max, " needs ", wanted, " descriptors and ",
                  possible, " are allowed (ulimit -n): there may be ", fitting, " connections"));
  listen.connections_max = fitting;
}

}  // namespace ingot
