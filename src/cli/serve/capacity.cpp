// Fits a server's options to the model, the memory and the limit on descriptors.
#include "cli/serve/capacity.h"

#include <algorithm>
#include <new>

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

/// The bytes in memory of the adapter in a folder; 0 if the folder holds none, which the log says.
std::int64_t folder_adapter(const Instance& instance, const ModelOptions& model,
                            const AdapterFolder& folder, const FolderBytes& tried,
                            std::int64_t bytes_max) {
  const auto pass_over = [&](std::string_view reason) {
    // The first request for the adapter gets the reason too.
    log_warning(cat("--lora-dir: ", reason));
    return std::int64_t{0};
  };
  if (tried.bytes > static_cast<std::uint64_t>(bytes_max)) {
    return pass_over(cat(tried.name, ": the file has ", tried.bytes,
                         " bytes, and the memory holds no more than ", bytes_max));
  }
  try {
    return instance.adapter_bytes(folder.open(tried.name), model);
  } catch (const Error& error) {
    return pass_over(error.plain_message());
  } catch (const std::bad_alloc&) {
    return pass_over(cat(tried.name, ": the memory does not suffice to read the file"));
  }
}

/// The bytes of the largest known adapter: the adapters of --lora, and the folder's adapter with
/// the largest file of at most `bytes_max` bytes. 0: there is none.
std::int64_t largest_adapter(const Instance& instance, const ModelOptions& model,
                             const AdapterFolder* folder, std::int64_t bytes_max) {
  constexpr std::size_t kTriesMax = 16;  // each may read a file
  const std::int64_t opened = instance.largest_adapter(model);
  if (folder == nullptr) return opened;
  std::vector<FolderBytes> all = folder->all_by_bytes();
  all.resize(std::min(all.size(), kTriesMax));
  for (const FolderBytes& tried : all) {
    const std::int64_t bytes = folder_adapter(instance, model, *folder, tried, bytes_max);
    if (bytes > 0) return std::max(opened, bytes);
  }
  return opened;
}

/// Memory for adapters that are loaded later.
struct AdapterRoom {
  std::int64_t wanted = 0;  ///< number of adapters that may be loaded
  std::int64_t kept = 0;    ///< number of adapters for which there is memory
  std::int64_t bytes = 0;   ///< bytes of each; 0: unknown, so no memory is kept
};

/// Chooses the memory for later adapters: at most half of what one sequence leaves. The other half
/// is for further sequences.
AdapterRoom choose_room(const ServerValues& values, const Instance& instance,
                        const AdapterFolder* folder, const StartOptions& start) {
  const std::int64_t places = values.server.max_loras - std::ssize(values.model.adapters.lora);
  if (!start.more_adapters || places <= 0) return {};
  if (values.draft.model) {
    log_info("--draft: later adapters get what the draft model leaves of the memory");
    return {};
  }
  StartOptions one = start;
  one.pool_sequences = 1;
  const MemoryPlan plan = instance.plan(one);
  if (!plan.fits) return {};  // starting fails and reports the numbers
  const std::int64_t left = plan.op_memory().unused_bytes();
  // Files are read into the host's memory.
  const std::int64_t bytes_max = std::min(left, plan.host.unused_bytes());
  const std::int64_t bytes = largest_adapter(instance, start.model, folder, bytes_max);
  if (bytes == 0) {
    log_info("no adapter is known yet: later loads get what the memory plan leaves");
    return {};
  }
  return {.wanted = places, .kept = std::min(places, left / 2 / bytes), .bytes = bytes};
}

void report_room(const ServerConfig& config, const AdapterRoom& room, const StartOptions& start) {
  if (room.bytes == 0) return;
  const std::string each = cat(" more adapters of ", room.bytes, " bytes each, beside ",
                               start.context * start.pool_sequences, " KV tokens");
  if (room.kept == room.wanted) {
    log_info(cat("memory is kept for ", room.kept, each));
    return;
  }
  log_warning(cat("--max-loras ", config.max_loras, ": memory is kept for ", room.kept,
                  " instead of ", room.wanted, each,
                  ": at most half of what one request leaves is for adapters"));
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
  const AdapterRoom room = choose_room(values, instance, folder, start);
  start.later_adapter_bytes = room.kept * room.bytes;
  const std::int64_t wanted = wanted_kv_tokens(config, start.context);
  start.pool_sequences = static_cast<std::int32_t>(std::clamp<std::int64_t>(
      (wanted + start.context - 1) / start.context, 1, instance.fitting_pool(start)));
  // If one sequence does not fit, starting fails and reports the numbers.
  if (!instance.plan(start).fits) return start;
  report_room(config, room, start);
  warn_of_less(config, start);
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
