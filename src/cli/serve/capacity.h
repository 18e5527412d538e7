// Plans what `ingot serve` can run in the available memory: context, sequences, rows, KV pool.
#pragma once

#include "cli/options/serve_options.h"

namespace ingot {

/// Returns the options for starting the model: the flags' values, reduced if memory is too small.
/// Logs a warning for each value that is below its flag.
///
/// Errors: those of choose_context.
StartOptions plan_start(const ServerValues& values, const Instance& instance);

/// Returns whether adapters may be loaded while the server runs.
bool may_load_adapters(const ServerConfig& config);

/// Raises the process's limit on descriptors to what `listen` needs. If the system allows fewer
/// descriptors, lowers `listen.connections_max` and logs a warning.
void fit_connections(ServerOptions& listen);

}  // namespace ingot
