// The commands and their options as data: completion and manual pages are made from this.
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
  std::string value;                 ///< what it takes: "TEXT"; empty for a flag
  std::vector<std::string> choices;  ///< all values there are, where that is known
  std::string help;
  std::string initial;  ///< the default, or empty
  bool is_required = false;
  bool is_repeatable = false;
};

/// A command.
struct CommandInfo {
  std::vector<std::string> words;  ///< as typed: {"run"}; none for the program itself
  std::string help;
  std::string footer;
  std::vector<OptionInfo> options;
  std::vector<OptionInfo> positionals;
  std::vector<std::string> children;  ///< last words of its commands

  /// Its words with `between` in front of each: " run".
  std::string path(char between) const;
};

/// Everything that the application declares, parents before children; what is hidden from help is
/// not there. A value whose type is written as "a|b|c" has these choices.
std::vector<CommandInfo> option_table(const CLI::App& app);

}  // namespace ingot
