// LateBackend: shows code that uses arrays, results or device memory at the wrong time.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
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
      late_->embed(batch, {.tokens = &table_}, x_);
      LogitsReduce reduce{.full = full_, .argmax = row.best};
      if (late_->draws()) {
        reduce.draw = row.draw;
        reduce.drawn = row.drawn;
      }
      late_->logits(x_, {.weight = &head_}, reduce);
      late_->fetch(full_, row.logits);
    });
  }

  std::unique_ptr<LateBackend> late_;
  Buffer memory_;
  View x_, full_;
  Weight table_, head_;

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
};

using LateBackendDeathTest = LateBackendTest;

TEST_F(LateBackendDeathTest, TheHostCannotAccessDeviceMemory) {
  make({});
  const std::vector<std::byte> bytes(16, std::byte{5});
  late_->write(memory_.data(), bytes);
  std::vector<std::byte> back(16);
  late_->read(memory_.data(), back);
  EXPECT_EQ(back, bytes);
  for (const Buffer* memory : {&memory_, &table_.storage}) {
    ASSERT_TRUE(*memory);
    EXPECT_DEATH(static_cast<void>(*static_cast<volatile std::byte*>(memory->data())), "");
  }
}

TEST_F(LateBackendTest, PackedBytesOfAWeightMakeAnEqualOne) {
  make({});
  std::vector<std::byte> bytes(static_cast<std::size_t>(table_.storage.bytes()));
  late_->packed(table_, bytes);
  const View shape{.data = nullptr,
                   .format = Format{0},
                   .rows = kLateIds,
                   .cols = kLateWidth,
                   .row_bytes = kLateWidth * std::int64_t{sizeof(float)}};
  table_ = late_->adopt({&shape, 1}, {}, bytes, Use::kPlain);
  std::ranges::fill(bytes, std::byte{0});
  OneRow row(1);
  begin(row);
  late_->wait();
  EXPECT_EQ(row.best[0], 2);
}

TEST_F(LateBackendDeathTest, OnlyLinearsReadRowsThatWereWrittenForThem) {
  make({});
  const Tensor ones = late_->upload(std::vector<float>(kLateWidth, 1));
  const Norm norm{.eps = 1e-5f, .weight = ones.view};
  OneRow row(1);
  std::vector<float> normed(kLateWidth), embedded(kLateWidth);
  const Batch batch = row.batch();
  late_->step(batch, [&] {
    late_->embed(batch, {.tokens = &table_}, x_);
    late_->norm(x_, {}, norm, x_, Next::kAnyone);
    late_->fetch(x_, normed);
    late_->norm(x_, {}, norm, x_, Next::kLinears);
    late_->logits(x_, {.weight = &head_}, {.full = full_, .argmax = row.best});
    const char* const refusal = "written for linears alone";
    EXPECT_DEATH(late_->fetch(x_, embedded), refusal);
    EXPECT_DEATH(late_->gather(x_, batch, x_), refusal);
    EXPECT_DEATH(late_->norm(x_, {}, norm, x_, Next::kAnyone), refusal);
    EXPECT_DEATH(late_->activate(columns(x_, 8, 2), Act::kSilu, true, full_, Next::kAnyone),
                 refusal);
    late_->embed(batch, {.tokens = &table_}, x_);
    late_->fetch(x_, embedded);
  });
  late_->wait();
  EXPECT_GT(normed[1], 5) << "the root of 32";
  EXPECT_EQ(embedded[1], 1);
  EXPECT_EQ(row.best[0], 2);
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
  make({.on_step = [](int call, const Batch&) {
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
