// FakeModel: a model whose keys are hashes of all rows before them; it checks each key that it
// reads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/step_runner.h"
#include "sim/job.h"
#include "sim/trace.h"

namespace ingot::sim {

/// The value of slots in free blocks and of slots that were not written.
inline constexpr std::uint64_t kPoison = 0xdeaddeaddeaddeadu;

/// How a model computes: ahead of the engine or not, in which time, and with which faults.
struct ModelSettings {
  std::int32_t steps_ahead = 1;              ///< limit on the steps under way
  bool draws = false;                        ///< the model draws tokens, which next steps continue
  double transient = 0;                      ///< a step fails once
  double not_finite = 0;                     ///< a row of logits holds NaN
  double late = 0;                           ///< a step fails when it is waited for
  double step_seconds = 0, row_seconds = 0;  ///< how long steps take
  double slow = 0;                           ///< a step takes a hundred times as long
  bool lazy = false;                         ///< steps are computed as late as a device may
};

/// Runs steps on the pages of a KvCache through block tables, as a real model does, and checks the
/// keys that it finds. It fills free blocks with kPoison.
class FakeModel final : public StepRunner {
 public:
  /// Steps advance `clock`.
  FakeModel(KvCache& cache, const ExecutorLimits& limits, const ModelSettings& settings,
            Random& random, Trace& trace, double& clock);

  /// Adds a job, which must outlive the sequence with its number.
  void know(Job& job);
  Job* find(std::uint64_t id) const {
    return id < jobs_.size() ? jobs_[static_cast<std::size_t>(id)] : nullptr;
  }
  /// Makes every later step fail.
  void break_down();
  bool is_broken() const { return broken_; }
  /// Stops all faults.
  void stop_faults() { settings_.transient = settings_.not_finite = settings_.late = 0; }
  /// Poisons blocks that became free since the last call. No step under way may use them.
  void poison();
  std::int64_t rows_run() const { return rows_run_; }
  std::int64_t drafts() const { return drafts_; }
  std::int64_t copies() const { return copies_; }
  std::int64_t transients() const { return transients_; }
  std::int64_t late_failures() const { return late_failures_; }
  /// Steps that failed twice because memory ran out.
  std::int64_t losses() const { return losses_; }
  KvCache& cache() override { return cache_; }
  const ExecutorLimits& limits() const override { return limits_; }
  std::int32_t steps_ahead() const override { return settings_.steps_ahead; }
  bool draws() const override { return settings_.draws; }
  void run(const Step& step, std::span<const SampleRow> draws) override;
  void wait(const Step& step) override;
  void drain() noexcept override;
  void run_again(const Step& step) override;
  std::span<float> logits(std::int64_t i) override;
  std::optional<std::int32_t> drawn(std::int64_t i) const override;
  RowScore score(std::int64_t i) const override;
  std::span<const float> hidden(std::int64_t i) const override;
  std::span<const float> pooled(std::int64_t i) const override;
  void sample(std::span<const SampleRow> rows, std::span<Drawn> drawn,
              FunctionRef<void(std::int64_t row)> before) override;

  /// The token of output `i` of the last awaited step, whether `drawn` gives it or `sample`; -1 for
  /// NaN.
  std::int32_t token(std::int64_t i) const { return results().drawn[static_cast<std::size_t>(i)]; }

 private:
  /// A part of a step as a device gets it: a copy without references to the host's data.
  struct Part {
    Job* job = nullptr;
    StepPart plan;
    bool final_norm = true;
    bool is_void = false;    ///< another job has taken its blocks over, so its results are dropped
    std::size_t rows = 0;    ///< index of its first symbol
    std::size_t slots = 0;   ///< index of its first slot; slots follow each other by group
    std::size_t tables = 0;  ///< index of its first table
  };
  struct Table {
    std::size_t first = 0;
    std::size_t blocks = 0;
  };
  /// Two steps under way, and the step before, whose tokens they continue.
  static constexpr std::int64_t kKept = 3;
  struct Batch {
    std::int64_t number = -1;
    std::int32_t row_count = 0;
    bool under_way = false;  ///< the device has it, and it was not awaited
    bool done = true;
    std::vector<Part> parts;
    std::vector<BlockCopy> copies;
    std::vector<std::int32_t> symbols, slots, blocks;
    std::vector<Table> tables;
    std::vector<std::uint8_t> is_given;  ///< by output: whether `drawn` gives its token
    // Results.
    std::vector<std::int32_t> drawn;
    std::vector<Job*> drawn_for;
    std::vector<std::int64_t> drawn_at;  ///< row
    std::vector<float> logits;
    std::vector<RowScore> scores;
    std::vector<float> hidden;
    std::vector<float> pooled;
  };
  Batch& batch(std::int64_t number) { return batches_[static_cast<std::size_t>(number % kKept)]; }
  const Batch& results() const;
  std::uint64_t* slot(std::int32_t g, std::int64_t slot) const {
    return reinterpret_cast<std::uint64_t*>(cache_.pages(g).data()) + slot;
  }
  [[noreturn]] void fail_late(const Step& step);
  void leave_undone();
  void check_in_use(const Batch& b) const;
  void check_unchanged(const Step& step) const;
  void check_drafts_unchanged(const Batch& b, const Part& begun, const StepPart& part) const;
  void check_step(const Step& step);
  void check_part(const StepPart& part);
  void check_pooled(const StepPart& part) const;
  void check_drafts(const StepPart& part) const;
  void check_draws(const Step& step, std::span<const SampleRow> draws) const;
  void check_draw(const StepPart& part, std::int32_t i, const SampleRow& draw) const;
  void check_rule(const Job& job, const SampleRow& row, std::int64_t tokens) const;
  std::int64_t pending(const Job& job) const;
  void claim(const Sequence& s, std::int32_t g, std::int64_t first, std::int64_t last);
  void take(Batch& b, const Step& step, std::span<const SampleRow> draws);
  void take_part(Batch& b, const StepPart& plan);
  void poison_unwritten(const StepPart& plan, std::int32_t g);
  void compute_until(std::int64_t number);
  void compute(Batch& b);
  void compute_part(Batch& b, const Part& part);
  void compute_void(Batch& b, const Part& part);
  void make_void(const Job& job);
  void check_visible(const Batch& b, const Part& part, std::int32_t g) const;
  std::int32_t symbol_at(const Batch& b, const Part& part, std::int64_t row) const;
  std::uint64_t compute_row(Batch& b, const Part& part, std::int64_t row);
  void leave(Batch& b, const Part& part, std::int64_t row, std::uint64_t key);
  void leave_token(Batch& b, const Part& part, std::int64_t row, std::int32_t id);
  void leave_hidden(Batch& b);

  KvCache& cache_;
  ExecutorLimits limits_;
  ModelSettings settings_;
  Random& random_;
  Trace& trace_;
  double& clock_;
  bool broken_ = false;
  bool failed_once_ = false;
  bool failed_late_ = false;    ///< the awaited step failed, and has not succeeded since
  bool fails_again_ = false;    ///< it fails once more
  bool out_of_memory_ = false;  ///< it fails because memory ran out
  std::vector<Job*> jobs_;      ///< by id
  std::array<Batch, kKept> batches_;
  std::int64_t current_ = 0;                         ///< number of the step whose results are read
  bool is_readable_ = false;                         ///< no other step began since its `wait`
  std::int64_t newest_ = 0;                          ///< number of the newest step
  std::vector<std::vector<std::uint8_t>> was_free_;  ///< by group and block
  std::vector<std::vector<std::int64_t>> written_;   ///< by group and block: last writing step
  std::vector<std::uint64_t> in_step_;               ///< ids of a step's sequences
  std::int64_t steps_ = 0, rows_run_ = 0, drafts_ = 0, copies_ = 0, transients_ = 0,
               late_failures_ = 0, losses_ = 0;
};

}  // namespace ingot::sim
