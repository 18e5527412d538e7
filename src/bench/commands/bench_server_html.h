// A report of `ingot bench serve` as one HTML page.
#pragma once

#include <string>

#include "bench/commands/bench_server_report.h"

namespace ingot {

/// The page: settings, figures, and plots as SVG within it. It loads nothing and runs nothing.
std::string as_html(const ServerReport& report);

}  // namespace ingot
