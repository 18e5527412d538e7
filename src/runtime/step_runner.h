// StepRunner: what an engine has its steps computed by.
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

/// Computes planned steps and draws tokens: a model, or what stands for it in a simulation.
class StepRunner {
 public:
  virtual ~StepRunner() = default;
  virtual KvCache& cache() = 0;
  virtual const ExecutorLimits& limits() const = 0;

  /// Computes a step, or begins to: from then on it is under way, until `wait` or `drain`. Where
  /// steps are planned ahead, `wait` is called for each in turn.
  ///
  /// Errors: whatever it throws, once nothing of this step writes any more; the same step may be
  /// run again then.
  virtual void run(const Step& step) = 0;
  /// From here on `logits(i)`, `score(i)` and `hidden(i)` hold what left the model in that step, as
  /// Executor::run says.
  ///
  /// Errors: what went wrong in it since `run`. Something may be writing still, until `drain`.
  virtual void wait(const Step& /*step*/) {}
  /// Returns once nothing is computed or written any more, of no step. What was under way is lost,
  /// but for steps that `run_again` is called for. Before this, no block of such a step is given to
  /// anybody else.
  virtual void drain() noexcept {}
  /// Begins a step again that was under way when `drain` was called, from what `run` was given: its
  /// sequences may have other blocks by now, or be gone. Called for all such steps in turn. A
  /// runner whose steps are not planned ahead finds everything as it was.
  ///
  /// Errors: as of `run`.
  virtual void run_again(const Step& step) { run(step); }
  virtual std::span<float> logits(std::int64_t i) = 0;
  virtual RowScore score(std::int64_t i) const = 0;
  virtual std::span<const float> hidden(std::int64_t i) const = 0;

  /// Before the first step: does what that would otherwise wait for. Nothing of it shows later.
  ///
  /// Errors: as of `run`.
  virtual void warm_up() {}

  /// Seconds of the last step by op; null where ops are not timed.
  virtual const OpSeconds* op_seconds() const { return nullptr; }

  /// Draws a token from each row, which `before` sees unchanged, perhaps in another thread.
  virtual void sample(std::span<const SampleRow> rows, std::span<Drawn> drawn,
                      FunctionRef<void(std::int64_t row)> before) = 0;
};

/// The steps of a model. What it is made of outlives it.
class ModelSteps final : public StepRunner {
 public:
  /// Errors: Error{kDoesNotFit}.
  ModelSteps(Executor& executor, ThreadPool& pool, const KernelTable& kernels, std::int64_t ids,
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
