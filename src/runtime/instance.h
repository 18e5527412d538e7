// Instance: one model, opened and made ready to run, with its backend and KV cache.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "backend/host_kernels.h"
#include "backend/observer.h"
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

/// The model to open, and how it runs.
struct InstanceOptions {
  std::string path;
  std::span<const std::byte> bytes{};  ///< the GGUF file itself; `path` is then its name
  std::string isa = "auto";            ///< see find_host_kernels
  KvType kv_type = KvType::kF16;
  std::optional<Format> weights{};     ///< see ModelOptions
  std::string pack_cache{};            ///< see ModelOptions
  std::int64_t memory_limit = 0;       ///< bytes; 0 = the system's available memory
  LinearObserver* observer = nullptr;  ///< sees the inputs of linears; outlives the instance
  bool profile = false;                ///< the ops of steps are timed
};

/// The layers and ends to load, and the largest steps and sequences.
struct StartOptions {
  ModelOptions model{};
  std::int64_t context = 0;  ///< tokens of a sequence at most; `start` sets it in `model`
  std::int32_t sequences = 1;
  std::int32_t rows = 1;
  std::int32_t out_rows = 1;
  std::int32_t logits_rows = 0;   ///< rows of logits in a step at most, without an Engine
  bool finds_best = false;        ///< see ExecutorLimits
  std::int64_t output_bytes = 0;  ///< bytes of the caller's inputs and results
  bool generates = false;         ///< an Engine will run; `out_rows` follows from the rest
  /// Best tokens that an Engine's requests may ask for at each prompt token; -1 = no scores.
  std::int32_t prompt_logprobs = -1;
  bool hidden_states = false;  ///< an Engine's requests may ask for hidden states of all rows
  /// Sequences of `context` tokens that the KV pool holds; 0 = `sequences`. With fewer, running
  /// sequences preempt each other.
  std::int32_t pool_sequences = 0;
};

/// Opens a model in two steps: first its headers, then its weights. The thread pool outlives it.
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
  /// Errors: as `require_fit` and `load_model`.
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
  /// Identifies the model in files that outlive this process. Reads all weights once. Until
  /// `start`.
  ModelFingerprint fingerprint() const;
  /// Null where the container has no tokenizer that ingot supports.
  const Tokenizer* tokenizer() const { return tokenizer_.get(); }
  /// Ids that sampling may give: the tokenizer's, or the vocabulary without one.
  std::int64_t sampled_ids() const;
  /// Ids that end a text: end-of-sequence and end-of-turn tokens.
  std::vector<std::int32_t> stop_ids() const;
  /// Warnings of opening and of `start`, a line each, for stderr.
  const std::vector<std::string>& warnings() const { return warnings_; }
  const Backend& backend() const { return *backend_; }
  std::string_view isa() const { return kernels_.name; }
  /// Measures the executor's steps; null without `profile`.
  ProfiledBackend* profiled() { return profiled_.get(); }
  /// From `start` on, from any thread. Errors: Error{kIo} if the weights are a mapped file
  /// (`pack_cache`) that was written to.
  void expect_weights_not_overwritten() const {
    if (!model_->packed.weights.empty()) model_->packed.file.expect_not_overwritten();
  }
  /// From `start` on.
  Executor& executor() { return *executor_; }
  /// An engine, with secret prefix hashes, on an instance that was started with `generates`. It
  /// ends before the instance; one engine at a time uses the executor.
  std::unique_ptr<Engine> make_engine(const EngineOptions& options = {});

 private:
  ExecutorLimits executor_limits(const StartOptions& options, std::int64_t context) const;

  ThreadPool& pool_;
  InstanceOptions options_;
  std::int64_t available_bytes_ = 0;  ///< read once, so that all plans agree
  const HostKernels& kernels_;        ///< for sampling
  std::unique_ptr<Backend> backend_;
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
