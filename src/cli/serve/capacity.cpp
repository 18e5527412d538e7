// Fits a server's options to the model, the memory and the limit on descriptors.
#include "cli/serve/capacity.h"

#include <algorithm>

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

/// Makes a step large enough for the longest sequence of a model that needs whole sequences. If the
/// memory holds no such step, lowers the context to the largest step that fits.
void fit_whole_sequences(const Instance& instance, StartOptions& start) {
  if (!instance.needs_whole_sequences() || start.rows >= start.context) return;
  StartOptions larger = start;
  larger.rows = static_cast<std::int32_t>(start.context);
  if (instance.plan(larger).fits) {
    start = larger;
  } else {
    start.context = start.rows;
  }
}

}  // namespace

StartOptions plan_start(const ServerValues& values, const Instance& instance) {
  const ServerConfig& config = values.server;
  StartOptions start{.model = {.check_tensors = values.model.check_tensors},
                     .sequences = wanted_sequences(config, values.model.ctx),
                     .rows = config.step_rows,
                     .generates = true};
  if (can_do(instance.config(), ModelUse::kText)) {
    start.prompt_logprobs = kLogprobsMax;
  } else {
    start.model.head = false;
  }
  const std::int64_t most = std::min(kServedContext, instance.input_tokens_max());
  start.context = largest_context(instance, values.model, most, start);
  shrink_step_to_fit(instance, start);
  fit_whole_sequences(instance, start);
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
