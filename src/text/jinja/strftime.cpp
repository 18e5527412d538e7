// Formats times by strftime's directives, in the C locale.
#include "text/jinja/strftime.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "text/jinja/heap.h"

namespace ingot::jinja {

namespace {

constexpr std::size_t kTimeBytesMax = 65536;
constexpr std::string_view kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                      "Thursday", "Friday", "Saturday"};
constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};

std::string padded(int value, int width, char fill = '0') {
  std::string digits = cat(value);
  const auto size = static_cast<std::size_t>(width);
  if (digits.size() < size) digits.insert(0, size - digits.size(), fill);
  return digits;
}

int days_in_year(int year) {
  const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return is_leap ? 366 : 365;
}

/// The week of ISO 8601, and its year: the year of the week's Thursday.
struct IsoWeek {
  int year = 0;
  int week = 0;
};

IsoWeek iso_week(const std::tm& t) {
  const int weekday = (t.tm_wday + 6) % 7;  // 0 is Monday
  int thursday = t.tm_yday - weekday + 3;   // its day of the year
  int year = t.tm_year + 1900;
  if (thursday < 0) thursday += days_in_year(--year);
  if (thursday >= days_in_year(year)) thursday -= days_in_year(year++);
  return {year, thursday / 7 + 1};
}

int hour_of_12(const std::tm& t) { return t.tm_hour % 12 == 0 ? 12 : t.tm_hour % 12; }

std::string date_directive(char directive, const std::tm& t) {
  const auto month = kMonths[std::clamp(t.tm_mon, 0, 11)];
  const auto day = kDays[std::clamp(t.tm_wday, 0, 6)];
  switch (directive) {
    case 'a':
      return std::string(day.substr(0, 3));
    case 'A':
      return std::string(day);
    case 'b':
    case 'h':
      return std::string(month.substr(0, 3));
    case 'B':
      return std::string(month);
    case 'C':
      return padded((t.tm_year + 1900) / 100, 2);
    case 'd':
      return padded(t.tm_mday, 2);
    case 'e':
      return padded(t.tm_mday, 2, ' ');
    case 'G':
      return padded(iso_week(t).year, 4);
    case 'g':
      return padded(iso_week(t).year % 100, 2);
    case 'j':
      return padded(t.tm_yday + 1, 3);
    case 'm':
      return padded(t.tm_mon + 1, 2);
    case 'u':
      return cat(t.tm_wday == 0 ? 7 : t.tm_wday);
    case 'U':
      return padded((t.tm_yday + 7 - t.tm_wday) / 7, 2);
    case 'V':
      return padded(iso_week(t).week, 2);
    case 'w':
      return cat(t.tm_wday);
    case 'W':
      return padded((t.tm_yday + 7 - (t.tm_wday + 6) % 7) / 7, 2);
    case 'y':
      return padded((t.tm_year + 1900) % 100, 2);
    case 'Y':
      return cat(t.tm_year + 1900);
    default:
      return {};
  }
}

std::string time_directive(char directive, const std::tm& t) {
  switch (directive) {
    case 'f':
      return "000000";
    case 'H':
      return padded(t.tm_hour, 2);
    case 'I':
      return padded(hour_of_12(t), 2);
    case 'k':
      return padded(t.tm_hour, 2, ' ');
    case 'l':
      return padded(hour_of_12(t), 2, ' ');
    case 'M':
      return padded(t.tm_min, 2);
    case 'p':
      return t.tm_hour < 12 ? "AM" : "PM";
    case 'P':
      return t.tm_hour < 12 ? "am" : "pm";
    case 'S':
      return padded(t.tm_sec, 2);
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case '%':
      return "%";
    default:
      return {};
  }
}

/// The expansion of a directive that stands for several others, such as %F.
std::string_view composed(char directive) {
  switch (directive) {
    case 'c':
      return "%a %b %e %H:%M:%S %Y";
    case 'D':
    case 'x':
      return "%m/%d/%y";
    case 'F':
      return "%Y-%m-%d";
    case 'r':
      return "%I:%M:%S %p";
    case 'R':
      return "%H:%M";
    case 'T':
    case 'X':
      return "%H:%M:%S";
    default:
      return {};
  }
}

}  // namespace

std::string format_time(std::string_view format, const std::tm& time) {
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (out.size() > kTimeBytesMax) fail("strftime_now(): the result is too long");
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    // glibc's flags that leave out the padding.
    const bool unpadded = format[i + 1] == '-' && i + 2 < format.size();
    i += unpadded ? 2 : 1;
    const char directive = format[i];
    if (directive == 'Z' || directive == 'z') continue;
    std::string text;
    if (const std::string_view parts = composed(directive); !parts.empty()) {
      text = format_time(parts, time);  // `parts` has no composed directive
    } else {
      text = date_directive(directive, time) + time_directive(directive, time);
    }
    if (text.empty()) {
      fail(cat("strftime_now(): unknown directive '%", printable(format.substr(i, 1)), "'"));
    }
    if (unpadded) text.erase(0, std::min(text.find_first_not_of("0 "), text.size() - 1));
    out += text;
  }
  if (out.size() > kTimeBytesMax) fail("strftime_now(): the result is too long");
  return out;
}

}  // namespace ingot::jinja
