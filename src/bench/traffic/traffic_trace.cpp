// Parses traces of Azure and Mooncake: one line per request, every line checked.
#include "bench/traffic/traffic_trace.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/input.h"
#include "load/config.h"
#include "load/json.h"

namespace ingot {

namespace {

constexpr std::string_view kAzureHeader = "TIMESTAMP,ContextTokens,GeneratedTokens";
constexpr std::int64_t kTraceBlockTokens = 512;
constexpr std::size_t kLineBytesMax = std::size_t{4} << 20;
/// A line has one number for each block of its prompt.
constexpr JsonLimits kLineLimits{.bytes_max = kLineBytesMax,
                                 .depth_max = 8,
                                 .nodes_max = kContextMax / kTraceBlockTokens + 64,
                                 .string_bytes_max = 1024};
constexpr double kMillisecondsMax = 1e14;

/// A line of the file, and its position.
struct Line {
  std::string_view text;
  std::size_t number = 0;
  std::size_t offset = 0;
};

/// A request, and its arrival in seconds since a moment that is fixed for the trace.
struct TraceRow {
  double seconds = 0;
  PlannedRequest request;
};

/// Takes the next column off the rest of a row.
std::string_view take_column(std::string_view& rest) {
  const std::string_view column = rest.substr(0, rest.find(','));
  rest.remove_prefix(std::min(rest.size(), column.size() + 1));
  return column;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

/// Parses at most nine decimal digits.
std::optional<int> digits(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

/// Parses a fraction and an offset from UTC; returns the seconds that they add.
std::optional<double> parse_time_rest(std::string_view text) {
  double seconds = 0;
  if (text.starts_with('.')) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789", 1), text.size());
    if (end < 2 || end > 10) return std::nullopt;
    seconds = *digits(text.substr(1, end - 1)) / std::pow(10.0, static_cast<double>(end - 1));
    text.remove_prefix(end);
  }
  if (text.empty()) return seconds;
  if (text.size() != 6 || text[3] != ':' || (text[0] != '+' && text[0] != '-')) {
    return std::nullopt;
  }
  const auto hours = digits(text.substr(1, 2)), minutes = digits(text.substr(4, 2));
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const double offset = (*hours * 60 + *minutes) * 60;
  return text[0] == '+' ? seconds - offset : seconds + offset;
}

/// Parses "2023-11-16 18:17:03", with or without a fraction and an offset such as "+00:00" behind
/// it, to seconds since 2000: a double holds this number to less than a microsecond.
std::optional<double> parse_time(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00 00:00:00";
  if (text.size() < kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] != '0' && text[i] != kForm[i]) return std::nullopt;
  }
  const auto part = [&](std::size_t at, std::size_t size) { return digits(text.substr(at, size)); };
  const auto year = part(0, 4), month = part(5, 2), day = part(8, 2);
  const auto hour = part(11, 2), minute = part(14, 2), second = part(17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  using std::chrono::January;
  constexpr std::chrono::sys_days kFirst = std::chrono::year(2000) / January / 1;
  const std::int64_t days = (std::chrono::sys_days(date) - kFirst).count();
  const auto rest = parse_time_rest(text.substr(kForm.size()));
  if (!rest) return std::nullopt;
  return static_cast<double>(((days * 24 + *hour) * 60 + *minute) * 60 + *second) + *rest;
}

class TraceReader {
 public:
  TraceReader(std::string_view text, const std::string& file)
      : text_(text), file_(file), place_(text.size() - without_byte_order_mark(text).size()) {}

  std::vector<TraceRow> read(std::int64_t requests_max) {
    std::vector<TraceRow> rows;
    if (!next_line()) fail("expected a trace, the file has no lines");
    const bool is_azure = line_.text == kAzureHeader;
    if (!is_azure && !line_.text.starts_with('{')) {
      fail(cat("expected ", kAzureHeader, " or a JSON object, got ", printable(line_.text, 64)));
    }
    if (is_azure && !next_line()) fail("no requests behind the header");
    do {
      if (std::ssize(rows) == kTraceRequestsMax) {
        fail(cat("more than ", kTraceRequestsMax, " requests"));
      }
      rows.push_back(is_azure ? azure_row() : mooncake_row());
    } while (std::ssize(rows) < requests_max && next_line());
    return rows;
  }

 private:
  [[noreturn]] void fail(std::string_view reason) const {
    throw model_error(file_, cat("line ", std::max<std::size_t>(1, line_.number)), line_.offset,
                      reason);
  }

  /// Moves to the next line that is not blank; false if there is none.
  bool next_line() {
    while (place_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', place_), text_.size());
      line_ = {text_.substr(place_, end - place_), line_.number + 1, place_};
      place_ = end + 1;
      if (line_.text.ends_with('\r')) line_.text.remove_suffix(1);
      if (line_.text.size() > kLineBytesMax) {
        fail(cat("the line has ", line_.text.size(), " bytes, at most ", kLineBytesMax));
      }
      if (!is_blank(line_.text)) return true;
    }
    return false;
  }

  std::int64_t length(std::string_view name, std::optional<std::int64_t> tokens,
                      std::string_view found) const {
    if (!tokens || *tokens < 0 || *tokens > kContextMax) {
      fail(cat(name, " is ", found.empty() ? "empty" : printable(found, 64), ", expected 0 to ",
               kContextMax, " tokens"));
    }
    return std::max<std::int64_t>(1, *tokens);
  }

  TraceRow azure_row() const {
    if (std::count(line_.text.begin(), line_.text.end(), ',') != 2) {
      fail(cat("expected three columns, got ", printable(line_.text, 64)));
    }
    std::string_view rest = line_.text;
    const std::string_view time = take_column(rest);
    const std::string_view input = take_column(rest);
    const auto seconds = parse_time(time);
    if (!seconds) {
      fail(cat("expected a time such as 2023-11-16 18:17:03.97, got ", printable(time, 64)));
    }
    return {.seconds = *seconds,
            .request = {.prompt_tokens = length("ContextTokens", whole_number(input), input),
                        .output_tokens = length("GeneratedTokens", whole_number(rest), rest)}};
  }

  const Json& member(const Json& row, std::string_view name) const {
    const Json* found = row.find(name);
    if (found == nullptr) fail(cat("no member ", name));
    return *found;
  }

  std::int64_t length_member(const Json& row, std::string_view name) const {
    const Json& found = member(row, name);
    const std::int64_t* tokens = found.as_int();
    return length(name, tokens == nullptr ? std::nullopt : std::optional(*tokens), found.dump());
  }

  TraceRow mooncake_row() const {
    const Json row =
        parse_json(line_.text, file_, cat("line ", line_.number), kLineLimits, line_.offset);
    if (row.as_object() == nullptr) fail(cat("expected an object, got ", row.kind()));
    const Json& time = member(row, "timestamp");
    const auto milliseconds = time.number();
    if (!milliseconds || *milliseconds < 0 || *milliseconds > kMillisecondsMax) {
      fail(cat("timestamp is ", printable(time.dump(), 64), ", expected milliseconds"));
    }
    TraceRow result{.seconds = *milliseconds / 1e3, .request = {}};
    result.request.prompt_tokens = length_member(row, "input_length");
    result.request.output_tokens = length_member(row, "output_length");
    result.request.blocks = blocks(member(row, "hash_ids"), result.request.prompt_tokens);
    return result;
  }

  std::vector<std::uint32_t> blocks(const Json& ids, std::int64_t prompt_tokens) const {
    if (ids.as_array() == nullptr) fail(cat("hash_ids is ", ids.kind(), ", expected an array"));
    const std::int64_t count = std::ssize(*ids.as_array());
    const std::int64_t expected = (prompt_tokens + kTraceBlockTokens - 1) / kTraceBlockTokens;
    if (count != expected) {
      fail(cat("hash_ids has ", count, " numbers, expected ", expected, " for ", prompt_tokens,
               " tokens in blocks of ", kTraceBlockTokens));
    }
    std::vector<std::uint32_t> found;
    found.reserve(to_size(count));
    for (const Json& id : *ids.as_array()) {
      const auto number = id.as_uint();
      if (!number || *number > 0xFFFFFFFF) {
        fail(cat("hash_ids holds ", printable(id.dump(), 64), ", expected numbers below 2^32"));
      }
      found.push_back(static_cast<std::uint32_t>(*number));
    }
    return found;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t place_;  ///< where the next line begins
  Line line_;
};

}  // namespace

Traffic parse_trace(std::string_view text, const std::string& file, std::int64_t requests_max) {
  auto rows = TraceReader(text, file).read(requests_max);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const TraceRow& a, const TraceRow& b) { return a.seconds < b.seconds; });
  Traffic traffic{.requests = {}, .block_tokens = kTraceBlockTokens};
  traffic.requests.reserve(rows.size());
  for (TraceRow& row : rows) {
    row.request.arrival = row.seconds - rows.front().seconds;
    traffic.requests.push_back(std::move(row.request));
  }
  return traffic;
}

Traffic read_trace(const std::string& path, std::int64_t requests_max) {
  const TextInput input = read_input(path, kTraceBytesMax);
  return parse_trace(input.text, input.name, requests_max);
}

}  // namespace ingot
