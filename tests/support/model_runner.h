// ModelRunner: a loaded model with its cache, for tests that drive steps themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/late_backend_test_util.h"
#include "backend/profiled_backend.h"
#include "load/checkpoint.h"
#include "model/memory_plan.h"
#include "runtime/executor.h"

namespace ingot::testing_support {

/// Returns the value of the environment variable INGOT_TEST_LATE; 0 if it is not set. With it,
/// whole test programs run on a LateBackend.
std::int32_t late_steps();

/// Makes a LateOptions::draw that draws as Sampler does. Rows of all its calls have equal sizes.
std::function<std::int32_t(const LateDraw&)> late_draw();

/// How a model runs. No option may change a bit of the results.
struct RunnerOptions {
  int threads = 1;
  KvType kv_type = KvType::kF16;
  const KernelTable* table = nullptr;  ///< null: the fastest
  ModelOptions model{};
  std::int64_t context = 256;
  std::int32_t rows = 256;
  std::int32_t sequences = 8;
  std::int32_t draft_rows = 0;      ///< limit on a step's drafts
  bool draft_hidden = false;        ///< whether drafters get hidden states
  ThreadPool* pool = nullptr;       ///< null: its own pool of `threads`
  std::int32_t pool_sequences = 0;  ///< whole sequences that the cache holds; 0: `sequences`
  std::int32_t score_top = -1;      ///< for Executor::run
  bool profile = false;             ///< run steps on a ProfiledBackend
  /// Number of random adapters. Their numbers depend on `adapter_seed` alone.
  int adapters = 0;
  std::uint64_t adapter_seed = 1;
  bool loads_adapters = false;  ///< whether `load` may be called
  /// 0: run on the CPU. 1 or 2: run on a LateBackend that has this many steps under way.
  std::int32_t late = late_steps();
  /// Whether the LateBackend draws tokens: by `late_options.draw`, or if that is empty,
  /// late_draw().
  bool late_draws = true;
  LateOptions late_options{};  ///< other options of the LateBackend
};

/// Rows of one sequence in a step.
struct Chunk {
  std::size_t sequence = 0;
  std::int32_t rows = 0;
};

/// Results of a step's rows.
enum class Output { kLogits, kHiddenNormed, kHidden };

/// A model on the CPU backend. Its pages start as NaN, to show reads of slots that were not
/// written.
class ModelRunner {
 public:
  ModelRunner(Checkpoint& checkpoint, const RunnerOptions& options);

  /// Runs sequences of token ids by `schedule`; returns the output rows of each sequence. Sequence
  /// s has list number `adapters[s]`: see `adapters`.
  std::vector<std::vector<float>> run(const std::vector<std::vector<std::int32_t>>& prompts,
                                      const std::vector<std::vector<Chunk>>& schedule,
                                      Output output = Output::kLogits,
                                      const std::vector<std::size_t>& adapters = {});
  /// Runs one sequence of embedding rows, in steps of the given sizes.
  std::vector<float> run_embeddings(std::vector<float> rows, const std::vector<std::int32_t>& steps,
                                    Output output);

  const Spec& spec() const { return model_->spec; }
  /// Returns a list of random adapters; null for 0. Lists 1 to RunnerOptions::adapters have one
  /// adapter, the next one has two of them.
  std::shared_ptr<const AdapterList> adapters(std::size_t number) const {
    return number == 0 ? nullptr : adapters_.at(number - 1);
  }
  /// Loads an adapter. Returns the number of its list. Errors: those of open_adapter, load_adapter.
  std::size_t load(const std::string& path);
  Executor& executor() { return *executor_; }
  ThreadPool& pool() { return *pool_; }
  const KernelTable& table() const { return backend_.table(); }
  /// Null without `profile`.
  ProfiledBackend* profiled() { return profiled_.get(); }

 private:
  std::int64_t columns(Output output) const;
  /// Runs steps whose rows all give results. Keeps as many steps under way as the backend allows.
  /// Returns each step's rows.
  std::vector<std::vector<float>> run_steps(std::vector<std::vector<StepPart>> steps,
                                            Output output);
  /// Begins a step, and counts its rows as computed. Returns false if the pool has too few blocks.
  bool begin(std::span<StepPart> parts, Output output);
  /// Waits for the oldest step under way. Returns its rows.
  std::vector<float> end(std::span<const StepPart> parts, Output output);

  std::unique_ptr<ThreadPool> own_pool_;
  ThreadPool* pool_ = nullptr;
  CpuBackend backend_;
  std::unique_ptr<Backend> late_;
  std::unique_ptr<ProfiledBackend> profiled_;
  std::unique_ptr<const Model> model_;
  std::vector<std::shared_ptr<const AdapterList>> adapters_;
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<Executor> executor_;
};

/// The schedule with each whole prompt in one step.
std::vector<std::vector<Chunk>> whole(const std::vector<std::vector<std::int32_t>>& prompts);

}  // namespace ingot::testing_support
