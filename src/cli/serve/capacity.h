// Plans what `ingot serve` can run in the available memory: context, sequences, rows, KV pool.
#pragma once

#include "cli/options/serve_options.h"
#include "server/common/adapter_folder.h"

namespace ingot {

/// Returns the options for starting the model: the flags' values, reduced if memory is too small.
/// Logs a warning for each value that is below its flag. `folder`: that of --lora-dir, or null.
///
/// If adapters may be loaded later, keeps memory for them: the bytes of the largest known adapter,
/// for each place of --max-loras that --lora leaves. This memory is at most half of what further
/// sequences would have. It never comes from the context, the step or the KV pool's first sequence.
/// With a draft model, keeps none: the draft model comes first, and adapters get what it leaves.
///
/// Errors: those of choose_context.
StartOptions plan_start(const ServerValues& values, const Instance& instance,
                        const AdapterFolder* folder);

/// Returns whether adapters may be loaded while the server runs.
bool may_load_adapters(const ServerConfig& config);

/// Raises the process's limit on descriptors to what `listen` needs. If the system allows fewer
/// descriptors, lowers `listen.connections_max` and logs a warning.
void fit_connections(ServerOptions& listen);

}  // namespace ingot
