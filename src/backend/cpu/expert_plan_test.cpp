// ExpertPlan: rows are sorted by expert in their old order, and waves cover all experts.
#include "backend/cpu/expert_plan.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/index.h"

namespace ingot {
namespace {

/// A plan with its memory.
struct Planned {
  std::vector<std::int32_t> routed_rows, pairs;
  std::vector<ExpertRows> experts;
  ExpertPlan plan;

  Planned(std::size_t pairs_max, std::size_t experts_max, std::int64_t wave_rows,
          std::int32_t together)
      : routed_rows(pairs_max),
        pairs(pairs_max),
        experts(experts_max),
        plan({.routed_rows = routed_rows, .pairs = pairs, .experts = experts}, wave_rows,
             together) {}
};

TEST(ExpertPlan, SortsPairsByExpertInTheirOrder) {
  Planned p(6, 4, 100, 4);
  const std::vector<std::int32_t> chosen{2, 0, 2, 3, 0, 2};  // two experts for each of three rows
  p.plan.sort(chosen, 4);
  EXPECT_EQ(p.pairs, (std::vector<std::int32_t>{1, 4, 0, 2, 5, 3}));
  for (std::int32_t row = 0; row < 6; ++row) EXPECT_EQ(p.plan.routed_row(p.plan.pair(row)), row);
  EXPECT_EQ(p.plan.rows_of(0).count, 2);
  EXPECT_EQ(p.plan.rows_of(1).count, 0);
  EXPECT_EQ(p.plan.rows_of(2).first, 2);
  EXPECT_EQ(p.plan.rows_of(2).count, 3);
}

TEST(ExpertPlan, QuantisedRowsOfAnExpertBeginTogether) {
  Planned p(6, 4, 100, 4);
  p.plan.sort(std::vector<std::int32_t>{2, 0, 2, 3, 0, 2}, 4);
  const ExpertWave wave = p.plan.wave_from(0);
  EXPECT_EQ(wave.end_expert, 4);
  EXPECT_EQ(wave.rows(), 6);
  EXPECT_EQ(p.plan.quantised_row(0, 1), 1);
  EXPECT_EQ(p.plan.quantised_row(2, 2), 4);
  EXPECT_EQ(p.plan.quantised_row(2, 4), 6);
  EXPECT_EQ(p.plan.quantised_row(3, 5), 8);
}

TEST(ExpertPlan, WavesCoverAllExpertsWithinTheirRows) {
  std::mt19937 random(3);
  for (int run = 0; run < 200; ++run) {
    const auto experts = static_cast<std::int32_t>(1 + random() % 20);
    const std::size_t pairs = random() % 100;
    const auto wave_rows = static_cast<std::int64_t>(1 + random() % 40);
    Planned p(pairs, static_cast<std::size_t>(experts), wave_rows, run % 2 == 0 ? 4 : 16);
    std::vector<std::int32_t> chosen(pairs);
    for (std::int32_t& e : chosen) e = static_cast<std::int32_t>(random()) % experts;
    for (std::int32_t& e : chosen) e = e < 0 ? e + experts : e;
    p.plan.sort(chosen, experts);
    std::int32_t row = 0;
    for (std::int32_t e = 0; e < experts;) {
      const ExpertWave wave = p.plan.wave_from(e);
      ASSERT_EQ(wave.row, row);
      ASSERT_GT(wave.end_expert, e);
      for (; e < wave.end_expert; ++e) {
        ASSERT_EQ(p.plan.rows_of(e).first, row);
        row += p.plan.rows_of(e).count;
      }
      ASSERT_EQ(wave.end_row, row);
      // More rows than a wave may have are those of one expert that takes them all.
      const std::int32_t last = p.plan.rows_of(wave.end_expert - 1).count;
      ASSERT_TRUE(wave.rows() <= wave_rows || wave.rows() == last ||
                  p.plan.rows_of(wave.expert).count == wave.rows());
    }
    ASSERT_EQ(row, std::ssize(chosen));
    for (std::int32_t r = 1; r < row; ++r) {
      const std::int32_t a = p.plan.pair(r - 1), b = p.plan.pair(r);
      ASSERT_TRUE(at(chosen, a) < at(chosen, b) || (at(chosen, a) == at(chosen, b) && a < b));
    }
  }
}

}  // namespace
}  // namespace ingot
