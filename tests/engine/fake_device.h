// FakeDevice: what computes steps in tests of an engine's faults; it fails, or blocks, when it is
// told to.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "runtime/engine.h"

namespace ingot::testing_support {

/// Computes nothing. What it draws depends on a request's seed and on how many tokens it has. It
/// sees that blocks of steps under way are not given back, that they end in order, that their
/// results are read then, and that only tokens that it draws itself are continued before.
class FakeDevice final : public StepRunner {
 public:
  static constexpr std::int32_t kVocab = 100;
  static constexpr std::int32_t kDraftRows = 16;

  /// Called at the beginning of each `run` and `wait`, with the number of calls of either before.
  using Hook = std::function<void(int call)>;
  /// At most `steps_ahead` steps are under way. `draws`: whether the device draws tokens.
  explicit FakeDevice(Hook on_run = {}, Hook on_wait = {}, std::int32_t steps_ahead = 1,
                      bool draws = false)
      : on_run_(std::move(on_run)),
        on_wait_(std::move(on_wait)),
        steps_ahead_(steps_ahead),
        draws_(draws) {}
  ~FakeDevice() override { EXPECT_TRUE(under_way_.empty()) << "the engine went without a drain"; }

  /// The token that a request draws as number `index`.
  static std::int32_t token(std::uint64_t seed, std::uint64_t index) {
    return static_cast<std::int32_t>((7 * seed + 3 * index + seed * index) % kVocab);
  }
  int drains() const { return drains_; }
  int again() const { return again_; }
  /// The number of rows whose token the step before still drew.
  int continued() const { return continued_; }
  /// The number of steps begun.
  int runs() const { return runs_; }

  KvCache& cache() override { return cache_; }
  const ExecutorLimits& limits() const override { return limits_; }
  std::int32_t steps_ahead() const override { return steps_ahead_; }
  bool draws() const override { return draws_; }
  void run(const Step& step, std::span<const SampleRow> draws) override {
    is_readable_ = false;
    const int call = runs_++;
    if (on_run_) on_run_(call);
    EXPECT_LT(std::ssize(under_way_), steps_ahead_);
    EXPECT_EQ(std::ssize(draws), draws_ ? step.outputs : 0);
    Given given{.number = step.number};
    for (const StepPart& part : step.parts) {
      const auto table = part.sequence->blocks.table(0);
      given.blocks.insert(given.blocks.end(), table.begin(), table.end());
      EXPECT_TRUE(part.previous < 0 || (draws_ && part.sequence->draws_ahead));
      continued_ += part.previous < 0 ? 0 : 1;
    }
    for (const SampleRow& row : draws) {
      given.drawn.push_back(
          row.params != nullptr ? std::optional(token(row.params->seed, row.index)) : std::nullopt);
    }
    under_way_.push_back(std::move(given));
  }
  void wait(const Step& step) override {
    if (on_wait_) on_wait_(waits_++);
    ASSERT_FALSE(under_way_.empty());
    EXPECT_EQ(under_way_.front().number, step.number);
    drawn_ = std::move(under_way_.front().drawn);
    under_way_.pop_front();
    is_readable_ = true;
  }
  void drain() noexcept override {
    ++drains_;
    for (const Given& step : under_way_) {
      for (const std::int32_t block : step.blocks) {
        EXPECT_GT(cache_.pool(0).references(block), 0) << "given back before the drain";
      }
    }
    drained_ = std::exchange(under_way_, {});
  }
  void run_again(const Step& step) override {
    ++again_;
    ASSERT_FALSE(drained_.empty());
    EXPECT_EQ(drained_.front().number, step.number);
    under_way_.push_back(std::move(drained_.front()));
    drained_.pop_front();
  }
  std::span<float> logits(std::int64_t i) override {
    EXPECT_TRUE(is_readable_) << "results of a step that was not waited for";
    return std::span(logits_).subspan(static_cast<std::size_t>(i), 1);
  }
  std::optional<std::int32_t> drawn(std::int64_t i) const override {
    return i < std::ssize(drawn_) ? drawn_[static_cast<std::size_t>(i)] : std::nullopt;
  }
  RowScore score(std::int64_t) const override { return {}; }
  std::span<const float> hidden(std::int64_t) const override { return {}; }
  void sample(std::span<const SampleRow> rows, std::span<Drawn> drawn,
              FunctionRef<void(std::int64_t row)> before) override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      before(static_cast<std::int64_t>(i));
      drawn[i].id = token(rows[i].params->seed, rows[i].index);
      EXPECT_EQ(rows[i].given.value_or(drawn[i].id), drawn[i].id) << "drawn with another index";
    }
  }

 private:
  struct Given {
    std::int64_t number = 0;
    std::vector<std::int32_t> blocks{};
    std::vector<std::optional<std::int32_t>> drawn{};  ///< by row of logits; absent: by `sample`
  };
  static constexpr std::int32_t kSequences = 4;

  Hook on_run_, on_wait_;
  std::int32_t steps_ahead_;
  bool draws_;
  ThreadPool pool_{1};
  CpuBackend backend_{pool_, scalar_kernels()};
  KvCache cache_{backend_, {{.layers = {0}, .block_bytes = 64}}, KvType::kF32, std::array{64}};
  ExecutorLimits limits_{.rows = 32,
                         .out_rows = kSequences + kDraftRows,
                         .sequences = kSequences,
                         .context = 128,
                         .logits_rows = kSequences + kDraftRows,
                         .draft_rows = kDraftRows,
                         .ids = kVocab};
  std::vector<float> logits_ = std::vector<float>(kSequences + kDraftRows);
  std::deque<Given> under_way_, drained_;
  std::vector<std::optional<std::int32_t>> drawn_;  ///< tokens of the step waited for
  bool is_readable_ = false;                        ///< no step began since the last `wait`
  int runs_ = 0, waits_ = 0, drains_ = 0, again_ = 0, continued_ = 0;
};

/// An engine on `device`, which is its own from here on.
inline std::unique_ptr<Engine> engine_on(std::unique_ptr<FakeDevice> device,
                                         const EngineOptions& options) {
  return std::make_unique<Engine>(EngineSetup{.steps = std::move(device),
                                              .limits = {.vocab = FakeDevice::kVocab,
                                                         .ids = FakeDevice::kVocab,
                                                         .hidden = 1,
                                                         .context = 128,
                                                         .text = false,
                                                         .draft_rows = FakeDevice::kDraftRows}},
                                  options);
}

}  // namespace ingot::testing_support
