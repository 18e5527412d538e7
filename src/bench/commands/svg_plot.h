// Plots as SVG, to stand in an HTML page.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot {

/// A line of a plot, with a name in its legend.
struct PlotLine {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< by rising x
};

/// Lines over common axes, both from 0.
struct LinePlot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<PlotLine> lines;
  bool has_dots = false;  ///< at each point
};

/// One `<svg>` element; empty where no line has a point.
std::string svg(const LinePlot& plot);

/// What a request's bar shows; seconds.
struct TimeBar {
  double start = 0;
  double first = 0;  ///< where waiting ends and its answer begins
  double last = 0;
  bool is_completed = true;
};

/// Requests below each other over time, as one `<svg>` element; empty without any.
std::string svg_timeline(const std::string& title, const std::vector<TimeBar>& bars);

/// Text as HTML shows it.
std::string html_escaped(std::string_view text);

}  // namespace ingot
