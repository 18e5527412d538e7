// Declaring options on CLI11, whose own conversions take hexadecimal, NaN and numbers that wrap.
#include "cli/options/options.h"

#include <CLI/CLI.hpp>
#include <type_traits>
#include <utility>

#include "cli/input.h"
#include "runtime/sampling/random_seed.h"

namespace ingot {

namespace {

template <class Value, class Number, class Parse>
void declare(CLI::App& app, Value& value, const NumberOption<Number>& option, Parse parse) {
  const std::string name(option.name);
  auto* added = app.add_option_function<std::string>(
      name,
      [&value, name = name.substr(0, name.find(',')), low = option.low, high = option.high, parse](
          const std::string& text) { value = static_cast<Value>(parse(text, name, low, high)); },
      std::string(option.help));
  added->type_name(cat("NUMBER in [", option.low, " - ", option.high, "]"));
  if constexpr (std::is_arithmetic_v<Value>) {
    if (option.show_default) added->default_str(cat(value));
  }
}

/// Option names of the API, and the flags of the command line for them.
constexpr std::pair<std::string_view, std::string_view> kFlags[] = {
    {"`check_tensors`", "--check-tensors"},
    {"`context`", "--ctx"},
    {"`device`", "--device"},
    {"`isa`", "--cpu-isa"},
    {"`kv_type`", "--kv-type"},
    {"`memory_limit`", "--memory-limit"},
    {"`numerics`", "--numerics"},
    {"`threads`", "--threads"},
    {"`weights`", "--weights"},
};

}  // namespace

std::string with_flags(std::string message) {
  for (const auto& [name, flag] : kFlags) {
    std::size_t at = 0;
    while ((at = message.find(name, at)) != std::string::npos) {
      message.replace(at, name.size(), flag);
      at += flag.size();
    }
  }
  return message;
}

Error bad_option(std::string_view option, std::string_view value, std::string_view expected) {
  return {ErrorCode::kInvalid, cat(option, " ", value.empty() ? "(empty)" : printable(value),
                                   " is not possible: ", expected)};
}

std::int64_t parse_bytes(std::string_view text, std::string_view option) {
  constexpr std::int64_t kBytesMax = std::int64_t{1} << 50;
  std::string_view digits = text;
  std::int64_t unit = 1;
  if (!digits.empty()) {
    const std::size_t power = std::string_view("KkMmGg").find(digits.back());
    if (power != std::string_view::npos) {
      unit = std::int64_t{1024} << (10 * (power / 2));
      digits.remove_suffix(1);
    }
  }
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || value < 0 || value > kBytesMax / unit) {
    throw bad_option(option, text,
                     cat("expected bytes up to ", kBytesMax, ", also with K, M or G: 8G"));
  }
  return value * unit;
}

double parse_real(std::string_view text, std::string_view option, double low, double high) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value, std::chars_format::general);
  // Written so that NaN fails.
  const bool within = value >= low && value <= high;
  if (result.ec != std::errc() || result.ptr != end || !within) {
    throw bad_option(option, text, cat("expected a number from ", low, " to ", high));
  }
  return value;
}

void add_number(CLI::App& app, std::int32_t& value, const NumberOption<std::int32_t>& option) {
  declare(app, value, option, parse_whole<std::int32_t>);
}

void add_number(CLI::App& app, std::int64_t& value, const NumberOption<std::int64_t>& option) {
  declare(app, value, option, parse_whole<std::int64_t>);
}

void add_number(CLI::App& app, std::uint64_t& value, const NumberOption<std::uint64_t>& option) {
  declare(app, value, option, parse_whole<std::uint64_t>);
}

void add_seed(CLI::App& app, std::uint64_t& seed, const NumberOption<std::uint64_t>& option) {
  const auto parse = [](std::string_view text, std::string_view name, std::uint64_t low,
                        std::uint64_t high) {
    return text == "-1" ? random_seed() : parse_whole(text, name, low, high);
  };
  declare(app, seed, option, parse);
}

void add_number(CLI::App& app, double& value, const NumberOption<double>& option) {
  declare(app, value, option, parse_real);
}

void add_number(CLI::App& app, float& value, const NumberOption<double>& option) {
  declare(app, value, option, parse_real);
}

void add_number(CLI::App& app, std::optional<std::int32_t>& value,
                const NumberOption<std::int32_t>& option) {
  declare(app, value, option, parse_whole<std::int32_t>);
}

void add_text(CLI::App& app, std::string& value, const TextOption& option) {
  CLI::Option* added = app.add_option(option.name, value, option.help);
  added->required(option.is_required);
  if (!value.empty()) added->capture_default_str();
  if (!option.takes.empty()) added->type_name(option.takes);
  if (option.is_checked) added->check(CLI::IsMember(CLI::detail::split(option.takes, '|')));
}

void add_text(CLI::App& app, std::optional<std::string>& value, const std::string& name,
              const std::string& help, const std::string& takes) {
  CLI::Option* const added = app.add_option_function<std::string>(
      name, [&value](const std::string& text) { value = text; }, help);
  if (!takes.empty()) added->type_name(takes);
}

void add_texts(CLI::App& app, std::vector<std::string>& values, const std::string& name,
               const std::string& help, int most) {
  app.add_option_function<std::vector<std::string>>(
         name, [&values](const std::vector<std::string>& all) { values = all; }, help)
      ->expected(1, most)
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("TEXT, may be repeated");
}

void add_texts(CLI::App& app, const std::function<void(const std::string&)>& read,
               const std::string& name, const std::string& help) {
  const auto read_all = [read](const std::vector<std::string>& all) {
    for (const std::string& text : all) read(text);
  };
  app.add_option_function<std::vector<std::string>>(name, read_all, help)
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("TEXT, may be repeated");
}

void add_words(CLI::App& app, std::vector<std::string>& values, const std::string& name,
               const std::string& help, int most, bool is_required) {
  app.add_option(name, values, help)->required(is_required)->expected(is_required ? 1 : 0, most);
}

void add_switch(CLI::App& app, bool& value, const std::string& name, const std::string& help) {
  app.add_flag(name, value, help)->disable_flag_override();
}

CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& help) {
  return *app.add_subcommand(name, help);
}

void set_footer(CLI::App& app, const std::string& text) { app.footer(text); }

void set_help(CLI::App& app, const std::string& name, const std::string& help) {
  app.get_option(name)->description(help);
}

void exclude(CLI::App& app, const std::string& name, std::initializer_list<const char*> others) {
  for (const char* other : others) app.get_option(name)->excludes(other);
}

void need(CLI::App& app, const std::string& name, const std::string& other) {
  app.get_option(name)->needs(other);
}

void mark_inputs(CLI::App& app, std::initializer_list<const char*> names) {
  for (const std::string name : names) {
    app.get_option(name)->each([name](const std::string& path) {
      if (names_stdin(path)) claim_stdin(name);
    });
  }
}

bool is_given(const CLI::App& app, const std::string& name) { return app.count(name) > 0; }

bool is_given_as(const CLI::App& app, const std::string& name, std::string_view text) {
  const std::vector<std::string>& values = app.get_option(name)->results();
  return !values.empty() && values.back() == text;
}

}  // namespace ingot
