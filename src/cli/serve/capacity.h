// How much `ingot serve` can run at once: context, sequences, rows and KV pool for the memory.
#pragma once

#include "cli/options/serve_options.h"

namespace ingot {

/// The largest start that the options ask for and the memory holds. Where it is smaller than an
/// option, a warning says why.
///
/// Errors: as of choose_context.
StartOptions plan_start(const ServerValues& values, const Instance& instance);

/// Lowers `listen.connections_max` to what the process has descriptors for, with a warning, after
/// raising its limit of descriptors as far as the system allows.
void fit_connections(ServerOptions& listen);

}  // namespace ingot
