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

/// Points to an option's value, which starts as the default. The type says what the option takes:
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
  std::string flag;  ///< such as "--queue-timeout"; reports call it "queue_timeout"
  OptionValue value;
  std::string help;
  double low = 0;             ///< smallest allowed number, in the option's unit
  double high = 0;            ///< largest allowed number, in the option's unit
  std::string unit{};         ///< kind of value: "SECONDS", "ADDRESS"; "a|b" lists all values
  bool show_default = true;   ///< false: `help` itself says the default
  std::string_view needs{};   ///< another flag that this option requires; empty: none
  std::string_view report{};  ///< name in reports, if it is not the flag's
};

/// Declares an option for each row. The members that rows set must live as long as `app`.
///
/// Errors: while parsing, Error{kInvalid} naming the option and the text.
void add_options(CLI::App& app, const std::vector<OptionRow>& rows);

/// Adds each option's value to a report, in the option's unit. Rows must have different names there
/// (checked). Skips names that the report has already. If
/// `texts` is false, skips free texts, because they may hold paths and keys, and adds only the
/// lengths of lists.
void report_options(const std::vector<OptionRow>& rows, bool texts, Json& report);

}  // namespace ingot
