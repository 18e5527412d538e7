// Reads values from Prometheus' text format.
#pragma once

#include <optional>
#include <string_view>

namespace ingot {

/// Returns the sum of a metric's values over all labels; nullopt if the text lacks the metric.
///
/// Source:  Prometheus, "Text-based format".
std::optional<double> metric_sum(std::string_view text, std::string_view name);

}  // namespace ingot
