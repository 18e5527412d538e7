// StepRunner: the interface that computes an engine's steps and draws its tokens.
#pragma once

#include <cstdint>
#include <optional>
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

  /// Returns the limit on the steps under way: 1, or 2 for devices that compute while the host
  /// plans the next step.
  virtual std::int32_t steps_ahead() const { return 1; }
  /// Returns whether the runner draws tokens when it computes a step, so that the next step may
  /// continue them.
  virtual bool draws() const { return false; }

  /// Begins a step, which is then under way until `wait` or `drain`. The engine calls `wait` for
  /// each step, in order. `draws[i]` is how to draw from row i of logits: its `logits` are empty,
  /// and its `params` are null if the row will be drawn by `sample`. Without `draws()` the span is
  /// empty.
  ///
  /// Errors: any. After an error, the step must not write any more, because the engine may run it
  /// again.
  virtual void run(const Step& step, std::span<const SampleRow> draws) = 0;
  /// Waits for the end of a step. Then `logits(i)`, `drawn(i)`, `score(i)`, `hidden(i)` and
  /// `pooled(i)` return the step's results, as described at Executor.
  ///
  /// Errors: failures of the step since `run`. After an error, the step may write until `drain`.
  virtual void wait(const Step& /*step*/) {}
  /// Waits until no step computes or writes. Steps under way are lost, but `run_again` can begin
  /// them again. Before `drain`, the engine gives the blocks of these steps to no other sequence.
  virtual void drain() noexcept {}
  /// Begins a step again that was under way at `drain`, with the arguments of its `run`. If two
  /// steps were under way, the step's sequences may have other blocks now, or may have ended. The
  /// engine calls it for all steps that were under way, in order. The default is for runners that
  /// compute in `run` and do not draw.
  ///
  /// Errors: those of `run`.
  virtual void run_again(const Step& step) { run(step, {}); }
  virtual std::span<float> logits(std::int64_t i) = 0;
  virtual std::optional<std::int32_t> drawn(std::int64_t /*i*/) const { return {}; }
  virtual RowScore score(std::int64_t i) const = 0;
  virtual std::span<const float> hidden(std::int64_t i) const = 0;
  virtual std::span<const float> pooled(std::int64_t /*i*/) const { return {}; }

  /// Does slow first-time work before the first step. Changes no later results.
  ///
  /// Errors: those of `run`.
  virtual void warm_up() {}

  /// Returns the seconds of each kind of op in the last step; null if the runner does not time ops,
  /// or if two steps may be under way.
  virtual const OpSeconds* op_seconds() const { return nullptr; }

  /// Calls `body` for each index in [0, count), perhaps in several threads at once. `body` must not
  /// throw.
  virtual void for_each(std::int64_t count, FunctionRef<void(std::int64_t i)> body) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
  }
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
  std::int32_t steps_ahead() const override { return executor_.steps_ahead(); }
  bool draws() const override { return executor_.draws(); }
  void run(const Step& step, std::span<const SampleRow> draws) override {
    executor_.run(step, draws);
  }
  void wait(const Step&) override { executor_.wait(); }
  void drain() noexcept override { executor_.drain(); }
  void run_again(const Step& step) override { executor_.run_again(step); }
  void warm_up() override;
  std::span<float> logits(std::int64_t i) override { return executor_.logits(i); }
  std::optional<std::int32_t> drawn(std::int64_t i) const override { return executor_.drawn(i); }
  RowScore score(std::int64_t i) const override { return executor_.score(i); }
  std::span<const float> hidden(std::int64_t i) const override { return executor_.hidden(i); }
  std::span<const float> pooled(std::int64_t i) const override { return executor_.pooled(i); }
  const OpSeconds* op_seconds() const override {
    return profiled_ != nullptr && steps_ahead() == 1 ? &profiled_->last_step() : nullptr;
  }
  void for_each(std::int64_t count, FunctionRef<void(std::int64_t i)> body) override;
  void sample(std::span<const SampleRow> rows, std::span<Drawn> drawn,
              FunctionRef<void(std::int64_t row)> before) override;

 private:
  Executor& executor_;
  ThreadPool& pool_;
  const ProfiledBackend* profiled_;
  std::optional<Sampler> sampler_;  ///< absent if the model has no head
};

}  // namespace ingot
