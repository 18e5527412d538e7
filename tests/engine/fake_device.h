// FakeDevice: what computes steps in tests of an engine's faults; it fails, or blocks, when it is
// told to.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "runtime/engine.h"

namespace ingot::testing_support {

/// Computes nothing. What it draws depends on a request's seed and on how many tokens it has. It
/// sees that blocks of steps under way are not given back, and that they end in order.
class FakeDevice final : public StepRunner {
 public:
  static constexpr std::int32_t kVocab = 100;

  /// Called at the beginning of each `run` and `wait`, with the number of calls of either before.
  using Hook = std::function<void(int call)>;
  explicit FakeDevice(Hook on_run = {}, Hook on_wait = {})
      : on_run_(std::move(on_run)), on_wait_(std::move(on_wait)) {}
  ~FakeDevice() override { EXPECT_TRUE(under_way_.empty()) << "the engine went without a drain"; }

  /// The token that a request draws as number `index`.
  static std::int32_t token(std::uint64_t seed, std::uint64_t index) {
    return static_cast<std::int32_t>((7 * seed + 3 * index + seed * index) % kVocab);
  }
  int drains() const { return drains_; }
  int again() const { return again_; }

  KvCache& cache() override { return cache_; }
  const ExecutorLimits& limits() const override { return limits_; }
  void run(const Step& step) override {
    if (on_run_) on_run_(runs_++);
    std::vector<std::int32_t> blocks;
    for (const StepPart& part : step.parts) {
      const auto table = part.sequence->blocks.table(0);
      blocks.insert(blocks.end(), table.begin(), table.end());
    }
    under_way_.push_back({.number = step.number, .blocks = std::move(blocks)});
  }
  void wait(const Step& step) override {
    if (on_wait_) on_wait_(waits_++);
    ASSERT_FALSE(under_way_.empty());
    EXPECT_EQ(under_way_.front().number, step.number);
    under_way_.pop_front();
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
    return std::span(logits_).subspan(static_cast<std::size_t>(i), 1);
  }
  RowScore score(std::int64_t) const override { return {}; }
  std::span<const float> hidden(std::int64_t) const override { return {}; }
  void sample(std::span<const SampleRow> rows, std::span<Drawn> drawn,
              FunctionRef<void(std::int64_t row)> before) override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      before(static_cast<std::int64_t>(i));
      drawn[i].id = token(rows[i].params->seed, rows[i].index);
    }
  }

 private:
  struct Given {
    std::int64_t number = 0;
    std::vector<std::int32_t> blocks;
  };
  static constexpr std::int32_t kSequences = 4;

  Hook on_run_, on_wait_;
  ThreadPool pool_{1};
  CpuBackend backend_{pool_, scalar_kernels()};
  KvCache cache_{backend_, {{.layers = {0}, .block_bytes = 64}}, KvType::kF32, std::array{64}};
  ExecutorLimits limits_{.rows = 32,
                         .out_rows = kSequences,
                         .sequences = kSequences,
                         .context = 128,
                         .logits_rows = kSequences,
                         .ids = kVocab};
  std::vector<float> logits_ = std::vector<float>(kSequences);
  std::deque<Given> under_way_, drained_;
  int runs_ = 0, waits_ = 0, drains_ = 0, again_ = 0;
};

/// An engine on `device`, which is its own from here on.
inline std::unique_ptr<Engine> engine_on(std::unique_ptr<FakeDevice> device,
                                         const EngineOptions& options) {
  return std::make_unique<Engine>(EngineSetup{.steps = std::move(device),
                                              .limits = {.vocab = FakeDevice::kVocab,
                                                         .ids = FakeDevice::kVocab,
                                                         .hidden = 1,
                                                         .context = 128,
                                                         .text = false}},
                                  options);
}

}  // namespace ingot::testing_support
