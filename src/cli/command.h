// The commands of the ingot binary, one file each.
#pragma once

#include <functional>
#include <vector>

namespace CLI {
class App;
}

namespace ingot {

/// Exit codes that a command gives itself; whatever is an Error gets its own.
inline constexpr int kDone = 0;
inline constexpr int kCheckFailed = 1;

/// A command: declares itself on the application and returns what runs it, to an exit code.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

/// ingot inspect: shows what is in a model file.
Command add_inspect_command(CLI::App& app);
/// ingot logits: writes logits or hidden states.
Command add_logits_command(CLI::App& app);
/// ingot run: continues a prompt.
Command add_run_command(CLI::App& app);

/// Parses the command line, runs the command and returns the process's exit code (the table of
/// cli.md).
int run_command_line(int argc, char** argv);

}  // namespace ingot
