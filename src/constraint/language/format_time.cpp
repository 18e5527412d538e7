// Patterns of the formats for dates, times and durations.
#include <string>

#include "base/text.h"
#include "constraint/language/format_parts.h"

namespace ingot {
namespace {

/// Returns a number with two digits.
std::string two_digits(int value) { return cat(value < 10 ? "0" : "", value); }

/// Returns "hh:mm" of a minute of the day.
std::string clock(int minute) {
  minute = (minute + 24 * 60) % (24 * 60);
  return cat(two_digits(minute / 60), ":", two_digits(minute % 60));
}

/// Returns a pattern of the times with a leap second, which is at 23:59:60 in UTC. The minutes of
/// offsets are 00 or 30: other offsets would need an automaton twenty times as large.
std::string leap_second_pattern() {
  std::string pattern;
  for (int offset = 0; offset < 24 * 60; offset += 30) {
    // The same local time has an offset ahead of UTC and one behind it.
    const std::string local = clock(23 * 60 + 59 + offset);
    const std::string behind = clock(-offset);
    pattern += cat(offset == 0 ? "" : "|", local, R"(:60(?:\.\d+)?(?:\+)", clock(offset), "|-",
                   behind, offset == 0 ? "|[Zz]" : "", ")");
  }
  return pattern;
}

}  // namespace

std::string date_pattern() {
  // There is no year 0.
  const std::string year = R"((?:000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3}))";
  const std::string leap_year =
      "(?:\\d\\d(?:[2468][048]|[13579][26]|0[48])|"
      "(?:0[48]|[2468][048]|[13579][26])00)";
  return cat("(?:", leap_year, "-02-29|", year,
             R"(-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|)",
             R"((?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))))");
}

std::string time_pattern() {
  return cat(R"((?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?)",
             R"((?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)|)", leap_second_pattern(), ")");
}

std::string duration_pattern() {
  const std::string time = R"(T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))";
  const std::string date = R"((?:\d+D|\d+M(?:\d+D)?|\d+Y(?:\d+M(?:\d+D)?)?))";
  return cat("P(?:", date, "(?:", time, ")?|", time, R"(|\d+W))");
}

}  // namespace ingot
