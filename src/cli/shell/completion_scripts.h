// Completion scripts for shells, made from the table of options.
#pragma once

#include <span>
#include <string>

#include "cli/shell/option_table.h"

namespace ingot {

/// Returns a bash completion script, which the user sources.
std::string bash_completion(std::span<const CommandInfo> commands);

/// Returns a zsh completion function, to be sourced or saved as _ingot in a folder of `fpath`.
std::string zsh_completion(std::span<const CommandInfo> commands);

/// Returns fish completion declarations, which the user sources.
std::string fish_completion(std::span<const CommandInfo> commands);

/// The kind of values that a positional argument takes.
enum class PositionalKind { kFile, kModel, kName };

/// Returns kModel for MODEL (path or cached model), kName for NAME (cached model), otherwise kFile.
PositionalKind positional_kind(const OptionInfo& positional);

/// Puts `text` into single quotes, for a POSIX shell.
std::string shell_quoted(std::string_view text);

/// Joins the words to one text, with `between` between adjacent words.
std::string joined(std::span<const std::string> words, std::string_view between = " ");

}  // namespace ingot
