// Instance: opens and loads a model file, and owns its backend, tokenizer, KV cache and executor.
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
#include "load/embedder.h"
#include "model/fingerprint.h"
#include "model/memory_plan.h"
#include "model/model.h"
#include "runtime/adapters/adapter_store.h"
#include "runtime/embed/model_use.h"
#include "runtime/engine.h"
#include "runtime/executor.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// The model file to open, and how to load and run it.
struct InstanceOptions {
  std::string path;
  std::span<const std::byte> bytes{};  ///< content of a GGUF file named `path`; empty: opens `path`
  std::string device = "auto";         ///< where ops compute: see BackendOptions
  std::string numerics = "auto";       ///< order in which ops compute: see BackendOptions
  std::string isa = "auto";            ///< instruction set: see find_host_kernels
  /// Type of cached keys and values. Absent: `default_kv_type`, but float32 for embedders and
  /// rerankers. Does not apply to encoders, whose keys and values are float32 and last for one
  /// step.
  std::optional<KvType> kv_type{};
  /// Whether requests may ask for pooled results. Then a model that names no pooling pools the last
  /// row and scales it to length 1.
  bool pools = false;
  std::optional<Pooling> pooling{};  ///< replaces the model's own pooling
  std::optional<bool> normalise{};   ///< replaces whether the model scales embeddings to length 1
  std::optional<Format> weights{};   ///< format to convert dense matrices to: see ModelOptions
  /// Limit on a sequence's tokens, 0 = the model's own context. It chooses the factors of a
  /// longrope embedding; see make_spec.
  std::int64_t context = 0;
  PackCacheOptions pack_cache{};          ///< no cache unless it names a folder
  std::int64_t memory_limit = 0;          ///< limit on host memory in bytes; 0 = what is available
  LinearObserver* observer = nullptr;     ///< gets each linear's input; must outlive the instance
  bool profile = false;                   ///< whether to time the ops of steps
  std::vector<AdapterSource> adapters{};  ///< adapters to open with the model, and load with it
  std::vector<std::string> accept_unknown{};  ///< see OpenOptions
  std::vector<std::int32_t> end_ids{};  ///< replaces the model's end tokens; empty: keeps them
};

/// The parts of the model to load, and the sizes of the largest step and sequence.
struct StartOptions {
  ModelOptions model{};
  /// Limit on a sequence's tokens; 0 = InstanceOptions::context, or else the model's own context.
  std::int64_t context = 0;
  std::int32_t sequences = 1;
  std::int32_t rows = 1;
  std::int32_t out_rows = 1;
  std::int32_t logits_rows = 0;   ///< limit on a step's rows of logits; ignored if `generates`
  bool finds_best = false;        ///< whether the caller uses `Executor::best`
  std::int64_t output_bytes = 0;  ///< bytes of the caller's inputs and results, for the memory plan
  bool generates = false;         ///< true for an Engine; overrides `out_rows` and `logits_rows`
  /// The largest Request::prompt_logprobs that requests may ask for; -1 = no scores.
  std::int32_t prompt_logprobs = -1;
  /// Whether adapters may be loaded later, besides those of InstanceOptions.
  bool more_adapters = false;
  std::int32_t adapters_max = 0;         ///< limit on adapters; 0: those of InstanceOptions
  std::int64_t later_adapter_bytes = 0;  ///< bytes to keep for adapters that are loaded later
  /// Limit on the rows of a step that are drafts; 0: no speculation. Only if `generates`.
  std::int32_t draft_rows = 0;
  bool draft_hidden = false;   ///< whether a Drafter gets hidden states: Drafter::see
  bool hidden_states = false;  ///< whether requests may ask for hidden states of all prompt rows
  /// Number of sequences of `context` tokens that fit into the KV pool; 0 = `sequences`. If it is
  /// less than `sequences`, the scheduler may preempt running sequences.
  std::int32_t pool_sequences = 0;
};

/// A model, opened in two phases: the constructor reads the headers, `start` loads the weights.
class Instance {
 public:
  /// Opens the file, reads its tokenizer and binds its tensors. `pool` must outlive this object.
  ///
  /// Errors: Error{kModel} if the file is wrong; Error{kInvalid} if the device, its numerics or the
  /// instruction set are not offered, or if an end token is not in the vocabulary.
  Instance(ThreadPool& pool, const InstanceOptions& options);

  /// Checks that the device computes the model, checks the memory plan, packs the weights and
  /// allocates the KV pool. The file is not needed afterwards.
  ///
  /// Errors: those of `require_supported`, `require_fit` and `load_model`.
  void start(const StartOptions& options, Progress progress);

  /// Plans the memory of a `start` with these options. Call it only before `start`.
  MemoryPlan plan(const StartOptions& options) const;
  /// Returns the largest `pool_sequences` with which these options fit into memory. The result is
  /// in [1, `sequences`], even if 1 does not fit. Call it only before `start`.
  std::int32_t fitting_pool(const StartOptions& options) const;

  /// Returns the bytes of the largest adapter of InstanceOptions; 0: there is none. Call it only
  /// before `start`.
  std::int64_t largest_adapter(const ModelOptions& model) const;
  /// Returns the bytes of an adapter. Call it only before `start`.
  ///
  /// Errors: those of `ingot::adapter_bytes`.
  std::int64_t adapter_bytes(const AdapterFile& file, const ModelOptions& model) const;

  const std::string& name() const { return options_.path; }
  const Spec& spec() const { return spec_; }
  const Config& config() const { return config_; }
  /// Returns the opened model file. Call it only before `start`.
  const Checkpoint& checkpoint() const { return *checkpoint_; }
  KvType kv_type() const { return kv_type_; }
  /// Errors: model_error with the reason if the model cannot do this work.
  void require(ModelUse use) const;
  /// Returns whether one step must compute all rows of a sequence, because results depend on later
  /// rows.
  bool needs_whole_sequences() const;
  /// Returns the model's own settings for embeddings, such as prompts.
  const EmbedderSettings& embedder() const { return embedder_; }
  /// Returns the limit on the tokens of an input to embed or score, if the user sets no context.
  std::int64_t input_tokens_max() const {
    const std::int64_t own = embedder_.max_tokens;
    return own > 0 ? std::min(own, spec_.context) : spec_.context;
  }
  /// Returns the template with which the model reads a query and a document: see
  /// find_rerank_template.
  const std::optional<std::string>& rerank_template() const { return rerank_template_; }
  /// Returns the number of values of a pooled result.
  std::int64_t pooled_size() const { return pooled_size_; }
  /// Returns the number of the model's token types; 0: it has none.
  std::int64_t token_types() const { return token_types_; }
  /// Returns whether pooled results are scaled to length 1.
  bool normalises() const { return normalises_; }
  /// Computes a hash that identifies the model in session files. Slow: reads all weights once. Call
  /// it only before `start`.
  ModelFingerprint fingerprint() const;
  /// Returns the fingerprint of the model with one of InstanceOptions::adapters. Call it only
  /// before `start`.
  ModelFingerprint fingerprint_with(std::string_view adapter) const;
  /// Returns the tokenizer; null if the file has no tokenizer that ingot supports.
  const Tokenizer* tokenizer() const { return tokenizer_.get(); }
  /// Returns how many ids can be drawn: the tokenizer's size, or without one the vocabulary size.
  std::int64_t sampled_ids() const;
  /// Returns the tokens that end a text, each with what names it.
  const std::vector<EndToken>& end_tokens() const { return end_tokens_; }
  /// Returns the warnings of the constructor and of `start`, one line each, for stderr.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Returns lines about the model's files on which no user can act, for `ingot inspect`.
  const std::vector<std::string>& details() const { return details_; }
  /// Returns what `start` tells: what users may want to know, one line each.
  const std::vector<std::string>& notes() const { return notes_; }
  const Backend& backend() const { return *backend_; }
  std::string_view isa() const { return kernels_.name; }
  /// Returns the backend that times ops; null without InstanceOptions::profile.
  ProfiledBackend* profiled() { return profiled_.get(); }
  /// Checks that no process has overwritten the mapped file of packed weights, if there is one.
  /// Call it after `start`, from any thread. Errors: Error{kIo} if the file was overwritten.
  void expect_weights_not_overwritten() const {
    if (!model_->packed.weights.empty()) model_->packed.file.expect_not_overwritten();
  }
  /// Returns the bytes of host memory that the plan of `start` left. Call it only after `start`.
  std::int64_t memory_left() const { return left_bytes_; }
  /// Returns the adapters of the model. Call it only after `start`.
  AdapterStore& adapters() { return *adapters_; }
  /// Returns the executor of the model's steps. Call it only after `start`.
  Executor& executor() { return *executor_; }
  /// Makes an engine with a random secret for prefix hashes. Requires a `start` with `generates`.
  /// The instance must outlive the engine. Only one engine at a time may use the executor.
  std::unique_ptr<Engine> make_engine(const EngineOptions& options = {});

 private:
  std::vector<EndToken> choose_end_tokens() const;
  void choose_pooling();
  void choose_kv_type();
  std::int32_t pool_sequences(const StartOptions& options, std::int64_t context) const;
  ModelOptions model_options(const StartOptions& options) const;
  std::int64_t context_of(const StartOptions& options) const;
  bool has_adapters(const StartOptions& options) const {
    return options.more_adapters || !adapter_files_.empty();
  }
  std::vector<std::int64_t> opened_adapter_bytes(const ModelOptions& model) const;
  std::int64_t adapter_bytes(const ModelOptions& model) const;
  void load_adapters(const StartOptions& options, const MemoryPlan& plan);
  ExecutorLimits executor_limits(const StartOptions& options, std::int64_t context) const;

  ThreadPool& pool_;
  InstanceOptions options_;
  std::int64_t available_bytes_ = 0;  ///< available memory, queried once so that all plans agree
  std::int64_t left_bytes_ = 0;       ///< see `memory_left`
  std::int64_t device_bytes_ = 0;     ///< free bytes of a device's own memory, also queried once
  const HostKernels& kernels_;        ///< kernels for sampling
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<ProfiledBackend> profiled_;
  std::unique_ptr<Checkpoint> checkpoint_;
  Config config_;
  EmbedderSettings embedder_;
  KvType kv_type_ = KvType::kF16;
  std::optional<std::string> rerank_template_;
  Spec spec_;
  std::unique_ptr<BoundModel> bound_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::vector<EndToken> end_tokens_;
  Pooling pooling_ = Pooling::kNone;  ///< how steps pool; kNone: they do not
  bool normalises_ = false;
  std::int64_t pooled_size_ = 0;
  std::int64_t token_types_ = 0;
  std::vector<std::string> warnings_;
  std::vector<std::string> details_;
  std::vector<std::string> notes_;
  std::vector<AdapterFile> adapter_files_;  ///< those of InstanceOptions, until `start`
  std::unique_ptr<const Model> model_;
  std::unique_ptr<AdapterStore> adapters_;
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace ingot
