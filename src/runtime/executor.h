// Executor: runs planned steps of a model in buffers that are allocated for the largest step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "model/forward.h"
#include "model/model.h"
#include "runtime/schedule/step.h"
#include "runtime/step_buffers.h"

namespace ingot {

/// Runs steps of one model. Allocates all its buffers in the constructor.
///
/// `run` begins a step, `wait` ends the oldest one. Up to Backend::steps_ahead steps are under way.
/// Results are those of the step waited for last, until the next `run` or `wait`. They lie in the
/// order of the parts, with one exception: all hidden states with final norm come before those
/// without final norm.
class Executor {
 public:
  /// Allocates the buffers for the largest step. Errors: Error{kDoesNotFit}.
  Executor(const Model& model, Backend& backend, KvCache& cache, const ExecutorLimits& limits);
  /// Drains if steps are under way, because they write to the buffers.
  ~Executor() {
    if (done_ < begun_) drain();
  }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Returns the bytes that the results of the largest step take.
  static std::int64_t result_bytes(const Spec& spec, const ExecutorLimits& limits);
  /// Returns by how many bytes each block of the context enlarges a step's block tables.
  static std::int64_t table_bytes(const Spec& spec, std::int32_t sequences);

  const ExecutorLimits& limits() const { return limits_; }
  const Model& model() const { return model_; }
  KvCache& cache() const { return cache_; }
  std::int32_t steps_ahead() const { return backend_.steps_ahead(); }
  /// Returns whether the backend draws tokens.
  bool draws() const { return backend_.draws(); }

  /// Begins a planned step, whose blocks must be reserved. Does not change sequences. `draws[i]` is
  /// how the backend draws from row i of logits. It is empty if the backend draws no tokens.
  ///
  /// Errors: those of Backend::step. The step has not begun then.
  void run(const Step& step, std::span<const SampleRow> draws = {});
  /// Begins parts like a step, but copies no blocks.
  void run(std::span<const StepPart> parts);
  /// Begins parts like a step, and waits for them. Requires that no step is under way. After an
  /// error, none is either.
  ///
  /// Errors: those of `run` and `wait`.
  void run_now(std::span<const StepPart> parts);
  /// Waits for the oldest step that was begun. Errors: those of Backend::wait.
  void wait();
  /// Waits until no step computes or writes, and drops the steps that were begun.
  void drain() noexcept;
  /// Begins the oldest step that `drain` dropped and that did not begin again. Uses the arrays of
  /// its `run`, because its sequences may have changed. `step`: as in its `run`.
  ///
  /// Errors: those of Backend::step.
  void run_again(const Step& step);

  /// Returns row `i` of logits, [vocabulary size]; empty if the device drew the row's token and no
  /// log-probabilities are wanted. The caller may overwrite the row.
  std::span<float> logits(std::int64_t i) const { return results().logits(i); }
  /// Returns what the device drew for row `i` of logits: a token, kNoToken or kAllExcluded; empty
  /// if the host draws the token.
  std::optional<std::int32_t> drawn(std::int64_t i) const { return results().drawn(i); }
  /// Returns the lowest id whose logit is the largest in row `i`; -1 if the row has NaN. Requires
  /// ExecutorLimits::finds_best.
  std::int32_t best(std::int64_t i) const { return results().best(i); }
  RowScore score(std::int64_t i) const { return results().score(i); }
  /// Returns row `i` of hidden states, [hidden size].
  std::span<const float> hidden(std::int64_t i) const { return results().hidden(i); }
  /// Returns the pooled result of the i-th part with a pooled result.
  std::span<const float> pooled(std::int64_t i) const { return results().pooled(i); }

 private:
  StepBuffers& buffers(std::int64_t step) { return at(buffers_, step % std::ssize(buffers_)); }
  const StepBuffers& results() const {
    INGOT_CHECK(done_ > 0, "results of no step");
    return at(buffers_, (done_ - 1) % std::ssize(buffers_));
  }
  void begin(std::span<const StepPart> parts, std::span<const BlockCopy> copies,
             std::span<const SampleRow> draws);
  void begin(StepBuffers& buffers, std::span<const BlockCopy> copies);

  const Model& model_;
  Backend& backend_;
  KvCache& cache_;
  ExecutorLimits limits_;
  Scratch scratch_;
  Buffer logits_memory_;
  std::vector<StepBuffers> buffers_;  ///< buffers of step n at index n modulo steps_ahead
  std::int64_t begun_ = 0;            ///< number of steps begun
  std::int64_t done_ = 0;             ///< number of steps waited for; later ones are under way
  std::int64_t dropped_ = 0;          ///< steps [begun_, dropped_) can begin again
  std::int64_t drawn_before_ = 0;     ///< number of rows from which the last step begun draws
  std::vector<std::int32_t> drawn_;   ///< what the device drew in the step waited for last
};

/// Runs the next rows of sequences without a scheduler: reserves the rows' blocks, runs the parts
/// as a step, and counts the rows as computed. Sets each part's `first`. Sets `first_hidden` so
/// that the last rows of the part give the hidden states.
///
/// Returns false and computes no row if the pool has too few blocks for all parts. Sequences then
/// keep the blocks that this call has reserved for them.
[[nodiscard]] bool run_next(Executor& executor, std::span<StepPart> parts);

}  // namespace ingot
