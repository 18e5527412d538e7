// StepRunner: the interface that computes an engine's steps and draws its tokens.
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

/// Computes planned steps and draws tokens, with a model or with a simulation.
class StepRunner {
 public:
  virtual ~StepRunner() = default;
  virtual KvCache& cache() = 0;
  virtual const ExecutorLimits& limits() const = 0;

  /// Computes a step, or only starts it. A started step is in flight until `wait` or `drain`. The
  /// engine calls `wait` for each step, in order.
  ///
  /// Errors: any. After an error, the step must not write any more, because the engine may run it
  /// again.
  virtual void run(const Step& step) = 0;
  /// Waits for the end of a step. Then `logits(i)`, `score(i)` and `hidden(i)` return the step's
  /// results, as described at Executor::run.
  ///
  /// Errors: failures of the step since `run`. After an error, the step may write until `drain`.
  virtual void wait(const Step& /*step*/) {}
  /// Waits until no step computes or writes. Steps in flight are lost, but `run_again` can restart
  /// these steps. Before `drain`, the engine gives the blocks of these steps to no other sequence.
  virtual void drain() noexcept {}
  /// Restarts a step that was in flight at `drain`, with the arguments of its `run`. With a
  /// pipeline depth of 2, the step's sequences may have other blocks now, or may have ended. The
  /// engine calls it for all steps that were in flight, in order.
  ///
  /// Errors: those of `run`.
  virtual void run_again(const Step& step) { run(step); }
  virtual std::span<float> logits(std::int64_t i) = 0;
  virtual RowScore score(std::int64_t i) const = 0;
  virtual std::span<const float> hidden(std::int64_t i) const = 0;

  /// Does slow first-time work before the first step. Changes no later results.
  ///
  /// Errors: those of `run`.
  virtual void warm_up() {}

  /// Returns the seconds of each kind of op in the last step; null if the runner does not time ops.
  virtual const OpSeconds* op_seconds() const { return nullptr; }

  /// For each row, calls `before` and then draws a token. May call `before` in any thread.
  virtual void sample(std::span<const SampleRow> rows, std::span<Drawn> drawn,
                      FunctionRef<void(std::int64_t row)> before) = 0;
};

/// A StepRunner that runs a model with an Executor and a Sampler.
class ModelSteps final : public StepRunner {
 public:
  /// All arguments must outlive this object. Errors: Error{kDoesNotFit}.
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
