// Executor: makes a Batch from a step's parts, runs the forward pass and fetches its results.
#include "runtime/executor.h"

#include <algorithm>
#include <set>

#include "base/index.h"

namespace ingot {

namespace {

std::int64_t blocks_of(std::int64_t tokens) { return (tokens + kBlockTokens - 1) / kBlockTokens; }

}  // namespace

Executor::Executor(const Model& model, Backend& backend, KvCache& cache,
                   const ExecutorLimits& limits)
    : model_(model), backend_(backend), cache_(cache), limits_(limits) {
  const StepLimits step = step_limits(model.spec, limits.rows, limits.out_rows);
  backend.plan(step);
  scratch_ = make_scratch(backend, model.spec, step);
  blocks_max_ = static_cast<std::int32_t>(blocks_of(limits.context));
  const auto rows = to_size(limits.rows);
  const auto sequences = to_size(limits.sequences);
  const auto out_rows = to_size(limits.out_rows);
  tokens_.reserve(rows);
  positions_.reserve(rows);
  out_rows_.reserve(out_rows);
  q_start_.reserve(sequences + 1);
  kv_len_.reserve(sequences);
  embeddings_.reserve(sequences);
  const auto groups = to_size(cache.groups());
  slots_.resize(groups);
  tables_.resize(groups);
  groups_.resize(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    slots_[g].reserve(rows);
    tables_[g].resize(sequences * to_size(blocks_max_), -1);
  }
  if (limits.logits_rows > 0) {
    const std::int64_t vocab = model.spec.vocab;
    logits_memory_ = backend.allocate(limits.logits_rows * vocab * std::int64_t{sizeof(float)});
    logits_ = HostRows(backend, f32_view(reinterpret_cast<float*>(logits_memory_.data()),
                                         limits.logits_rows, vocab));
  }
  if (scratch_.output.rows > 0) outputs_rows_ = HostRows(backend, scratch_.output);
  if (limits.finds_best) best_.resize(out_rows);
  if (limits.score_top < 0) return;
  score_top_ =
      static_cast<std::int32_t>(std::min({std::int64_t{limits.score_top}, model.spec.vocab,
                                          limits.ids > 0 ? limits.ids : model.spec.vocab}));
  score_ids_.resize(out_rows);
  score_logprobs_.resize(out_rows);
  score_tops_.resize(out_rows * to_size(score_top_));
}

std::int64_t Executor::result_bytes(const Spec& spec, const ExecutorLimits& limits) {
  const std::int64_t logits = limits.logits_rows * spec.vocab * std::int64_t{sizeof(float)};
  if (limits.score_top < 0) return logits;
  const std::int64_t top = limits.score_top * std::int64_t{sizeof(TokenScore)};
  return logits + limits.out_rows * (std::int64_t{2 * sizeof(float)} + top);
}

std::int64_t Executor::table_bytes(const Spec& spec, std::int32_t sequences) {
  const std::set<std::int32_t> groups(spec.window.begin(), spec.window.end());
  return std::ssize(groups) * sequences * std::int64_t{sizeof(std::int32_t)};
}

void Executor::add_parts(std::span<const StepPart> parts) {
  INGOT_CHECK(std::ssize(parts) <= limits_.sequences, parts.size(), " sequences, planned for ",
              limits_.sequences);
  for (auto* list : {&tokens_, &positions_, &q_start_, &kv_len_, &out_rows_}) list->clear();
  for (auto& slots : slots_) slots.clear();
  q_start_.push_back(0);
  embeddings_.clear();
  has_embeddings_ = false;
  std::int32_t index = 0;
  for (const StepPart& part : parts) add_part(part, index++);
}

void Executor::add_part(const StepPart& part, std::int32_t index) {
  Sequence& s = *part.sequence;
  const std::int64_t first = part.first;
  const std::int64_t last = first + part.rows;
  const bool given = first < s.given_rows();
  INGOT_CHECK(part.rows > 0 && last <= s.length() && last <= limits_.context, "rows ", first,
              " to ", last, " of ", s.length(), ", context ", limits_.context);
  INGOT_CHECK(part.outputs <= part.rows, part.outputs, " outputs of ", part.rows, " rows");
  INGOT_CHECK(!given || (last <= s.given_rows() && s.embeddings.cols == model_.spec.hidden),
              "embeddings [", s.given_rows(), ", ", s.embeddings.cols, "] in rows ", first, " to ",
              last);
  const auto start = static_cast<std::int32_t>(positions_.size());
  for (std::int64_t i = first; i < last; ++i) {
    positions_.push_back(static_cast<std::int32_t>(i));
    tokens_.push_back(given ? 0 : s.token(i));
    for (std::size_t g = 0; g < slots_.size(); ++g) {
      slots_[g].push_back(s.blocks.slot(static_cast<std::int32_t>(g), i));
    }
  }
  has_embeddings_ = has_embeddings_ || given;
  embeddings_.push_back(given ? s.embeddings.slice(first, part.rows) : View{});
  for (std::int32_t i = part.rows - part.outputs; i < part.rows; ++i) {
    out_rows_.push_back(start + i);
  }
  q_start_.push_back(start + part.rows);
  kv_len_.push_back(static_cast<std::int32_t>(last));
  for (std::size_t g = 0; g < tables_.size(); ++g) {
    const auto table = s.blocks.table(static_cast<std::int32_t>(g));
    std::copy(table.begin(), table.end(), tables_[g].begin() + std::int64_t{index} * blocks_max_);
  }
}

void Executor::add_scores(std::span<const StepPart> parts) {
  std::fill(score_ids_.begin(), score_ids_.end(), 0);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const StepPart& part = parts[p];
    for (std::int64_t i = part.first_score; i < part.first_score + part.scores; ++i) {
      const std::int64_t row = q_start_[p] + i - part.first;
      INGOT_CHECK(row >= q_start_[p] && row < q_start_[p + 1], "row ", i, " is not in the step");
      score_ids_[out_rows_.size()] = part.sequence->token(i + 1);
      out_rows_.push_back(static_cast<std::int32_t>(row));
    }
  }
}

void Executor::add_hidden(std::span<const StepPart> parts, bool final_norm) {
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const StepPart& part = parts[p];
    if (part.final_norm != final_norm) continue;
    for (std::int64_t i = part.first_hidden; i < part.first_hidden + part.hidden; ++i) {
      const std::int64_t row = q_start_[p] + i - part.first;
      INGOT_CHECK(row >= q_start_[p] && row < q_start_[p + 1], "row ", i, " is not in the step");
      out_rows_.push_back(static_cast<std::int32_t>(row));
    }
  }
}

void Executor::forward_batch(const Outputs& outputs) {
  INGOT_CHECK(std::ssize(positions_) <= limits_.rows && std::ssize(out_rows_) <= limits_.out_rows,
              positions_.size(), " rows and ", out_rows_.size(), " outputs, planned for ",
              limits_.rows, " and ", limits_.out_rows);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    groups_[g] = {.slots = slots_[g], .tables = tables_[g], .blocks_max = blocks_max_};
  }
  const Batch batch{
      .tokens = tokens_,
      .embeddings = has_embeddings_ ? std::span<const View>(embeddings_) : std::span<const View>(),
      .positions = positions_,
      .q_start = q_start_,
      .kv_len = kv_len_,
      .groups = groups_,
      .out_rows = out_rows_,
      .pool_seqs = {},
      .adapter = {}};
  forward(model_, backend_, batch, cache_, scratch_, outputs);
}

void Executor::run(const Step& step) {
  cache_.copy(step.copies);
  run(step.parts);
}

void Executor::run(std::span<const StepPart> parts) {
  add_parts(parts);
  const bool scores =
      std::any_of(parts.begin(), parts.end(), [](const StepPart& p) { return p.scores > 0; });
  outputs_ = std::ssize(out_rows_);
  INGOT_CHECK(outputs_ <= limits_.logits_rows && (!scores || limits_.score_top >= 0), outputs_,
              " rows of logits, planned for ", limits_.logits_rows, "; best of scored rows ",
              limits_.score_top);
  Outputs outputs;
  if (outputs_ > 0) {
    outputs.logits.full = logits_.device(outputs_);
    outputs.logits.argmax = best_;
  }
  if (scores) {
    add_scores(parts);
    outputs.logits.ids_per_row = 1;
    outputs.logits.ids = score_ids_;
    outputs.logits.id_logprobs = score_logprobs_;
    outputs.logits.top_k = score_top_;
    outputs.logits.ranked = limits_.ids;
    outputs.logits.top = score_tops_;
  }
  reduced_ = std::ssize(out_rows_);
  add_hidden(parts, true);
  const std::int64_t normed = std::ssize(out_rows_);
  add_hidden(parts, false);
  outputs.hidden_rows = std::ssize(out_rows_) - reduced_;
  outputs.raw_rows = std::ssize(out_rows_) - normed;
  forward_batch(outputs);
  logits_.fetch(backend_, 0, outputs_);
  outputs_rows_.fetch(backend_, reduced_, outputs.hidden_rows);
}

std::span<float> Executor::logits(std::int64_t i) {
  INGOT_CHECK(i >= 0 && i < outputs_, "row ", i, " of ", outputs_);
  return logits_.row(i);
}

std::int32_t Executor::best(std::int64_t i) const {
  INGOT_CHECK(i >= 0 && i < outputs_ && limits_.finds_best, "best token of row ", i, " of ",
              outputs_);
  return at(best_, i);
}

RowScore Executor::score(std::int64_t i) const {
  const auto row = to_size(outputs_ + i);
  INGOT_CHECK(i >= 0 && outputs_ + i < reduced_, "scored row ", i, " of ", reduced_ - outputs_);
  const auto top = to_size(score_top_);
  return {.id = score_ids_[row],
          .logprob = score_logprobs_[row],
          .top = std::span(score_tops_).subspan(row * top, top)};
}

std::span<const float> Executor::hidden(std::int64_t i) const {
  const std::int64_t row = reduced_ + i;
  INGOT_CHECK(i >= 0 && row < std::ssize(out_rows_), "hidden row ", i, " of ",
              std::ssize(out_rows_) - reduced_);
  return outputs_rows_.row(row);
}

bool run_next(Executor& executor, std::span<StepPart> parts) {
  for (StepPart& part : parts) {
    part.first = part.sequence->computed;
    part.first_hidden = part.first + part.rows - part.hidden;
    if (!part.sequence->blocks.reserve(part.first + part.rows)) return false;
  }
  executor.run(parts);
  for (const StepPart& part : parts) {
    Sequence& s = *part.sequence;
    s.computed += part.rows;
    s.blocks.set_filled(s.computed);
  }
  return true;
}

}  // namespace ingot
