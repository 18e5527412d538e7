// Instance: opens a model's file and tokenizer, then plans memory, loads weights, makes an engine.
#include "runtime/instance.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "backend/backends.h"
#include "base/error.h"
#include "base/system_memory.h"
#include "base/text.h"
#include "model/default_kv_type.h"
#include "model/require_supported.h"
#include "runtime/draft/lookup_drafter.h"
#include "runtime/embed/reranker.h"
#include "runtime/request_fields.h"
#include "runtime/session/session.h"
#include "text/chat/end_tokens.h"
#include "text/chat/named_templates.h"

namespace ingot {

Instance::Instance(ThreadPool& pool, const InstanceOptions& options)
    : pool_(pool),
      options_(options),
      kernels_(find_host_kernels(options.isa)),
      backend_(make_backend(pool, {.device = options.device,
                                   .numerics = options.numerics,
                                   .isa = options.isa,
                                   .observer = options.observer})),
      checkpoint_(Checkpoint::open(options.path, options.bytes,
                                   {.accept_unknown = options.accept_unknown})),
      config_(checkpoint_->config()),
      embedder_(checkpoint_->embedder()),
      warnings_(checkpoint_->warnings().begin(), checkpoint_->warnings().end()),
      details_(checkpoint_->details().begin(), checkpoint_->details().end()) {
  if (const char* warning = host_kernel_warning(); warning != nullptr && options.isa == "auto") {
    warnings_.emplace_back(warning);
  }
  if (options.profile) profiled_ = std::make_unique<ProfiledBackend>(*backend_);
  bound_ = std::make_unique<BoundModel>(bind_model(*checkpoint_, options.context));
  spec_ = bound_->spec;
  details_.insert(details_.end(), bound_->notes.begin(), bound_->notes.end());
  choose_pooling();
  choose_kv_type();
  Request unused;
  for (std::string& line : set_model_defaults(unused, config_, options.path)) {
    warnings_.push_back(std::move(line));
  }
  if (options.weights) {
    if (const auto note = rounding_note(*bound_, *options.weights); !note.empty()) {
      warnings_.push_back(note);
    }
  }
  if (const TokenizerData* data = checkpoint_->tokenizer()) {
    warnings_.insert(warnings_.end(), data->warnings.begin(), data->warnings.end());
    details_.insert(details_.end(), data->details.begin(), data->details.end());
    tokenizer_ = make_tokenizer(*data, details_);
    rerank_template_ = find_rerank_template(data->templates);
  }
  end_tokens_ = choose_end_tokens();
  for (const AdapterSource& source : options.adapters) {
    AdapterFile& file = adapter_files_.emplace_back(open_adapter(source.path));
    warnings_.insert(warnings_.end(), file.warnings.begin(), file.warnings.end());
    details_.insert(details_.end(), file.notes.begin(), file.notes.end());
    if (auto warning = base_model_warning(file, options.path); !warning.empty()) {
      warnings_.push_back(std::move(warning));
    }
  }
  available_bytes_ = options.memory_limit > 0 ? options.memory_limit : available_memory();
  if (!backend_->host_memory()) device_bytes_ = backend_->free_memory();
}

std::int64_t Instance::context_of(const StartOptions& options) const {
  if (options.context > 0) return options.context;
  return options_.context > 0 ? options_.context : spec_.context;
}

/// Sets how the model's steps pool. Only the bound model changes: `spec_` stays as the file says.
void Instance::choose_pooling() {
  if (!options_.pools) return;
  Spec& spec = bound_->spec;
  if (spec.labels == 0) {
    if (spec.pooling == Pooling::kNone) {
      spec.pooling = Pooling::kLast;
      spec.normalise = true;
    }
    spec.pooling = options_.pooling.value_or(spec.pooling);
    spec.normalise = options_.normalise.value_or(spec.normalise);
  }
  pooling_ = spec.pooling;
  normalises_ = spec.normalise;
  pooled_size_ = spec.pooled_cols();
  token_types_ = bound_->types == nullptr ? 0 : bound_->types->shape.front();
}

/// Sets the type of keys and values. Those of a model that only reads texts take little memory, so
/// they can be exact.
void Instance::choose_kv_type() {
  const bool only_reads = !can_do(config_, ModelUse::kText) || is_embedder(config_);
  bound_->exact_rows = only_reads;
  const KvType own = only_reads ? KvType::kF32 : default_kv_type(*bound_, options_.weights);
  kv_type_ = options_.kv_type.value_or(own);
  if (spec_.causal || kv_type_ == KvType::kF32) return;
  kv_type_ = KvType::kF32;
  warnings_.push_back(cat("`kv_type` ", to_string(*options_.kv_type), " does not apply to ",
                          config_.architecture, ": an encoder's keys and values are float32"));
}

void Instance::require(ModelUse use) const {
  if (!can_do(config_, use)) throw model_error(name(), "architecture", refusal(config_, use));
}

bool Instance::needs_whole_sequences() const {
  return !spec_.causal || pooling_ == Pooling::kMean || pooling_ == Pooling::kCls;
}

/// The number of sequences of `context` tokens for which the pool has blocks. A step of an encoder
/// releases its blocks, so the pool needs blocks for the steps under way alone.
std::int32_t Instance::pool_sequences(const StartOptions& options, std::int64_t context) const {
  if (spec_.causal) return options.pool_sequences > 0 ? options.pool_sequences : options.sequences;
  // A sequence's last block may be nearly empty, and the scheduler wants one more free block for
  // it.
  constexpr std::int64_t kTokensMore = 2 * kBlockTokens;
  const std::int64_t tokens =
      backend_->steps_ahead() * (options.rows + kTokensMore * options.sequences);
  return static_cast<std::int32_t>((tokens + context - 1) / context);
}

ModelOptions Instance::model_options(const StartOptions& options) const {
  ModelOptions model = options.model;
  model.weights = options_.weights;
  return model;
}

ExecutorLimits Instance::executor_limits(const StartOptions& options, std::int64_t context) const {
  ExecutorLimits limits{.rows = options.rows,
                        .out_rows = options.out_rows,
                        .sequences = options.sequences,
                        .context = context,
                        .logits_rows = options.logits_rows,
                        .finds_best = options.finds_best};
  if (options.generates) {
    limits.draft_rows = options.model.head ? std::min(options.draft_rows, options.rows - 1) : 0;
    limits.logits_rows = options.model.head ? options.sequences + limits.draft_rows : 0;
    limits.ids = std::min(sampled_ids(), spec_.vocab);
    limits.score_top = options.prompt_logprobs;
    const bool all_rows = options.prompt_logprobs >= 0 || options.hidden_states;
    const std::int32_t drawn = std::min(options.sequences + limits.draft_rows, options.rows);
    limits.logits_rows = std::min(limits.logits_rows, drawn);
    limits.out_rows = all_rows ? options.rows : drawn;
    limits.draft_hidden = options.draft_hidden && limits.draft_rows > 0;
    if (limits.draft_hidden) limits.out_rows = options.rows + drawn;
  }
  limits.pools = options_.pools;
  limits.adapters = has_adapters(options);
  return limits;
}

MemoryPlan Instance::plan(const StartOptions& options) const {
  INGOT_CHECK(bound_ != nullptr, "a plan for what is started already");
  const std::int64_t context = context_of(options);
  const ExecutorLimits limits = executor_limits(options, context);
  const bool draws = options.generates && options.model.head;
  if (draws || options.logits_rows > 0) require(ModelUse::kText);
  const std::int64_t sampling = draws ? Sampler::bytes(pool_.size(), spec_.vocab) : 0;
  const std::int64_t drafting =
      limits.draft_rows > 0 ? LookupDrafter::bytes_max(limits.sequences, context) : 0;
  return plan_memory(
      *bound_, *backend_,
      {.options = model_options(options),
       .kv_type = kv_type_,
       .context = context,
       .sequences = pool_sequences(options, context),
       .rows = limits.rows,
       .out_rows = limits.out_rows,
       .logits_rows = limits.logits_rows,
       .result_bytes = Executor::result_bytes(spec_, limits),
       .table_bytes = Executor::table_bytes(spec_, limits.sequences),
       .adapters = limits.adapters,
       .adapter_bytes = adapter_bytes(model_options(options)) + options.later_adapter_bytes,
       .output_bytes = options.output_bytes + sampling + drafting,
       .available_bytes = available_bytes_,
       .device_bytes = device_bytes_});
}

std::int32_t Instance::fitting_pool(const StartOptions& options) const {
  StartOptions whole = options;
  whole.pool_sequences = options.sequences;
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(plan(whole).max_sequences, 1, options.sequences));
}

ModelFingerprint Instance::fingerprint() const {
  INGOT_CHECK(checkpoint_ != nullptr, "a fingerprint of what is started already");
  return model_fingerprint(*checkpoint_, spec_, options_.weights, pool_);
}

ModelFingerprint Instance::fingerprint_with(std::string_view adapter) const {
  for (std::size_t i = 0; i < adapter_files_.size(); ++i) {
    const AdapterSource& source = options_.adapters[i];
    if (source.name != adapter) continue;
    const std::string identity = to_string(adapter_identity(adapter_files_[i]));
    return ingot::fingerprint_with(fingerprint(), cat("adapter ", identity, " ", source.scale));
  }
  INGOT_CHECK(false, "no adapter ", adapter);
  return {};
}

void Instance::start(const StartOptions& options, Progress progress) {
  ModelOptions model = model_options(options);
  require_supported(*bound_, model, kv_type_, *backend_, name());
  const MemoryPlan plan = this->plan(options);
  require_fit(plan, name());
  left_bytes_ = plan.host.unused_bytes();
  model.context = plan.context;
  model.pool = &pool_;
  model.pack_cache = options_.pack_cache;
  model_ = load_model(*checkpoint_, *bound_, *backend_, model, progress);
  warnings_.insert(warnings_.end(), model_->warnings.begin(), model_->warnings.end());
  notes_ = bound_->notes;
  notes_.insert(notes_.end(), model_->notes.begin(), model_->notes.end());
  load_adapters(options, plan);
  bound_.reset();
  checkpoint_.reset();

  auto groups = kv_groups(*backend_, model_->kv_uses(), kv_type_);
  const auto blocks =
      kv_blocks(groups, plan.context, pool_sequences(options, plan.context), options.rows);
  cache_ = std::make_unique<KvCache>(*backend_, std::move(groups), kv_type_, blocks);
  Backend& steps = profiled_ ? static_cast<Backend&>(*profiled_) : *backend_;
  executor_ =
      std::make_unique<Executor>(*model_, steps, *cache_, executor_limits(options, plan.context));
  adapter_files_.clear();
}

std::vector<std::int64_t> Instance::opened_adapter_bytes(const ModelOptions& model) const {
  std::vector<std::int64_t> bytes;
  if (adapter_files_.empty()) return bytes;
  const AdapterTargets targets(*bound_, config_.naming, model);
  for (const AdapterFile& file : adapter_files_) {
    bytes.push_back(ingot::adapter_bytes(file, targets, *backend_));
  }
  return bytes;
}

std::int64_t Instance::adapter_bytes(const ModelOptions& model) const {
  const std::vector<std::int64_t> all = opened_adapter_bytes(model);
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

std::int64_t Instance::largest_adapter(const ModelOptions& model) const {
  const std::vector<std::int64_t> all = opened_adapter_bytes(model);
  return all.empty() ? 0 : *std::max_element(all.begin(), all.end());
}

std::int64_t Instance::adapter_bytes(const AdapterFile& file, const ModelOptions& model) const {
  INGOT_CHECK(bound_ != nullptr, "the bytes of an adapter for what is started already");
  return ingot::adapter_bytes(file, AdapterTargets(*bound_, config_.naming, model), *backend_);
}

/// Loads the adapters that were opened. Later ones have the memory that the plan keeps or leaves.
void Instance::load_adapters(const StartOptions& options, const MemoryPlan& plan) {
  const auto opened = static_cast<std::int32_t>(adapter_files_.size());
  adapters_ = std::make_unique<AdapterStore>(
      *model_, *backend_,
      AdapterLimits{.bytes = plan.op_memory().adapter_bytes + plan.op_memory().unused_bytes(),
                    .adapters = std::max(opened, options.adapters_max)});
  for (std::size_t i = 0; i < adapter_files_.size(); ++i) {
    const auto loaded = adapters_->load(options_.adapters[i], adapter_files_[i]);
    const std::vector<std::string>& warnings = loaded->adapter->warnings;
    warnings_.insert(warnings_.end(), warnings.begin(), warnings.end());
  }
}

std::unique_ptr<Engine> Instance::make_engine(const EngineOptions& given) {
  EngineOptions options = given;
  std::random_device random;
  for (std::uint64_t& word : options.prefix.secret) {
    word = (std::uint64_t{random()} << 32) | random();
  }
  return std::make_unique<Engine>(ModelParts{.executor = *executor_,
                                             .pool = pool_,
                                             .kernels = kernels_,
                                             .tokenizer = tokenizer_.get(),
                                             .ids = sampled_ids(),
                                             .end_ids = ids_of(end_tokens_),
                                             .profiled = profiled_.get()},
                                  options);
}

std::int64_t Instance::sampled_ids() const { return tokenizer_ ? tokenizer_->size() : spec_.vocab; }

std::vector<EndToken> Instance::choose_end_tokens() const {
  if (options_.end_ids.empty()) {
    const TokenizerData* data = checkpoint_->tokenizer();
    if (data == nullptr) return config_.ends;
    const auto ends =
        find_end_tokens(config_.ends, *tokenizer_, standard_template(data->templates));
    return find_end_tokens(ends, *tokenizer_, tools_template(data->templates));
  }
  std::vector<EndToken> ends;
  for (const std::int32_t id : options_.end_ids) {
    if (id < 0 || id >= sampled_ids()) {
      throw Error(ErrorCode::kInvalid,
                  cat("end token ", id, " is not in the vocabulary of ", sampled_ids(), " tokens"));
    }
    add_end(ends, id, "--end-tokens");
  }
  return ends;
}

}  // namespace ingot
