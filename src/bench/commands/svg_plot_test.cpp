// Plots of awkward data: nothing in them is not a number.
#include "bench/commands/svg_plot.h"

#include <gtest/gtest.h>

#include <limits>

namespace ingot {
namespace {

TEST(SvgPlot, HasTicksThatPeopleWouldChoose) {
  const std::string plot =
      svg({.title = "a<b", .x_label = "x", .y_label = "y", .lines = {{"l", {{0, 0}, {7, 0.031}}}}});
  EXPECT_NE(plot.find(">a&lt;b</text>"), std::string::npos);
  for (const char* label :
       {">0</text>", ">2</text>", ">8</text>", ">0.01</text>", ">0.04</text>"}) {
    EXPECT_NE(plot.find(label), std::string::npos) << label;
  }
  EXPECT_EQ(plot.find(">10</text>"), std::string::npos);
  EXPECT_TRUE(plot.ends_with("</svg>\n"));
}

TEST(SvgPlot, OfNothingIsEmpty) {
  EXPECT_EQ(svg({.title = "t", .x_label = "", .y_label = "", .lines = {}}), "");
  EXPECT_EQ(svg({.title = "t", .x_label = "", .y_label = "", .lines = {{"l", {}}}}), "");
  EXPECT_EQ(svg_timeline("t", {}), "");
}

TEST(SvgPlot, TakesAnyData) {
  for (const double most : {0.0, 1e-9, 1.0, 3e12, std::numeric_limits<double>::infinity()}) {
    const std::string plot =
        svg({.title = "t", .x_label = "", .y_label = "", .lines = {{"l", {{0, most}}}}});
    EXPECT_EQ(plot.find("nan"), std::string::npos) << most;
    EXPECT_LT(plot.size(), 10000U) << most;
  }
}

TEST(SvgTimeline, HasTwoBarsForWhatWasAnsweredAndOneForWhatWasNot) {
  const std::string plot =
      svg_timeline("t", {{.start = 0, .first = 1, .last = 2},
                         {.start = 1, .first = 2, .last = 2, .is_completed = false}});
  std::size_t bars = 0;
  for (std::size_t at = plot.find("<rect"); at != plot.npos; at = plot.find("<rect", at + 1))
    ++bars;
  EXPECT_EQ(bars, 3U);
}

TEST(HtmlEscaped, LeavesNothingThatMarksUp) {
  EXPECT_EQ(html_escaped("<a b=\"c\">&"), "&lt;a b=&quot;c&quot;&gt;&amp;");
}

}  // namespace
}  // namespace ingot
