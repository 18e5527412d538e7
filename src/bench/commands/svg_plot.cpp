// Axes, lines and bars. All coordinates are in pixels of the picture unless they are data.
#include "bench/commands/svg_plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace ingot {

namespace {

constexpr double kWidth = 640, kHeight = 320;
constexpr double kLeft = 64, kRight = 16, kTop = 32, kBottom = 44;
constexpr double kPlotWidth = kWidth - kLeft - kRight;
constexpr double kPlotHeight = kHeight - kTop - kBottom;
constexpr int kTicks = 5;
constexpr std::array<std::string_view, 8> kColours{"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728",
                                                   "#9467bd", "#8c564b", "#e377c2", "#17becf"};
constexpr std::string_view kWaiting = "#c7c7c7", kAnswering = "#1f77b4", kFailed = "#d62728";

std::string px(double value) { return to_fixed(value, 1); }

/// 1, 2 or 5 times a power of ten, so that about `kTicks` of them make `most`.
double tick_step(double most) {
  const double rough = most / kTicks;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power) return factor * power;
  }
  return 10 * power;
}

/// An axis from 0 to a tick that is no less than all data.
struct Axis {
  double step = 1;
  double end = 1;

  explicit Axis(double most) {
    if (!(most > 0) || !std::isfinite(most)) return;
    step = tick_step(most);
    end = step * std::ceil(most / step - 1e-9);
  }
  int ticks() const { return static_cast<int>(std::lround(end / step)); }
  std::string label(int tick) const {
    const int digits = step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
    return to_fixed(step * tick, digits);
  }
};

double x_of(const Axis& axis, double x) { return kLeft + x / axis.end * kPlotWidth; }
double y_of(const Axis& axis, double y) { return kTop + (1 - y / axis.end) * kPlotHeight; }

std::string text(double x, double y, std::string_view anchor, std::string_view content) {
  return cat("<text x=\"", px(x), "\" y=\"", px(y), "\" text-anchor=\"", anchor, "\">",
             html_escaped(content), "</text>\n");
}

std::string line(double x1, double y1, double x2, double y2, std::string_view colour) {
  return cat("<line x1=\"", px(x1), "\" y1=\"", px(y1), "\" x2=\"", px(x2), "\" y2=\"", px(y2),
             "\" stroke=\"", colour, "\"/>\n");
}

std::string begin_svg(double height, std::string_view title) {
  return cat("<svg viewBox=\"0 0 ", px(kWidth), " ", px(height),
             "\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" font-family=\"sans-serif\" "
             "font-size=\"11\">\n<title>",
             html_escaped(title), "</title>\n", text(kLeft, 18, "start", title));
}

std::string x_axis(const Axis& axis, double top, double bottom, std::string_view label) {
  std::string out;
  for (int i = 0; i <= axis.ticks(); ++i) {
    const double x = x_of(axis, axis.step * i);
    out += line(x, top, x, bottom, "#e0e0e0") + text(x, bottom + 14, "middle", axis.label(i));
  }
  return out + text(kLeft + kPlotWidth / 2, bottom + 32, "middle", label);
}

std::string y_axis(const Axis& axis, std::string_view label) {
  std::string out;
  for (int i = 0; i <= axis.ticks(); ++i) {
    const double y = y_of(axis, axis.step * i);
    out += line(kLeft, y, kLeft + kPlotWidth, y, "#e0e0e0") +
           text(kLeft - 6, y + 4, "end", axis.label(i));
  }
  return out + text(kLeft - 6, kTop - 12, "end", label);
}

std::string draw(const PlotLine& plot_line, const LinePlot& plot, const Axis& x, const Axis& y,
                 std::string_view colour) {
  std::string points, dots;
  for (const auto& [px_, py_] : plot_line.points) {
    const std::string at_x = px(x_of(x, px_)), at_y = px(y_of(y, py_));
    points += cat(at_x, ",", at_y, " ");
    if (!plot.has_dots) continue;
    dots += cat("<circle cx=\"", at_x, "\" cy=\"", at_y, "\" r=\"3\" fill=\"", colour, "\"/>\n");
  }
  return cat("<polyline fill=\"none\" stroke=\"", colour, "\" stroke-width=\"1.5\" points=\"",
             points, "\"/>\n", dots);
}

std::string bar(const Axis& x, double from, double to, double y, double height,
                std::string_view colour) {
  const double width = std::max(0.3, x_of(x, to) - x_of(x, from));
  return cat("<rect x=\"", px(x_of(x, from)), "\" y=\"", to_fixed(y, 2), "\" width=\"",
             to_fixed(width, 2), "\" height=\"", to_fixed(height, 2), "\" fill=\"", colour,
             "\"/>\n");
}

}  // namespace

std::string html_escaped(std::string_view content) {
  std::string out;
  for (const char c : content) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string svg(const LinePlot& plot) {
  double x_most = 0, y_most = 0;
  bool has_points = false;
  for (const PlotLine& l : plot.lines) {
    for (const auto& [x, y] : l.points) {
      x_most = std::max(x_most, x);
      y_most = std::max(y_most, y);
      has_points = true;
    }
  }
  if (!has_points) return {};
  const Axis x(x_most), y(y_most);
  std::string out = begin_svg(kHeight, plot.title);
  out += x_axis(x, kTop, kTop + kPlotHeight, plot.x_label) + y_axis(y, plot.y_label);
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    const std::string_view colour = kColours[i % kColours.size()];
    out += draw(plot.lines[i], plot, x, y, colour);
    const double at = kTop + 12 + 14 * static_cast<double>(i);
    out += cat("<rect x=\"", px(kWidth - kRight - 10), "\" y=\"", px(at - 8),
               "\" width=\"8\" height=\"8\" fill=\"", colour, "\"/>\n",
               text(kWidth - kRight - 14, at, "end", plot.lines[i].name));
  }
  return out + "</svg>\n";
}

std::string svg_timeline(const std::string& title, const std::vector<TimeBar>& bars) {
  if (bars.empty()) return {};
  double most = 0;
  for (const TimeBar& b : bars) most = std::max(most, b.last);
  const Axis x(most);
  const double row = std::clamp(480.0 / static_cast<double>(bars.size()), 0.5, 12.0);
  const double bottom = kTop + row * static_cast<double>(bars.size());
  std::string out = begin_svg(bottom + kBottom, title);
  out += x_axis(x, kTop, bottom, "seconds; grey: waiting, blue: answering, red: not completed");
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const TimeBar& b = bars[i];
    const double y = kTop + row * static_cast<double>(i);
    out += bar(x, b.start, b.first, y, row * 0.8, b.is_completed ? kWaiting : kFailed);
    if (b.last > b.first) {
      out += bar(x, b.first, b.last, y, row * 0.8, b.is_completed ? kAnswering : kFailed);
    }
  }
  return out + "</svg>\n";
}

}  // namespace ingot
