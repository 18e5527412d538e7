// ModelRunner: drives the executor step by step.
#include "support/model_runner.h"

#include "support/guarded_backend.h"

namespace ingot::testing_support {

/// A byte of a page that was never written: NaN in every format.
constexpr std::byte kPoison{0xff};

ModelRunner::ModelRunner(Checkpoint& checkpoint, const RunnerOptions& options)
    : own_pool_(options.pool == nullptr ? std::make_unique<ThreadPool>(options.threads) : nullptr),
      pool_(options.pool == nullptr ? own_pool_.get() : options.pool),
      backend_(*pool_, options.table != nullptr ? *options.table : *kernel_tables().back()) {
  if (options.guarded) guarded_ = std::make_unique<GuardedBackend>(backend_);
  Backend& device = guarded_ ? *guarded_ : backend_;
  ModelOptions model = options.model;
  model.context = options.context;
  model_ = load_model(checkpoint, bind_model(checkpoint), device, model,
                      [](std::uint64_t, std::uint64_t) {});
  auto groups = kv_groups(device, model_->attention(), options.kv_type);
  const std::int32_t held = options.pool_sequences > 0 ? options.pool_sequences : options.sequences;
  const auto blocks = kv_blocks(groups, options.context, held, options.rows);
  cache_ = std::make_unique<KvCache>(device, std::move(groups), options.kv_type, blocks);
  for (std::int32_t g = 0; g < cache_->groups(); ++g) {
    const Buffer& pages = cache_->pages(g);
    device.write(pages.data(), std::vector(static_cast<std::size_t>(pages.bytes()), kPoison));
  }
  if (options.profile) profiled_ = std::make_unique<ProfiledBackend>(device);
  Backend& steps = profiled_ ? static_cast<Backend&>(*profiled_) : device;
  executor_ = std::make_unique<Executor>(*model_, steps, *cache_,
                                         ExecutorLimits{.rows = options.rows,
                                                        .out_rows = options.rows,
                                                        .sequences = options.sequences,
                                                        .context = options.context,
                                                        .logits_rows = options.rows,
                                                        .score_top = options.score_top,
                                                        .finds_best = true});
}

std::int64_t ModelRunner::columns(Output output) const {
  return output == Output::kLogits ? spec().vocab : spec().hidden;
}

void ModelRunner::step(std::vector<StepPart> parts, Output output, std::vector<float>& rows) {
  const bool logits = output == Output::kLogits;
  std::int64_t count = 0;
  for (StepPart& part : parts) {
    count += part.rows;
    (logits ? part.outputs : part.hidden) = part.rows;
    part.final_norm = output == Output::kHiddenNormed;
  }
  INGOT_CHECK(run_next(*executor_, parts), "the pool is too small for this test");
  rows.clear();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::span<const float> row = logits ? executor_->logits(i) : executor_->hidden(i);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  for (const StepPart& part : parts) part.sequence->forget();
}

std::vector<std::vector<float>> ModelRunner::run(
    const std::vector<std::vector<std::int32_t>>& prompts,
    const std::vector<std::vector<Chunk>>& schedule, Output output) {
  std::vector<Sequence> sequences;
  for (const auto& prompt : prompts) {
    sequences.emplace_back(*cache_);
    sequences.back().tokens = prompt;
  }
  std::vector<std::vector<float>> results(prompts.size());
  std::vector<float> rows;
  for (const auto& chunks : schedule) {
    std::vector<StepPart> parts;
    for (const Chunk& c : chunks)
      parts.push_back({.sequence = &sequences[c.sequence], .rows = c.rows});
    step(parts, output, rows);
    auto from = rows.begin();
    for (const Chunk& c : chunks) {
      const auto to = from + c.rows * columns(output);
      results[c.sequence].insert(results[c.sequence].end(), from, to);
      from = to;
    }
  }
  return results;
}

std::vector<float> ModelRunner::run_embeddings(std::vector<float> input,
                                               const std::vector<std::int32_t>& steps,
                                               Output output) {
  Sequence sequence(*cache_);
  sequence.embeddings = f32_view(input.data(), std::ssize(input) / spec().hidden, spec().hidden);
  std::vector<float> result, rows;
  for (const std::int32_t size : steps) {
    step({{.sequence = &sequence, .rows = size}}, output, rows);
    result.insert(result.end(), rows.begin(), rows.end());
  }
  return result;
}

std::vector<std::vector<Chunk>> whole(const std::vector<std::vector<std::int32_t>>& prompts) {
  std::vector<std::vector<Chunk>> schedule;
  for (std::size_t s = 0; s < prompts.size(); ++s) {
    schedule.push_back({{s, static_cast<std::int32_t>(prompts[s].size())}});
  }
  return schedule;
}

}  // namespace ingot::testing_support
