// A loaded model with its pool, for tests that drive steps themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/profiled_backend.h"
#include "load/checkpoint.h"
#include "model/memory_plan.h"
#include "runtime/executor.h"

namespace ingot::testing_support {

/// How a model is run; everything that may not change a bit.
struct RunnerOptions {
  int threads = 1;
  KvType kv_type = KvType::kF16;
  const KernelTable* table = nullptr;  ///< null = the fastest that there is
  ModelOptions model{};
  std::int64_t context = 256;
  std::int32_t rows = 256;
  std::int32_t sequences = 8;
  ThreadPool* pool = nullptr;       ///< null = one of its own, of `threads`
  std::int32_t pool_sequences = 0;  ///< whole sequences that the KV pool holds; 0 = `sequences`
  std::int32_t score_top = -1;      ///< for Executor::run
  bool profile = false;             ///< steps run on a ProfiledBackend
};

/// Rows of one sequence that a step takes.
struct Chunk {
  std::size_t sequence = 0;
  std::int32_t rows = 0;
};

/// A model on the CPU backend. Pages start poisoned: whoever reads an unwritten slot gets NaN.
class ModelRunner {
 public:
  ModelRunner(Checkpoint& checkpoint, const RunnerOptions& options);

  /// Runs sequences of token ids by `schedule` and returns each one's output rows, one after the
  /// other.
  std::vector<std::vector<float>> run(const std::vector<std::vector<std::int32_t>>& prompts,
                                      const std::vector<std::vector<Chunk>>& schedule,
                                      Output output = Output::kLogits);
  /// One sequence of embedding rows, in steps of the given sizes.
  std::vector<float> run_embeddings(std::vector<float> rows, const std::vector<std::int32_t>& steps,
                                    Output output);

  const Spec& spec() const { return model_->spec; }
  Executor& executor() { return *executor_; }
  ThreadPool& pool() { return *pool_; }
  const KernelTable& table() const { return backend_.table(); }
  /// Null without `profile`.
  ProfiledBackend* profiled() { return profiled_.get(); }

 private:
  std::int64_t columns(Output output) const;
  void step(const std::vector<StepPart>& parts, Output output, std::vector<float>& rows);

  std::unique_ptr<ThreadPool> own_pool_;
  ThreadPool* pool_ = nullptr;
  CpuBackend backend_;
  std::unique_ptr<ProfiledBackend> profiled_;
  std::unique_ptr<const Model> model_;
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<Executor> executor_;
};

/// The whole prompt in one step.
std::vector<std::vector<Chunk>> whole(const std::vector<std::vector<std::int32_t>>& prompts);

}  // namespace ingot::testing_support
