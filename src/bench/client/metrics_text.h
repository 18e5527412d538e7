// Reads values from Prometheus' text format.
#pragma once

#include <optional>
#include <string_view>

namespace ingot {

/// The sum of a metric's values over all labels; nullopt if the text does not have the metric.
///
/// Source:  Prometheus, "Text-based format".
std::optional<double> metric_sum(std::string_view text, std::string_view name);

}  // namespace ingot
