// Completion scripts for shells, made from the table of options.
#pragma once

#include <span>
#include <string>

#include "cli/shell/option_table.h"

namespace ingot {

/// A script for bash, to be sourced.
std::string bash_completion(std::span<const CommandInfo> commands);

/// A function for zsh, to be put on its `fpath` as _ingot, or to be sourced.
std::string zsh_completion(std::span<const CommandInfo> commands);

/// Declarations for fish, to be sourced.
std::string fish_completion(std::span<const CommandInfo> commands);

/// The kind of values that a positional argument takes.
enum class PositionalKind { kFile, kModel, kName };

/// The kind, by the argument's name: MODEL is a file, folder or cached model; NAME a cached model.
PositionalKind positional_kind(const OptionInfo& positional);

/// `text` in single quotes as a POSIX shell reads them.
std::string shell_quoted(std::string_view text);

/// The words as one text, separated by `between`.
std::string joined(std::span<const std::string> words, std::string_view between = " ");

}  // namespace ingot
