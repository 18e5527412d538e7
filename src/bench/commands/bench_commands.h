// Declares `ingot bench` and its subcommands.
#pragma once

#include "cli/command.h"

namespace ingot {

/// ingot bench: measures speed beside the machine's limits.
Command add_bench_command(CLI::App& app);
/// ingot bench serve-inproc: measures an engine under the load of many requests.
Command add_serve_inproc_command(CLI::App& bench);
/// ingot bench serve: measures a server under the load of many requests.
Command add_bench_server_command(CLI::App& bench);

}  // namespace ingot
