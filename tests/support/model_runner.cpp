// ModelRunner: drives the executor step by step.
#include "support/model_runner.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "base/index.h"
#include "load/adapter/adapter_file.h"
#include "model/adapter.h"
#include "runtime/sampling/row_sampler.h"
#include "support/random_adapter.h"

namespace ingot::testing_support {

namespace {

/// A byte of a page that was never written: NaN in every format.
constexpr std::byte kPoison{0xff};

/// Draws by the RowSampler. It takes the ids of a mask as the only allowed ones.
std::int32_t draw_token(RowSampler& sampler, const LateDraw& draw) {
  const DrawRow& d = draw.row;
  SamplingParams params;
  params.temperature = d.temperature;
  params.top_k = d.top_k;
  params.top_p = d.top_p;
  params.min_p = d.min_p;
  params.seed = d.seed;
  params.choice = d.choice;
  params.logit_bias.assign(draw.biases.begin(), draw.biases.end());
  std::vector<std::int32_t> allowed;
  const auto vocab = static_cast<std::int32_t>(draw.logits.size());
  const auto ids = draw.ranked > 0 ? static_cast<std::int32_t>(draw.ranked) : vocab;
  for (std::int32_t id = 0; id < ids && !draw.masks.empty(); ++id) {
    if ((at(draw.masks, id / 32) >> (id % 32) & 1) != 0) allowed.push_back(id);
  }
  if (!draw.masks.empty() && allowed.empty()) return kAllExcluded;
  Drawn drawn;
  sampler.draw({.logits = draw.logits, .params = &params, .allowed = allowed, .index = d.index},
               drawn);
  if (drawn.id >= 0) return drawn.id;
  return drawn.excludes_all ? kAllExcluded : kNoToken;
}

std::unique_ptr<Backend> make_late(Backend& inner, const RunnerOptions& options) {
  if (options.late == 0) return nullptr;
  LateOptions late = options.late_options;
  late.steps_ahead = options.late;
  if (!options.late_draws) late.draw = nullptr;
  if (options.late_draws && !late.draw) late.draw = late_draw();
  return std::make_unique<LateBackend>(inner, std::move(late));
}

}  // namespace

std::int32_t late_steps() {
  const char* const value = std::getenv("INGOT_TEST_LATE");
  return value == nullptr || *value == '\0' ? 0 : std::stoi(value);
}

std::function<std::int32_t(const LateDraw&)> late_draw() {
  return [sampler = std::shared_ptr<RowSampler>()](const LateDraw& draw) mutable {
    const std::int64_t vocab = std::ssize(draw.logits);
    if (sampler == nullptr) {
      sampler = std::make_shared<RowSampler>(scalar_kernels(), vocab,
                                             draw.ranked > 0 ? draw.ranked : vocab);
    }
    return draw_token(*sampler, draw);
  };
}

ModelRunner::ModelRunner(Checkpoint& checkpoint, const RunnerOptions& options)
    : own_pool_(options.pool == nullptr ? std::make_unique<ThreadPool>(options.threads) : nullptr),
      pool_(options.pool == nullptr ? own_pool_.get() : options.pool),
      backend_(*pool_, options.table != nullptr ? *options.table : *kernel_tables().back()),
      late_(make_late(backend_, options)) {
  Backend& device = late_ ? *late_ : backend_;
  ModelOptions model = options.model;
  model.context = options.context;
  model_ = load_model(checkpoint, bind_model(checkpoint, options.context), device, model,
                      [](std::uint64_t, std::uint64_t) {});
  if (options.adapters > 0) {
    adapters_ = random_adapters(*model_, device, options.adapters, options.adapter_seed);
  }
  auto groups = kv_groups(device, model_->kv_uses(), options.kv_type);
  const std::int32_t held = options.pool_sequences > 0 ? options.pool_sequences : options.sequences;
  const auto blocks = kv_blocks(groups, options.context, held, options.rows);
  cache_ = std::make_unique<KvCache>(device, std::move(groups), options.kv_type, blocks);
  for (std::int32_t g = 0; g < cache_->groups(); ++g) {
    const Buffer& pages = cache_->pages(g);
    device.write(pages.data(), std::vector(static_cast<std::size_t>(pages.bytes()), kPoison));
  }
  if (options.profile) profiled_ = std::make_unique<ProfiledBackend>(device);
  Backend& steps = profiled_ ? static_cast<Backend&>(*profiled_) : device;
  executor_ = std::make_unique<Executor>(
      *model_, steps, *cache_,
      ExecutorLimits{.rows = options.rows,
                     .out_rows = options.rows * (options.draft_hidden ? 2 : 1),
                     .sequences = options.sequences,
                     .context = options.context,
                     .logits_rows = options.rows,
                     .draft_hidden = options.draft_hidden,
                     .draft_rows = options.draft_rows,
                     .score_top = options.score_top,
                     .finds_best = true,
                     .pools = spec().pooling != Pooling::kNone,
                     .adapters = options.adapters > 0 || options.loads_adapters});
}

std::size_t ModelRunner::load(const std::string& path) {
  Backend& device = late_ ? *late_ : backend_;
  const std::shared_ptr<const Adapter> adapter =
      load_adapter(open_adapter(path), model_->adapter_targets, device);
  AdapterList list{.number = adapters_.size() + 1,
                   .uses = {{.weights = &adapter->weights}},
                   .owners = {adapter},
                   .invocation = adapter->invocation_tokens};
  adapters_.push_back(std::make_shared<const AdapterList>(std::move(list)));
  return adapters_.size();
}

std::int64_t ModelRunner::columns(Output output) const {
  return output == Output::kLogits ? spec().vocab : spec().hidden;
}

bool ModelRunner::begin(std::span<StepPart> parts, Output output) {
  for (StepPart& part : parts) {
    const bool logits = output == Output::kLogits;
    part.first = part.sequence->computed;
    part.outputs = logits ? part.rows : 0;
    part.first_hidden = part.first;
    part.hidden = logits ? 0 : part.rows;
    part.final_norm = output == Output::kHiddenNormed;
    if (!part.sequence->blocks.reserve(part.first + part.rows)) return false;
  }
  executor_->run(parts);
  cache_->begin_step();
  for (const StepPart& part : parts) {
    Sequence& s = *part.sequence;
    s.computed += part.rows;
    s.blocks.set_filled(s.computed);
    s.forget();
  }
  return true;
}

std::vector<float> ModelRunner::end(std::span<const StepPart> parts, Output output) {
  executor_->wait();
  cache_->end_step();
  std::int64_t count = 0;
  for (const StepPart& part : parts) count += part.rows;
  std::vector<float> rows;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::span<const float> row =
        output == Output::kLogits ? executor_->logits(i) : executor_->hidden(i);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

std::vector<std::vector<float>> ModelRunner::run_steps(std::vector<std::vector<StepPart>> steps,
                                                       Output output) {
  std::vector<std::vector<float>> rows;  // rows of the ended steps
  std::size_t begun = 0;
  while (rows.size() < steps.size()) {
    const auto under_way = static_cast<std::int32_t>(begun - rows.size());
    if (begun < steps.size() && under_way < executor_->steps_ahead() &&
        begin(steps[begun], output)) {
      ++begun;
      continue;
    }
    INGOT_CHECK(under_way > 0, "the pool is too small for this test");
    rows.push_back(end(steps[rows.size()], output));
  }
  return rows;
}

std::vector<std::vector<float>> ModelRunner::run(
    const std::vector<std::vector<std::int32_t>>& prompts,
    const std::vector<std::vector<Chunk>>& schedule, Output output,
    const std::vector<std::size_t>& adapters) {
  std::vector<Sequence> sequences;
  for (const auto& prompt : prompts) {
    sequences.emplace_back(*cache_);
    sequences.back().tokens = prompt;
    if (!adapters.empty()) {
      sequences.back().adapters = this->adapters(adapters[sequences.size() - 1]);
    }
  }
  std::vector<std::vector<StepPart>> steps;
  for (const auto& chunks : schedule) {
    std::vector<StepPart>& parts = steps.emplace_back();
    for (const Chunk& c : chunks)
      parts.push_back({.sequence = &sequences[c.sequence], .rows = c.rows});
  }
  const std::vector<std::vector<float>> rows = run_steps(std::move(steps), output);
  std::vector<std::vector<float>> results(prompts.size());
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    auto from = rows[i].begin();
    for (const Chunk& c : schedule[i]) {
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
  sequence.add_given(f32_view(input.data(), std::ssize(input) / spec().hidden, spec().hidden));
  std::vector<std::vector<StepPart>> parts;
  for (const std::int32_t size : steps) parts.push_back({{.sequence = &sequence, .rows = size}});
  std::vector<float> result;
  for (const std::vector<float>& rows : run_steps(std::move(parts), output)) {
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
