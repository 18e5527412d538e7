// Declares options on CLI11. Numbers are strict: decimal digits within bounds, never an empty text.
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace CLI {
class App;
}

namespace ingot {

/// Makes the error for a value that an option does not accept: "<option> <value> is not possible:
/// <expected>".
Error bad_option(std::string_view option, std::string_view value, std::string_view expected);

/// Replaces the names of options in an error message by their flags: `context` becomes --ctx.
std::string with_flags(std::string message);

/// Parses a whole decimal number within [low, high]. The text must hold nothing else.
///
/// Errors: Error{kInvalid} naming `option` and the text.
template <class Int>
Int parse_whole(std::string_view text, std::string_view option, Int low, Int high) {
  Int value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || value < low || value > high) {
    throw bad_option(option, text, cat("expected whole numbers from ", low, " to ", high));
  }
  return value;
}

/// Parses a decimal number within [low, high]. The text must hold nothing else.
///
/// Errors: Error{kInvalid} naming `option` and the text.
double parse_real(std::string_view text, std::string_view option, double low, double high);

/// Parses a number of bytes with an optional K, M or G (powers of 1,024).
///
/// Errors: Error{kInvalid} naming `option` and the text.
std::int64_t parse_bytes(std::string_view text, std::string_view option);

/// An option that takes a number: name, help and bounds.
template <class Number>
struct NumberOption {
  std::string_view name;
  std::string_view help;
  Number low{};
  Number high{};
  bool show_default = true;
};

/// Declares an option that takes one finite number in decimal notation within its bounds.
/// `value` holds the default and must live as long as the application.
///
/// Errors: while parsing, Error{kInvalid} naming the option and the text.
void add_number(CLI::App& app, std::int32_t& value, const NumberOption<std::int32_t>& option);
void add_number(CLI::App& app, std::int64_t& value, const NumberOption<std::int64_t>& option);
void add_number(CLI::App& app, std::uint64_t& value, const NumberOption<std::uint64_t>& option);
void add_number(CLI::App& app, double& value, const NumberOption<double>& option);
void add_number(CLI::App& app, float& value, const NumberOption<double>& option);

/// Declares an option that takes a seed within its bounds, or -1 to draw one.
void add_seed(CLI::App& app, std::uint64_t& seed, const NumberOption<std::uint64_t>& option);

/// Declares an option that takes a number. `value` stays absent unless the option is given.
void add_number(CLI::App& app, std::optional<std::int32_t>& value,
                const NumberOption<std::int32_t>& option);

/// An option or a positional argument that takes a text.
struct TextOption {
  std::string name;  ///< "--file", or "MODEL" for a positional argument
  std::string help;
  std::string takes{};  ///< the kind of value, for the help; "a|b" lists all values
  bool is_required = false;
  bool is_checked = false;  ///< true: the option accepts only values that `takes` lists
};

/// Declares an option that takes one text. `value` holds the default, which the help shows, and
/// must live as long as the application.
void add_text(CLI::App& app, std::string& value, const TextOption& option);

/// Declares an option that takes a text. `value` stays absent unless the option is given. `takes`:
/// as in TextOption.
void add_text(CLI::App& app, std::optional<std::string>& value, const std::string& name,
              const std::string& help, const std::string& takes = {});

/// Declares an option that takes a text and may be repeated. If `most` is above 1, up to `most`
/// texts may follow each flag.
void add_texts(CLI::App& app, std::vector<std::string>& values, const std::string& name,
               const std::string& help, int most = 1);

/// Declares an option that takes a text and may be repeated. Calls `read` with each text.
///
/// Errors: while parsing, those of `read`.
void add_texts(CLI::App& app, const std::function<void(const std::string&)>& read,
               const std::string& name, const std::string& help);

/// Declares a positional argument that takes up to `most` words. The user must give a word if
/// `is_required`.
void add_words(CLI::App& app, std::vector<std::string>& values, const std::string& name,
               const std::string& help, int most, bool is_required);

/// Declares a flag without a value. The flag sets `value` to true.
void add_switch(CLI::App& app, bool& value, const std::string& name, const std::string& help);

/// Declares a command of the application.
CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& help);

/// Sets the text at the end of a command's help.
void set_footer(CLI::App& app, const std::string& text);

/// Replaces an option's help.
void set_help(CLI::App& app, const std::string& name, const std::string& help);

/// Makes it an error to give option `name` with one of `others`. Declare all these options first.
void exclude(CLI::App& app, const std::string& name, std::initializer_list<const char*> others);

/// Makes it an error to give option `name` without `other`. Declare both options first.
void need(CLI::App& app, const std::string& name, const std::string& other);

/// Makes the values of these options texts to read with read_input. A value may name stdin, which
/// only one option reads. Declare the options first.
///
/// Errors: while parsing, those of claim_stdin.
void mark_inputs(CLI::App& app, std::initializer_list<const char*> names);

/// Returns whether the command line has the option or argument `name`.
bool is_given(const CLI::App& app, const std::string& name);
/// Returns whether the command line has the option `name` with the value `text`.
bool is_given_as(const CLI::App& app, const std::string& name, std::string_view text);

}  // namespace ingot
