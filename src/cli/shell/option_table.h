// All commands and options as a table, for completion scripts and manual pages.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ingot {

/// An option or a positional argument.
struct OptionInfo {
  std::vector<std::string> names;    ///< "-p", "--prompt"; of a positional argument "MODEL"
  std::string value;                 ///< the kind of value: "TEXT"; empty for a flag
  std::vector<std::string> choices;  ///< all values, if they are known
  std::string help;
  std::string initial;  ///< the default, or empty
  bool is_required = false;
  bool is_repeatable = false;
};

/// A command.
struct CommandInfo {
  std::vector<std::string> words;  ///< as typed: {"run"}; empty for ingot itself
  std::string help;
  std::string footer;
  std::vector<OptionInfo> options;
  std::vector<OptionInfo> positionals;
  std::vector<std::string> children;  ///< the last words of its own commands

  /// The words with `between` before each: " run".
  std::string path(char between) const;
};

/// All commands and options that the help of the application shows, parents before children. A
/// value of type "a|b|c" has these choices.
std::vector<CommandInfo> option_table(const CLI::App& app);

}  // namespace ingot
