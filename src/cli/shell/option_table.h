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
  std::vector<std::string> names;    ///< "-p", "--prompt"; or "MODEL" for a positional argument
  std::string value;                 ///< the kind of value: "TEXT"; empty for a flag
  std::vector<std::string> choices;  ///< all allowed values; empty: there is no list of values
  std::string help;
  std::string initial;  ///< default value; empty: none
  bool is_required = false;
  bool is_repeatable = false;
};

/// A command of the program, as its help shows it.
struct CommandInfo {
  std::vector<std::string> words;  ///< the typed words: {"run"}; empty for ingot itself
  std::string help;
  std::string footer;
  std::vector<OptionInfo> options;
  std::vector<OptionInfo> positionals;
  std::vector<std::string> children;  ///< names of its subcommands

  /// Joins the words, and puts `between` before each word: " run".
  std::string path(char between) const;
};

/// Returns all commands and options that the program's help shows, parents before children. An
/// option of type "a|b|c" has the choices a, b and c.
std::vector<CommandInfo> option_table(const CLI::App& app);

}  // namespace ingot
