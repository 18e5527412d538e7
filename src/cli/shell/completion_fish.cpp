// The completion script for fish: one declaration for each option of each command.
#include "base/text.h"
#include "cli/shell/completion_scripts.h"

namespace ingot {

namespace {

constexpr std::string_view kFishBegin =
    R"sh(# fish completion for ingot, made by: ingot completion fish
function __ingot_names
  ingot models --names 2>/dev/null
end
complete -c ingot -f
)sh";

/// `text` in single quotes as fish reads them: a backslash escapes.
std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

/// A fish condition that holds if the line names this command so far.
std::string condition(const CommandInfo& command) {
  if (command.words.empty()) return "__fish_use_subcommand";
  std::string text;
  for (const std::string& word : command.words) {
    text += cat(text.empty() ? "" : "; and ", "__fish_seen_subcommand_from ", word);
  }
  return text;
}

/// The option's names as fish declares them: " -s p -l prompt".
std::string name_flags(const OptionInfo& option) {
  std::string flags;
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    flags += cat(is_long ? " -l " : " -s ", name.substr(is_long ? 2 : 1));
  }
  return flags;
}

/// Flags that say whether files or only these words can follow.
std::string value_flags(const OptionInfo& option) {
  if (option.value.empty()) return {};
  if (option.choices.empty()) return " -r -F";
  return cat(" -x -a ", in_quotes(joined(option.choices)));
}

std::string positional_flags(const OptionInfo& positional) {
  if (!positional.choices.empty()) return cat(" -a ", in_quotes(joined(positional.choices)));
  switch (positional_kind(positional)) {
    case PositionalKind::kModel:
      return " -F -a '(__ingot_names)'";
    case PositionalKind::kName:
      return " -a '(__ingot_names)'";
    case PositionalKind::kFile:
      break;
  }
  return " -F";
}

}  // namespace

std::string fish_completion(std::span<const CommandInfo> commands) {
  std::string text(kFishBegin);
  for (const CommandInfo& command : commands) {
    const std::string begin = cat("complete -c ingot -n ", in_quotes(condition(command)));
    for (const OptionInfo& option : command.options) {
      text +=
          cat(begin, name_flags(option), value_flags(option), " -d ", in_quotes(option.help), "\n");
    }
    for (const OptionInfo& positional : command.positionals) {
      text += cat(begin, positional_flags(positional), "\n");
    }
  }
  for (const CommandInfo& command : commands.subspan(1)) {
    CommandInfo parent = command;
    parent.words.pop_back();
    text += cat("complete -c ingot -n ", in_quotes(condition(parent)), " -a ", command.words.back(),
                " -d ", in_quotes(command.help), "\n");
  }
  return text;
}

}  // namespace ingot
