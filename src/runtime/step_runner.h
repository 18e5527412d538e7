// StepRunner: computes an engine's steps and draws its tokens.
#pragma once

#include <cstdint>
#include <span>

#include "backend/profiled_backend.h"
#include "base/function_ref.h"
#include "kv/kv_cache.h"
#include "runtime/executor.h"
#include "runtime/sampling/sampler.h"
#include "runtime/schedule/sequence.h"

namespace ingot {

/// Computes planned steps and draws tokens: a model, or a simulation of one.
class StepRunner {
 public:
  virtual ~StepRunner() = default;
  virtual KvCache& cache() = 0;
  virtual const ExecutorLimits& limits() const = 0;

  /// Computes a step, or begins to: the step is in flight until `wait` or `drain`. Where steps are
  /// planned ahead, the engine calls `wait` for each step in order.
  ///
  /// Errors: any that it throws, after the last write of this step; the engine may then run the
  /// step again.
  virtual void run(const Step& step) = 0;
  /// Waits for a step. From here on `logits(i)`, `score(i)` and `hidden(i)` hold its results, as
  /// Executor::run states.
  ///
  /// Errors: failures of the step since `run`. Writes may continue until `drain`.
  virtual void wait(const Step& /*step*/) {}
  /// Waits until no step computes or writes. Steps in flight are lost, unless `run_again` begins
  /// them again. Before `drain`, no other sequence gets a block of such a step.
  virtual void drain() noexcept {}
  /// Begins a step again that was in flight when `drain` was called, from the arguments of `run`:
  /// its sequences may have other blocks now, or have ended. The engine calls it for all such steps
  /// in order. Without steps planned ahead, sequences and blocks are unchanged.
  ///
  /// Errors: as `run`.
  virtual void run_again(const Step& step) { run(step); }
  virtual std::span<float> logits(std::int64_t i) = 0;
  virtual RowScore score(std::int64_t i) const = 0;
  virtual std::span<const float> hidden(std::int64_t i) const = 0;

  /// Does slow first-time work before the first step. It changes no later result.
  ///
  /// Errors: as `run`.
  virtual void warm_up() {}

  /// Seconds of the last step by op; null unless ops are timed.
  virtual const OpSeconds* op_seconds() const { return nullptr; }

  /// Draws a token from each row. Calls `before` for each row first, in any thread.
  virtual void sample(std::span<const SampleRow> rows, std::span<Drawn> drawn,
                      FunctionRef<void(std::int64_t row)> before) = 0;
};

/// The steps of a model. The constructor's arguments outlive it.
class ModelSteps final : public StepRunner {
 public:
  /// Errors: Error{kDoesNotFit}.
  ModelSteps(Executor& executor, ThreadPool& pool, const HostKernels& kernels, std::int64_t ids,
             const ProfiledBackend* profiled = nullptr);

  KvCache& cache() override { return executor_.cache(); }
  const ExecutorLimits& limits() const override { return executor_.limits(); }
  void run(const Step& step) override { executor_.run(step); }
  void warm_up() override;
  std::span<float> logits(std::int64_t i) override { return executor_.logits(i); }
  RowScore score(std::int64_t i) const override { return executor_.score(i); }
  std::span<const float> hidden(std::int64_t i) const override { return executor_.hidden(i); }
  const OpSeconds* op_seconds() const override {
    return profiled_ != nullptr ? &profiled_->last_step() : nullptr;
  }
  void sample(std::span<const SampleRow> rows, std::span<Drawn> drawn,
              FunctionRef<void(std::int64_t row)> before) override;

 private:
  Executor& executor_;
  ThreadPool& pool_;
  const ProfiledBackend* profiled_;
  Sampler sampler_;
};

}  // namespace ingot
