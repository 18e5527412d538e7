// The completion script for zsh: one function for each command, based on _arguments.
#include "base/text.h"
#include "cli/shell/completion_scripts.h"

namespace ingot {

namespace {

constexpr std::string_view kZshBegin = R"sh(#compdef ingot
# zsh completion for ingot, made by: ingot completion zsh
_ingot_names() {
  local -a names
  names=(${(f)"$(ingot models --names 2>/dev/null)"})
  compadd -a names
}
_ingot_models() {
  _ingot_names
  _files
}
)sh";

constexpr std::string_view kZshEnd = R"sh(if [[ $funcstack[1] == _ingot ]]; then
  _ingot "$@"
elif (( $+functions[compdef] )); then
  compdef _ingot ingot
fi
)sh";

/// `text` with a backslash before each of `special`.
std::string escaped(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != special.npos) result += '\\';
    result += c;
  }
  return result;
}

/// The part of an _arguments spec for a value: ":message:action".
std::string value_spec(const OptionInfo& option, std::string_view action) {
  return cat(":", escaped(option.value, ":\\"), ":",
             option.choices.empty() ? std::string(action) : cat("(", joined(option.choices), ")"));
}

std::string option_specs(const OptionInfo& option) {
  std::string specs;
  for (const std::string& name : option.names) {
    const std::string others = option.is_repeatable ? "*" : cat("(", joined(option.names), ")");
    specs += cat(" \\\n    ",
                 shell_quoted(cat(others, name, "[", escaped(option.help, "[]\\"), "]",
                                  option.value.empty() ? "" : value_spec(option, "_files"))));
  }
  return specs;
}

std::string_view positional_action(const OptionInfo& positional) {
  switch (positional_kind(positional)) {
    case PositionalKind::kModel:
      return "_ingot_models";
    case PositionalKind::kName:
      return "_ingot_names";
    case PositionalKind::kFile:
      break;
  }
  return "_files";
}

/// Calls the function of a subcommand; before its name is typed, offers the names.
std::string child_cases(const CommandInfo& command, std::span<const CommandInfo> commands) {
  std::string cases;
  std::string list;
  for (const CommandInfo& child : commands) {
    if (child.words.size() != command.words.size() + 1 ||
        child.path(' ') != cat(command.path(' '), " ", child.words.back())) {
      continue;
    }
    cases += cat("      ", child.words.back(), ") shift words; (( CURRENT-- )); _ingot",
                 child.path('_'), "; return ;;\n");
    list += cat("\n    ", shell_quoted(cat(child.words.back(), ":", child.help)));
  }
  return cat("  if (( CURRENT > 2 )); then\n    case $words[2] in\n", cases,
             "    esac\n  fi\n  local -a commands=(", list,
             "\n  )\n  (( CURRENT == 2 )) && _describe command commands\n");
}

std::string command_function(const CommandInfo& command, std::span<const CommandInfo> commands) {
  std::string text = cat("_ingot", command.path('_'), "() {\n");
  if (!command.children.empty()) text += child_cases(command, commands);
  text += "  _arguments";
  for (const OptionInfo& option : command.options) text += option_specs(option);
  for (const OptionInfo& positional : command.positionals) {
    const std::string rest = positional.is_repeatable ? "*" : "";
    text += cat(" \\\n    ",
                shell_quoted(rest + value_spec(positional, positional_action(positional))));
  }
  return text + "\n}\n";
}

}  // namespace

std::string zsh_completion(std::span<const CommandInfo> commands) {
  std::string text(kZshBegin);
  for (const CommandInfo& command : commands) text += command_function(command, commands);
  return text + std::string(kZshEnd);
}

}  // namespace ingot
