// Tables of options. Each row declares one option: its flag, its help, its entry in reports.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "load/json.h"

namespace CLI {
class App;
}

namespace ingot {

/// The member that an option sets. It holds the default, and its type says what the option takes:
///   bool                    no value: the flag "--x" sets the member, "--no-x" clears it
///   milliseconds            seconds, as a real number
///   optional<milliseconds>  whole milliseconds; absent unless given
///   size_t                  bytes as whole MiB
///   optional<string>        a text; absent unless given
///   vector<string>          texts: the option may be repeated
using OptionValue =
    std::variant<bool*, std::int32_t*, std::int64_t*, double*, std::chrono::milliseconds*,
                 std::optional<std::chrono::milliseconds>*, std::size_t*, std::string*,
                 std::optional<std::string>*, std::vector<std::string>*>;

/// One option of a command.
struct OptionRow {
  std::string flag;  ///< "--queue-timeout"; reports call it "queue_timeout"
  OptionValue value;
  std::string help;
  double low = 0;            ///< smallest value of a number, in the option's unit
  double high = 0;           ///< largest value of a number
  std::string unit{};        ///< kind of value: "SECONDS", "ADDRESS"; "a|b" lists all values
  bool show_default = true;  ///< false: `help` itself says the default
  std::string_view needs{};  ///< a flag that must be given with this one
};

/// Declares an option for each row. The members that rows set must live as long as `app`.
///
/// Errors: while parsing, Error{kInvalid} naming the option and the text.
void add_options(CLI::App& app, const std::vector<OptionRow>& rows);

/// Adds each option's value to a report, unless the report has an entry of that name. Numbers are
/// in the option's unit. If `texts` is false, leaves out free texts, which may hold paths and keys,
/// and adds only the lengths of lists.
void report_options(const std::vector<OptionRow>& rows, bool texts, Json& report);

}  // namespace ingot
