// Options as this project takes them: numbers written one way, and an empty value is not an absent
// one.
#pragma once

#include <charconv>
#include <cstdint>
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

/// The error for a value that an option does not take: "<option> <value> is not possible:
/// <expected>".
Error bad_option(std::string_view option, std::string_view value, std::string_view expected);

/// A message with its options, which stand in backquotes as the API spells them, as flags.
std::string with_flags(std::string message);

/// A whole number in decimal digits within [low, high], and nothing beside it.
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

/// A number in decimal notation within [low, high], and nothing beside it.
///
/// Errors: Error{kInvalid} naming `option` and the text.
double parse_real(std::string_view text, std::string_view option, double low, double high);

/// What an option that takes a number has: its name, what it means, its limits.
template <class Number>
struct NumberOption {
  std::string_view name;
  std::string_view help;
  Number low{};
  Number high{};
  bool show_default = true;
};

/// Declares an option that takes one number, in decimal notation, finite and within its limits.
/// `value` holds the default, and has to live as long as the application.
///
/// Errors: while parsing, Error{kInvalid} naming the option and the text.
void add_number(CLI::App& app, std::int32_t& value, const NumberOption<std::int32_t>& option);
void add_number(CLI::App& app, std::int64_t& value, const NumberOption<std::int64_t>& option);
void add_number(CLI::App& app, std::uint64_t& value, const NumberOption<std::uint64_t>& option);
void add_number(CLI::App& app, double& value, const NumberOption<double>& option);

/// Declares an option for a number that stays absent unless the option is given.
void add_number(CLI::App& app, std::optional<std::int32_t>& value,
                const NumberOption<std::int32_t>& option);

/// What an option or a positional argument that takes a text has.
struct TextOption {
  std::string name;  ///< "--file"; of a positional argument "MODEL"
  std::string help;
  std::string takes{};  ///< what it takes, for its help: "a|b" are all the values there are
  bool is_required = false;
  bool is_checked = false;  ///< refuses values that `takes` does not list
};

/// Declares an option that takes one text. `value` holds the default, which help shows, and has to
/// live as long as the application.
void add_text(CLI::App& app, std::string& value, const TextOption& option);

/// Declares an option that takes a text, which stays absent unless the option is given.
void add_text(CLI::App& app, std::optional<std::string>& value, const std::string& name,
              const std::string& help);

/// Declares an option that takes a text and may be repeated. With `most` above 1 it takes up to
/// `most` texts behind one name.
void add_texts(CLI::App& app, std::vector<std::string>& values, const std::string& name,
               const std::string& help, int most = 1);

/// Declares a positional argument that takes up to `most` words, and at least one where it
/// `is_required`.
void add_words(CLI::App& app, std::vector<std::string>& values, const std::string& name,
               const std::string& help, int most, bool is_required);

/// Declares a flag, which takes no value.
void add_switch(CLI::App& app, bool& value, const std::string& name, const std::string& help);

/// Declares a command of the application.
CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& help);

/// What the help of a command ends with.
void set_footer(CLI::App& app, const std::string& text);

/// Gives an option another description.
void set_help(CLI::App& app, const std::string& name, const std::string& help);

/// Refuses an option together with any of the others, all declared before.
void exclude(CLI::App& app, const std::string& name, std::initializer_list<const char*> others);

/// Refuses an option without another one, both declared before.
void need(CLI::App& app, const std::string& name, const std::string& other);

/// Whether the command line had an option or an argument.
bool is_given(const CLI::App& app, const std::string& name);

}  // namespace ingot
