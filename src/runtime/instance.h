// Instance: one model, opened and made ready to run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/profiled_backend.h"
#include "base/thread_pool.h"
#include "load/checkpoint.h"
#include "model/fingerprint.h"
#include "model/memory_plan.h"
#include "model/model.h"
#include "runtime/engine.h"
#include "runtime/executor.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// The kernel table of a name; auto is the fastest that there is.
///
/// Errors: Error{kInvalid} for a name that is unknown or not offered here, with those that are.
const KernelTable& find_kernels(std::string_view isa);

/// What is opened, and on what it runs.
struct InstanceOptions {
  std::string path;
  std::span<const std::byte> bytes{};  ///< the GGUF file itself; `path` is then its name
  std::string isa = "auto";  ///< a kernel table's name, or auto: the fastest that there is
  KvType kv_type = KvType::kF16;
  std::optional<Format> weights{};     ///< see ModelOptions
  std::string pack_cache{};            ///< see ModelOptions
  std::int64_t memory_limit = 0;       ///< bytes; 0 = what the system says is available
  LinearObserver* observer = nullptr;  ///< sees the inputs of linears; outlives the instance
  bool profile = false;                ///< the ops of steps are timed
};

/// What is run: the layers and ends that are loaded, and the largest steps and sequences.
struct StartOptions {
  ModelOptions model{};
  std::int64_t context = 0;  ///< tokens a sequence may have; in `model` it is filled in
  std::int32_t sequences = 1;
  std::int32_t rows = 1;
  std::int32_t out_rows = 1;
  std::int64_t output_bytes = 0;  ///< that the caller holds for inputs and results
  bool generates = false;         ///< an Engine will run; `out_rows` follows from the rest
  /// Best tokens that an Engine's requests may ask for at each token of a prompt; -1 = no scores.
  std::int32_t prompt_logprobs = -1;
  bool hidden_states = false;  ///< an Engine's requests may ask for those of all rows
  /// Sequences of `context` tokens that the KV pool holds; 0 = `sequences`. Where it holds fewer,
  /// those that run make room for each other.
  std::int32_t pool_sequences = 0;
};

/// Opens a model in two steps: first what its headers say, then its weights. The thread pool is the
/// process's and outlives it.
class Instance {
 public:
  /// Opens the file, reads its tokenizer and binds its tensors; allocates no weights.
  ///
  /// Errors: Error{kModel} for the file; Error{kInvalid} for an instruction set that is unknown or
  /// not offered here.
  Instance(ThreadPool& pool, const InstanceOptions& options);

  /// Checks the memory plan, packs the weights and allocates the KV pool. The file is not needed
  /// afterwards.
  ///
  /// Errors: as of `require_fit` and `load_model`.
  void start(const StartOptions& options, Progress progress);

  /// The plan for what `options` would start. Until `start`.
  MemoryPlan plan(const StartOptions& options) const;
  /// The `pool_sequences` for `options` as they are otherwise: all of `sequences`, or as many as
  /// fit, at least 1. Until `start`.
  std::int32_t fitting_pool(const StartOptions& options) const;

  const std::string& name() const { return options_.path; }
  const Spec& spec() const { return spec_; }
  const Config& config() const { return config_; }
  /// Until `start`.
  const Checkpoint& checkpoint() const { return *checkpoint_; }
  KvType kv_type() const { return options_.kv_type; }
  /// Which model this is, for what is kept beyond this process. Reads all weights once. Until
  /// `start`.
  ModelFingerprint fingerprint() const;
  /// Null when the container brings none that is understood.
  const Tokenizer* tokenizer() const { return tokenizer_.get(); }
  /// Ids that sampling may give: the tokenizer's, or the vocabulary without one.
  std::int64_t sampled_ids() const;
  /// Ids that end a text: end-of-sequence and end-of-turn tokens.
  std::vector<std::int32_t> stop_ids() const;
  /// What was assumed while opening, and what `start` adds to it, a line each, for stderr.
  const std::vector<std::string>& warnings() const { return warnings_; }
  const Backend& backend() const { return backend_; }
  std::string_view isa() const { return backend_.table().name; }
  /// What times the steps of the executor; null without `profile`.
  ProfiledBackend* profiled() { return profiled_.get(); }
  /// From `start` on, from any thread. Errors: Error{kIo} where the weights are a file's that is
  /// mapped (`pack_cache`), and it was written to.
  void expect_weights_not_overwritten() const {
    if (!model_->packed.weights.empty()) model_->packed.file.expect_not_overwritten();
  }
  /// From `start` on.
  Executor& executor() { return *executor_; }
  /// An engine on what was started with `generates`, whose prefix hashes nobody can foretell. It
  /// has to go before the instance, and one at a time uses the executor.
  std::unique_ptr<Engine> make_engine(const EngineOptions& options = {});

 private:
  ExecutorLimits executor_limits(const StartOptions& options, std::int64_t context) const;

  ThreadPool& pool_;
  InstanceOptions options_;
  std::int64_t available_bytes_ = 0;  ///< read once, so that all plans agree
  CpuBackend backend_;
  std::unique_ptr<ProfiledBackend> profiled_;
  std::unique_ptr<Checkpoint> checkpoint_;
  Config config_;
  Spec spec_;
  std::unique_ptr<BoundModel> bound_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::vector<std::string> warnings_;
  std::unique_ptr<const Model> model_;
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace ingot
