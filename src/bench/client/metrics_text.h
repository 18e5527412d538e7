// Metrics as Prometheus reads them.
#pragma once

#include <optional>
#include <string_view>

namespace ingot {

/// The sum of a metric's values, of all labels; nothing where it is not there.
///
/// Source:  Prometheus, "Text-based format".
std::optional<double> metric_sum(std::string_view text, std::string_view name);

}  // namespace ingot
