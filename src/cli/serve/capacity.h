// Plans what `ingot serve` can run in the available memory: context, sequences, rows, KV pool.
#pragma once

#include "cli/options/serve_options.h"

namespace ingot {

/// Options for starting the model: what the flags ask for, or less if the memory holds less. A
/// warning explains each value that is below its flag.
///
/// Errors: those of choose_context.
StartOptions plan_start(const ServerValues& values, const Instance& instance);

/// Raises the process's limit on descriptors if the connections need more. If the system does not
/// allow enough, lowers `listen.connections_max`, with a warning.
void fit_connections(ServerOptions& listen);

}  // namespace ingot
