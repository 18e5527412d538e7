// ModelRunner: drives the executor step by step.
#include "support/model_runner.h"

namespace ingot::testing_support {

ModelRunner::ModelRunner(Checkpoint& checkpoint, const RunnerOptions& options)
    : own_pool_(options.pool == nullptr ? std::make_unique<ThreadPool>(options.threads) : nullptr),
      pool_(options.pool == nullptr ? own_pool_.get() : options.pool),
      backend_(*pool_, options.table != nullptr ? *options.table : *kernel_tables().back()) {
  ModelOptions model = options.model;
  model.context = options.context;
  model_ = load_model(checkpoint, bind_model(checkpoint), backend_, model,
                      [](std::uint64_t, std::uint64_t) {});
  auto groups = kv_groups(backend_, model_->attention(), options.kv_type);
  const std::int32_t held = options.pool_sequences > 0 ? options.pool_sequences : options.sequences;
  const auto blocks = kv_blocks(groups, options.context, held, options.rows);
  cache_ = std::make_unique<KvCache>(backend_, std::move(groups), options.kv_type, blocks);
  for (std::int32_t g = 0; g < cache_->groups(); ++g) {
    const Buffer& pages = cache_->pages(g);
    __builtin_memset(pages.data(), 0xff, static_cast<std::size_t>(pages.bytes()));
  }
  if (options.profile) profiled_ = std::make_unique<ProfiledBackend>(backend_);
  Backend& steps = profiled_ ? static_cast<Backend&>(*profiled_) : backend_;
  executor_ = std::make_unique<Executor>(*model_, steps, *cache_,
                                         ExecutorLimits{.rows = options.rows,
                                                        .out_rows = options.rows,
                                                        .sequences = options.sequences,
                                                        .context = options.context,
                                                        .logits_rows = options.sequences,
                                                        .score_top = options.score_top});
}

std::int64_t ModelRunner::columns(Output output) const {
  return output == Output::kLogits ? spec().vocab : spec().hidden;
}

void ModelRunner::step(const std::vector<StepPart>& parts, Output output,
                       std::vector<float>& rows) {
  std::int64_t count = 0;
  for (const StepPart& part : parts) count += part.outputs;
  rows.assign(static_cast<std::size_t>(count * columns(output)), 0);
  const View view = f32_view(rows.data(), count, columns(output));
  Outputs outputs{.kind = output, .logits = {}, .hidden = view};
  if (output == Output::kLogits) outputs.logits.full = view;
  INGOT_CHECK(executor_->step(parts, outputs), "the pool is too small for this test");
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
      parts.push_back({.sequence = &sequences[c.sequence], .rows = c.rows, .outputs = c.rows});
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
    step({{.sequence = &sequence, .rows = size, .outputs = size}}, output, rows);
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
