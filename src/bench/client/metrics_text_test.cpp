// Metrics with and without labels.
#include "bench/client/metrics_text.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(MetricSum, AddsUpLabels) {
  constexpr std::string_view kText =
      "# HELP a:b_total things\n# TYPE a:b_total counter\n"
      "a:b_total{model=\"x y}\"} 3\na:b_total{model=\"z\"} 1e1 1700000000\n"
      "a:b_total_more 100\nplain  7.5\nbad x\nempty\nopen{a=\"1\n";
  EXPECT_EQ(metric_sum(kText, "a:b_total"), 13);
  EXPECT_EQ(metric_sum(kText, "plain"), 7.5);
  for (const char* name : {"a:b", "bad", "empty", "open", "absent"}) {
    EXPECT_FALSE(metric_sum(kText, name)) << name;
  }
  EXPECT_FALSE(metric_sum("", "a"));
}

}  // namespace
}  // namespace ingot
