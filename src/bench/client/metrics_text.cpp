// Finds a metric's lines in Prometheus' text format.
#include "bench/client/metrics_text.h"

#include <algorithm>
#include <charconv>

namespace ingot {

namespace {

/// Parses the value of a metric's line, after name and labels. A timestamp may follow it.
std::optional<double> value_of(std::string_view rest) {
  if (rest.starts_with('{')) {
    const std::size_t end = rest.rfind('}');
    if (end == rest.npos) return std::nullopt;
    rest.remove_prefix(end + 1);
  }
  if (!rest.starts_with(' ')) return std::nullopt;  // a longer name
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  double value = 0;
  const auto result = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  return result.ec == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<double> metric_sum(std::string_view text, std::string_view name) {
  std::optional<double> sum;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(name)) continue;
    if (const auto value = value_of(line.substr(name.size()))) sum = sum.value_or(0) + *value;
  }
  return sum;
}

}  // namespace ingot
