// Executor: from sequences to a Batch, and through the forward path.
#include "runtime/executor.h"

#include <algorithm>

namespace ingot {

Executor::Executor(const Model& model, Backend& backend, KvCache& cache,
                   const ExecutorLimits& limits)
    : model_(model), backend_(backend), cache_(cache), limits_(limits) {
  const StepLimits step = step_limits(model.spec, limits.rows, limits.out_rows);
  backend.plan(step);
  scratch_ = make_scratch(backend, model.spec, step);
  blocks_max_ = static_cast<std::int32_t>((limits.context + kBlockTokens - 1) / kBlockTokens);
  const auto rows = static_cast<std::size_t>(limits.rows);
  const auto sequences = static_cast<std::size_t>(limits.sequences);
  tokens_.reserve(rows);
  positions_.reserve(rows);
  out_rows_.reserve(static_cast<std::size_t>(limits.out_rows));
  q_start_.reserve(sequences + 1);
  kv_len_.reserve(sequences);
  const auto groups = static_cast<std::size_t>(cache.groups());
  slots_.resize(groups);
  tables_.resize(groups);
  groups_.resize(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    slots_[g].reserve(rows);
    tables_[g].resize(sequences * static_cast<std::size_t>(blocks_max_), -1);
  }
}

void Executor::clear() {
  for (auto* list : {&tokens_, &positions_, &q_start_, &kv_len_, &out_rows_}) list->clear();
  for (auto& slots : slots_) slots.clear();
  q_start_.push_back(0);
  embeddings_ = {};
}

void Executor::add_part(const StepPart& part, std::int32_t index) {
  Sequence& s = *part.sequence;
  const std::int64_t first = s.computed;
  const std::int64_t last = first + part.rows;
  INGOT_CHECK(part.rows > 0 && last <= s.length() && last <= limits_.context, "rows ", first,
              " to ", last, " of ", s.length(), ", context ", limits_.context);
  INGOT_CHECK(part.outputs <= part.rows, part.outputs, " outputs of ", part.rows, " rows");
  const auto start = static_cast<std::int32_t>(positions_.size());
  for (std::int64_t i = first; i < last; ++i) {
    positions_.push_back(static_cast<std::int32_t>(i));
    if (!s.embeddings) tokens_.push_back(s.tokens[static_cast<std::size_t>(i)]);
    for (std::size_t g = 0; g < slots_.size(); ++g) {
      slots_[g].push_back(s.blocks.slot(static_cast<std::int32_t>(g), i));
    }
  }
  if (s.embeddings) {
    INGOT_CHECK(index == 0 && s.embeddings.cols == model_.spec.hidden, "embeddings of ",
                s.embeddings.cols, " columns, as part ", index);
    embeddings_ = s.embeddings.slice(first, part.rows);
  }
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

bool Executor::step(std::span<const StepPart> parts, const Outputs& outputs) {
  INGOT_CHECK(std::ssize(parts) <= limits_.sequences, parts.size(), " sequences, planned for ",
              limits_.sequences);
  for (const StepPart& part : parts) {
    if (!part.sequence->blocks.reserve(part.sequence->computed + part.rows)) return false;
  }
  clear();
  std::int32_t index = 0;
  for (const StepPart& part : parts) add_part(part, index++);
  INGOT_CHECK(std::ssize(positions_) <= limits_.rows && std::ssize(out_rows_) <= limits_.out_rows,
              positions_.size(), " rows and ", out_rows_.size(), " outputs, planned for ",
              limits_.rows, " and ", limits_.out_rows);
  INGOT_CHECK(!embeddings_ || embeddings_.rows == std::ssize(positions_),
              "embeddings and tokens in one step");
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    groups_[g] = {.slots = slots_[g], .tables = tables_[g], .blocks_max = blocks_max_};
  }
  const Batch batch{.tokens = tokens_,
                    .embeddings = embeddings_,
                    .positions = positions_,
                    .q_start = q_start_,
                    .kv_len = kv_len_,
                    .groups = groups_,
                    .out_rows = out_rows_,
                    .pool_seqs = {},
                    .adapter = {}};
  forward(model_, backend_, batch, cache_, scratch_, outputs);
  for (const StepPart& part : parts) part.sequence->computed += part.rows;
  return true;
}

}  // namespace ingot
