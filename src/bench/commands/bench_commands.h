// Declares `ingot bench` and its subcommands.
#pragma once

#include "cli/command.h"

namespace ingot {

/// Adds `ingot bench`, which compares a model's speed with the machine's limits.
Command add_bench_command(CLI::App& app);
/// Adds `ingot bench serve-inproc`, which measures an engine in this process under load.
Command add_serve_inproc_command(CLI::App& bench);
/// Adds `ingot bench serve`, which measures a server under load.
Command add_bench_server_command(CLI::App& bench);

}  // namespace ingot
