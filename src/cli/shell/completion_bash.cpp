// The completion script for bash: one function that finds the command, then the possible words.
#include "base/text.h"
#include "cli/shell/completion_scripts.h"

namespace ingot {

namespace {

// bash also splits words at ':', which model names contain. So the line is split at blanks only,
// and the part that bash does not replace is cut off at the end. Names come from strangers: they
// are quoted, and never passed to compgen -W, which would expand them.
constexpr std::string_view kBashBegin =
    R"sh(# bash completion for ingot, made by: ingot completion bash
_ingot() {
  local line=${COMP_LINE:0:COMP_POINT} command='' options='' choices='' names='' files='' i
  local -a words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  local current=${words[-1]} previous=${words[-2]}
  for ((i = 1; i < ${#words[@]} - 1; ++i)); do
    case "$command ${words[i]}" in
)sh";

constexpr std::string_view kBashEnd = R"sh(  esac
  if [[ $current == -* && -n $options ]]; then
    choices=$options names='' files=''
  fi
  local word
  COMPREPLY=()
  for word in $choices; do
    [[ $word == "$current"* ]] && COMPREPLY+=("$word")
  done
  if [[ -n $names ]]; then
    while IFS= read -r word; do
      printf -v word %q "$word"
      [[ $word == "$current"* ]] && COMPREPLY+=("$word")
    done < <(ingot models --names 2>/dev/null)
  fi
  if [[ -n $files ]]; then
    local -a found
    mapfile -t found < <(compgen -f -- "$current")
    COMPREPLY+=("${found[@]}")
    compopt -o filenames 2>/dev/null
  fi
  local head=${current%"${current##*[:=]}"}
  [[ $COMP_WORDBREAKS == *[:=]* ]] && COMPREPLY=("${COMPREPLY[@]#"$head"}")
  return 0
}
complete -F _ingot ingot
)sh";

/// The words that can follow if the last word is not an option with a value.
std::string positional_line(const CommandInfo& command) {
  std::vector<std::string> choices = command.children;
  if (command.positionals.empty()) {
    return choices.empty() ? "files=''" : cat("choices=", shell_quoted(joined(choices)));
  }
  const OptionInfo& positional = command.positionals.front();
  choices.insert(choices.end(), positional.choices.begin(), positional.choices.end());
  std::string before = choices.empty() ? "" : cat("choices=", shell_quoted(joined(choices)), " ");
  if (!positional.choices.empty()) return before;
  switch (positional_kind(positional)) {
    case PositionalKind::kModel:
      return before + "names=yes files=yes";
    case PositionalKind::kName:
      return before + "names=yes";
    case PositionalKind::kFile:
      break;
  }
  return before + "files=yes";
}

std::string command_case(const CommandInfo& command) {
  std::string options;
  std::string cases;
  for (const OptionInfo& option : command.options) {
    options += cat(options.empty() ? "" : " ", joined(option.names));
    if (option.value.empty()) continue;
    cases += cat("        ", joined(option.names, " | "), ") options='' ",
                 option.choices.empty() ? "files=yes"
                                        : cat("choices=", shell_quoted(joined(option.choices))),
                 " ;;\n");
  }
  return cat("    ", shell_quoted(command.path(' ')), ")\n      options=", shell_quoted(options),
             "\n      case $previous in\n", cases, "        *) ", positional_line(command),
             " ;;\n      esac\n      ;;\n");
}

}  // namespace

std::string bash_completion(std::span<const CommandInfo> commands) {
  std::string text(kBashBegin);
  for (const CommandInfo& command : commands.subspan(1)) {
    text += cat("      ", shell_quoted(command.path(' ')), ") command+=\" ${words[i]}\" ;;\n");
  }
  text += "      *) break ;;\n    esac\n  done\n  case $command in\n";
  for (const CommandInfo& command : commands) text += command_case(command);
  return text + std::string(kBashEnd);
}

}  // namespace ingot
