// The subcommands of ingot lora.
#pragma once

#include "cli/command.h"

namespace ingot {

/// Adds `ingot lora inspect`, which shows what is in an adapter.
Command add_lora_inspect_command(CLI::App& app);
/// Adds `ingot lora merge`, which writes a model whose weights have an adapter's changes.
Command add_lora_merge_command(CLI::App& app);
/// Adds `ingot lora convert`, which writes a PEFT adapter as a GGUF adapter, or the other way
/// round.
Command add_lora_convert_command(CLI::App& app);

}  // namespace ingot
