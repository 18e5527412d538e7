// Tables of options: each row declares one option, from which come its flag, its help and its entry
// in reports.
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
///   bool                    nothing: the flag sets it, and "--no-x" clears it
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
  double low = 0;            ///< numbers: the smallest in the option's unit
  double high = 0;           ///< numbers: the largest
  std::string unit{};        ///< numbers: "SECONDS"; texts: "ADDRESS", or "a|b" for all values
  bool show_default = true;  ///< false: the help says what holds without the option
  std::string_view needs{};  ///< another flag, without which this one is refused
};

/// Declares all rows on a command. The members have to live as long as the application.
///
/// Errors: while parsing, Error{kInvalid} naming the option and the text.
void add_options(CLI::App& app, const std::vector<OptionRow>& rows);

/// Adds the values of rows to a report, unless it has an entry of that name already. Numbers are in
/// the option's unit. Without `texts`, which may name paths and keys, texts are left out and lists
/// are counted.
void report_options(const std::vector<OptionRow>& rows, bool texts, Json& report);

}  // namespace ingot
