// Options that give a prompt: its text, a file, or stdin.
#pragma once

#include <optional>
#include <string>

#include "cli/options/model_options.h"

namespace CLI {
class App;
}

namespace ingot {

/// Values of the options, as typed.
struct PromptValues {
  std::optional<std::string> text;  ///< -p
  std::optional<std::string> file;  ///< -f, a path
  std::optional<std::string> word;  ///< the word behind MODEL, which may only be "-"

  /// Returns how many of -p and -f are given, after `settle_prompt`.
  int count() const { return int{text.has_value()} + int{file.has_value()}; }
};

/// Declares -p, -f and the word "-" behind MODEL. Declare MODEL first. `text_help` is the help of
/// -p.
void add_prompt_options(CLI::App& app, PromptValues& values, const std::string& text_help);

/// Turns the word "-" into -f -. If "-" is the only word, it is the prompt, and MODEL is absent.
///
/// Errors: Error{kInvalid} for another word behind MODEL, and for "-" beside -f.
void settle_prompt(PromptValues& values, ModelOptionValues& model);

/// Returns the text of -p, or the bytes of -f without a byte order mark and without one line break
/// at the end (LF or CR LF), which editors and echo add. Returns nothing if neither is given.
///
/// Errors: those of read_input.
std::optional<std::string> read_prompt(const PromptValues& values);

}  // namespace ingot
