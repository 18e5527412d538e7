// LateBackend: shows code that uses arrays, results or device memory at the wrong time.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/late_backend_test_util.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

constexpr std::int64_t kLateWidth = 32;
constexpr std::int32_t kLateIds = 4;

std::int32_t likeliest(const LateDraw& draw) {
  const auto best = std::max_element(draw.logits.begin(), draw.logits.end());
  return static_cast<std::int32_t>(best - draw.logits.begin());
}

/// The arrays and results of a step with one row.
struct OneRow {
  explicit OneRow(std::int32_t token) : token{token} {}

  Batch batch() const {
    Batch b;
    b.tokens = token;
    b.positions = b.out_rows = zero;
    b.q_start = starts;
    b.kv_len = one;
    return b;
  }

  std::vector<std::int32_t> token, zero{0}, one{1}, starts{0, 1};
  std::vector<DrawRow> draw{{}};
  std::vector<std::int32_t> best{-7}, drawn{-7};
  std::vector<float> logits = std::vector<float>(kLateIds, -7.0f);
};

/// A model whose likeliest token after `token` is `token` + 1.
class LateBackendTest : public ::testing::Test {
 protected:
  void make(LateOptions options) {
    late_ = std::make_unique<LateBackend>(cpu_, std::move(options));
    late_->plan({.rows = 1, .out_rows = 1, .cols = kLateWidth, .hidden = kLateWidth, .vocab = 4});
    table_ = matrix(0);
    head_ = matrix(1);
    memory_ = late_->allocate((kLateWidth + kLateIds) * std::int64_t{sizeof(float)});
    auto* const floats = reinterpret_cast<float*>(memory_.data());
    x_ = f32_view(floats, 1, kLateWidth);
    full_ = f32_view(floats + kLateWidth, 1, kLateIds);
  }

  void begin(OneRow& row) {
    const Batch batch = row.batch();
    late_->step(batch, [&] {
      late_->embed(batch, &table_, x_);
      LogitsReduce reduce{.full = full_, .argmax = row.best};
      if (late_->draws()) {
        reduce.draw = row.draw;
        reduce.drawn = row.drawn;
      }
      late_->logits(x_, head_, reduce);
      late_->fetch(full_, row.logits);
    });
  }

  std::unique_ptr<LateBackend> late_;
  Buffer memory_;
  View x_, full_;

 private:
  /// Row (i + shift) mod 4 is the unit vector number i.
  Weight matrix(std::int32_t shift) {
    std::vector<float> values(kLateIds * kLateWidth);
    for (std::int32_t i = 0; i < kLateIds; ++i) {
      values[static_cast<std::size_t>((i + shift) % kLateIds * kLateWidth + i)] = 1;
    }
    const View rows = f32_view(values.data(), kLateIds, kLateWidth);
    return late_->prepare({&rows, 1}, {}, Use::kPlain);
  }

  ThreadPool pool_{1};
  CpuBackend cpu_{pool_, scalar_kernels()};
  Weight table_, head_;
};

using LateBackendDeathTest = LateBackendTest;

TEST_F(LateBackendDeathTest, TheHostCannotAccessDeviceMemory) {
  make({});
  const std::vector<std::byte> bytes(16, std::byte{5});
  late_->write(memory_.data(), bytes);
  std::vector<std::byte> back(16);
  late_->read(memory_.data(), back);
  EXPECT_EQ(back, bytes);
  EXPECT_DEATH(static_cast<void>(*static_cast<volatile std::byte*>(memory_.data())), "");
}

TEST_F(LateBackendTest, ResultsComeWithWaitAndArraysHoldGarbageUntilThen) {
  make({});
  OneRow row(1);
  const std::vector<float> want{0, 0, 1, 0};
  begin(row);
  EXPECT_NE(row.token[0], 1);
  EXPECT_NE(row.starts, (std::vector<std::int32_t>{0, 1}));
  std::vector<std::byte> bytes(16);
  late_->read(memory_.data(), bytes);  // runs the step
  EXPECT_NE(row.best[0], 2);
  EXPECT_NE(row.logits, want);
  late_->wait();
  EXPECT_EQ(row.best[0], 2);
  EXPECT_EQ(row.logits, want);
  EXPECT_EQ(row.token[0], 1);
  EXPECT_EQ(row.starts, (std::vector<std::int32_t>{0, 1}));
}

TEST_F(LateBackendTest, AnArrayThatTheCallerChangedKeepsTheChange) {
  make({});
  OneRow row(1);
  begin(row);
  row.token[0] = 3;
  late_->wait();
  EXPECT_EQ(row.best[0], 2);
  EXPECT_EQ(row.token[0], 3);
}

TEST_F(LateBackendTest, AStepContinuesTheDrawnTokenOfTheStepBefore) {
  make({.steps_ahead = 2, .draw = likeliest});
  OneRow first(1), second(~0), third(~0);
  begin(first);
  begin(second);
  late_->wait();
  EXPECT_EQ(first.drawn[0], 2);
  EXPECT_NE(second.drawn[0], 3);
  begin(third);
  late_->wait();
  EXPECT_EQ(second.drawn[0], 3);
  late_->wait();
  EXPECT_EQ(third.drawn[0], 0);
}

TEST_F(LateBackendTest, ARowThatDrewNothingContinuesWithToken0) {
  make({.steps_ahead = 2, .draw = [](const LateDraw&) { return kNoToken; }});
  OneRow first(1), second(~0);
  begin(first);
  begin(second);
  late_->wait();
  late_->wait();
  EXPECT_EQ(first.drawn[0], kNoToken);
  EXPECT_EQ(second.best[0], 1);
}

TEST_F(LateBackendDeathTest, OneStepMoreThanAllowedIsABug) {
  make({});
  OneRow first(0), second(0);
  begin(first);
  EXPECT_DEATH(begin(second), "steps are under way");
}

TEST_F(LateBackendTest, AfterAFailureADrainGivesTheArraysBack) {
  for (const bool completes : {false, true}) {
    make({.steps_ahead = 2,
          .on_wait =
              [](int call) {
                if (call == 0) throw std::runtime_error("lost");
              },
          .completes_at_drain = completes});
    OneRow first(1), second(2);
    begin(first);
    begin(second);
    EXPECT_THROW(late_->wait(), std::runtime_error);
    late_->drain();
    EXPECT_NE(first.best[0], 2) << "results of a drained step are lost";
    EXPECT_EQ(first.token[0], 1);
    EXPECT_EQ(second.token[0], 2);
    begin(first);
    late_->wait();
    EXPECT_EQ(first.best[0], 2);
  }
}

TEST_F(LateBackendTest, AStepThatFailsToBeginComputesNothing) {
  make({.on_step = [](int call) {
    if (call == 0) throw std::runtime_error("refused");
  }});
  OneRow row(1);
  EXPECT_THROW(begin(row), std::runtime_error);
  EXPECT_EQ(row.token[0], 1);
  EXPECT_EQ(row.best[0], -7);
  begin(row);
  late_->wait();
  EXPECT_EQ(row.best[0], 2);
}

}  // namespace
}  // namespace ingot::testing_support
