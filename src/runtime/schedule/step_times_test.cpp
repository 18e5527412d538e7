// StepTimes: estimates from measured steps, and how many prompt rows fit into a time.
#include "runtime/schedule/step_times.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(StepTimes, KnowsNothingAtFirst) {
  const StepTimes times;
  EXPECT_EQ(times.decode_seconds(4), 0);
  EXPECT_EQ(times.prefill_seconds(100), 0);
  EXPECT_EQ(times.prefill_rows(0.001, 512), 512);
}

TEST(StepTimes, LearnsALineFromTwoSizes) {
  StepTimes times;
  times.add(1, 0, 0.010);
  times.add(9, 0, 0.018);
  EXPECT_DOUBLE_EQ(times.decode_seconds(1), 0.010);
  EXPECT_NEAR(times.decode_seconds(5), 0.014, 1e-12);
  EXPECT_NEAR(times.decode_seconds(18), 0.036, 1e-12) << "in proportion beyond what is known";
}

TEST(StepTimes, PromptsAreChargedWithWhatTheyAdd) {
  StepTimes times;
  times.add(2, 0, 0.010);
  times.add(2, 100, 0.110);
  EXPECT_NEAR(times.prefill_seconds(100), 0.100, 1e-12);
  times.add(0, 300, 0.300);
  EXPECT_NEAR(times.prefill_seconds(200), 0.200, 1e-12);
  EXPECT_EQ(times.prefill_rows(0.150, 512), 150);
  EXPECT_EQ(times.prefill_rows(10, 512), 512);
  EXPECT_EQ(times.prefill_rows(-1, 512), 1) << "one row always has room";
}

TEST(StepTimes, SmallStepsSayNothingOfLargeOnes) {
  StepTimes times;
  times.add(0, 8, 0.030);
  EXPECT_EQ(times.min_row_seconds(512), 0);
  times.add(0, 128, 0.064);
  EXPECT_DOUBLE_EQ(times.min_row_seconds(512), 0.0005);
  times.add(0, 512, 0.128);
  EXPECT_DOUBLE_EQ(times.min_row_seconds(512), 0.00025);
}

TEST(StepTimes, FollowsAMachineThatBecomesSlower) {
  StepTimes times;
  for (int i = 0; i < 100; ++i) times.add(1, 0, 0.010);
  for (int i = 0; i < 100; ++i) times.add(1, 0, 0.020);
  EXPECT_NEAR(times.decode_seconds(1), 0.020, 1e-5);
}

TEST(StepTimes, WhatIsMeasuredCorrectsWhatContradictsIt) {
  StepTimes times;
  times.add(8, 0, 0.036);
  times.add(8, 10, 0.066);  // slow by an accident
  times.add(8, 8, 0.044);
  EXPECT_EQ(times.prefill_rows(0.016, 512), 8) << "never to be measured again";
  for (int i = 0; i < 20; ++i) times.add(8, 8, 0.044);
  EXPECT_GE(times.prefill_rows(0.016, 512), 12);
  EXPECT_NEAR(times.prefill_seconds(8), 0.008, 1e-12);
}

TEST(StepTimes, FewRowsTakeNoMoreThanMany) {
  StepTimes times;
  times.add(0, 50, 0.050);
  for (int i = 0; i < 100; ++i) times.add(0, 200, 0.040);
  EXPECT_NEAR(times.prefill_seconds(50), 0.040, 1e-5);
}

TEST(StepTimes, AnAccidentOfFewRowsSaysNothingOfMany) {
  StepTimes times;
  times.add(8, 0, 0.036);
  for (const std::int32_t rows : {8, 16, 32, 64}) times.add(8, rows, 0.036 + 0.001 * rows);
  times.add(8, 2, 3);
  EXPECT_EQ(times.prefill_rows(0.016, 512), 16);
}

TEST(StepTimes, FewRowsThatCostNothingSayNothingOfMany) {
  StepTimes times;
  times.add(8, 0, 0.036);
  times.add(8, 128, 0.400);
  for (int i = 0; i < 100; ++i) times.add(8, 3, 0.036);
  EXPECT_NEAR(times.prefill_seconds(128), 0.364, 1e-9);
}

}  // namespace
}  // namespace ingot
