// ingot lora: shows, merges and converts adapters.
#include "base/error.h"
#include "cli/lora/lora_commands.h"
#include "cli/options/options.h"

namespace ingot {

Command add_lora_command(CLI::App& app) {
  CLI::App& sub = add_command(app, "lora", "Show, merge and convert LoRA adapters");
  Command command{.app = &sub, .run = []() -> int {
                    throw Error(ErrorCode::kInvalid,
                                "lora: expected a subcommand: inspect, merge or convert");
                  }};
  command.below.push_back(add_lora_inspect_command(sub));
  command.below.push_back(add_lora_merge_command(sub));
  command.below.push_back(add_lora_convert_command(sub));
  return command;
}

}  // namespace ingot
