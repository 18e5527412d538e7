// ingot completion: prints scripts that complete its command line in a shell.
#include <memory>

#include "base/text.h"
#include "cli/command.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "cli/shell/completion_scripts.h"

namespace ingot {

PositionalKind positional_kind(const OptionInfo& positional) {
  if (positional.names.front() == "MODEL") return PositionalKind::kModel;
  return positional.names.front() == "NAME" ? PositionalKind::kName : PositionalKind::kFile;
}

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string joined(std::span<const std::string> words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) text += cat(text.empty() ? "" : between, word);
  return text;
}

namespace {

std::string script(const std::string& shell, std::span<const CommandInfo> commands) {
  if (shell == "bash") return bash_completion(commands);
  if (shell == "zsh") return zsh_completion(commands);
  if (shell == "fish") return fish_completion(commands);
  throw bad_option("SHELL", shell, "expected bash, zsh or fish");
}

}  // namespace

Command add_completion_command(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App& sub =
      add_command(app, "completion", "Print a script that completes ingot's command line");
  add_text(sub, *shell,
           {.name = "SHELL",
            .help = "The shell to complete in",
            .takes = "bash|zsh|fish",
            .is_required = true});
  set_footer(sub, "For the current bash: source <(ingot completion bash)");
  return {&sub,
          [&app, shell] {
            write_stdout(script(*shell, option_table(app)));
            return kDone;
          },
          "ingot completion bash > ~/.local/share/bash-completion/completions/ingot"};
}

}  // namespace ingot
