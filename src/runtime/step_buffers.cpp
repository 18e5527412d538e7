// StepBuffers: makes a Batch from a step's parts, and finds each row's results.
#include "runtime/step_buffers.h"

#include <algorithm>

#include "base/index.h"

namespace ingot {

namespace {

std::int64_t blocks_of(std::int64_t tokens) { return (tokens + kBlockTokens - 1) / kBlockTokens; }

/// The token of row `i` of a part, as in Batch::tokens.
std::int32_t token_at(const StepPart& part, std::int64_t i) {
  const Sequence& s = *part.sequence;
  if (i < s.length()) return s.token(i);
  return part.drafts > 0 ? at(s.drafts, i - s.length()) : ~part.previous;
}

}  // namespace

StepBuffers::StepBuffers(const Model& model, const Backend& backend, const KvCache& cache,
                         const ExecutorLimits& limits, const DeviceRows& device)
    : model_(model),
      limits_(limits),
      blocks_max_(static_cast<std::int32_t>(blocks_of(limits.context))),
      zero_row_(to_size(model.spec.hidden)),
      draws_(model.spec.vocab, backend.draws() ? limits.logits_rows : 0) {
  const auto rows = to_size(limits.rows);
  const auto sequences = to_size(limits.sequences);
  const auto out_rows = to_size(limits.out_rows);
  tokens_.reserve(rows);
  types_.reserve(rows);
  positions_.reserve(rows);
  out_rows_.reserve(out_rows);
  q_start_.reserve(sequences + 1);
  kv_len_.reserve(sequences);
  pool_seqs_.reserve(sequences);
  adapter_.reserve(sequences);
  adapter_from_.reserve(sequences);
  embeddings_.reserve(sequences);
  const auto groups = to_size(cache.groups());
  slots_.resize(groups);
  tables_.resize(groups);
  if (limits.adapters) {
    lists_.reserve(sequences);
    adapters_.reserve(sequences);
    uses_.resize(sequences);
    for (auto& uses : uses_) uses.reserve(kAdaptersMax);
  }
  groups_.resize(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    slots_[g].reserve(rows);
    tables_[g].resize(sequences * to_size(blocks_max_), -1);
  }
  fetches_.reserve(to_size(limits.logits_rows) + 2);
  if (device.logits) logits_ = HostRows(backend, device.logits);
  if (device.outputs.rows > 0) hidden_ = HostRows(backend, device.outputs);
  if (device.pooled) pooled_ = HostRows(backend, device.pooled);
  if (backend.draws()) drawn_.resize(to_size(limits.logits_rows));
  if (limits.finds_best) best_.resize(out_rows);
  if (limits.score_top < 0) return;
  score_top_ =
      static_cast<std::int32_t>(std::min({std::int64_t{limits.score_top}, model.spec.vocab,
                                          limits.ids > 0 ? limits.ids : model.spec.vocab}));
  score_ids_.resize(out_rows);
  score_logprobs_.resize(out_rows);
  score_tops_.resize(out_rows * to_size(score_top_));
}

void StepBuffers::fill(std::span<const StepPart> parts, std::span<const SampleRow> draws,
                       std::int64_t drawn_before) {
  INGOT_CHECK(std::ssize(parts) <= limits_.sequences, parts.size(), " sequences, planned for ",
              limits_.sequences);
  for (auto* list : {&tokens_, &types_, &positions_, &q_start_, &kv_len_, &out_rows_, &pool_seqs_,
                     &adapter_, &adapter_from_}) {
    list->clear();
  }
  forget_adapters();
  for (auto& slots : slots_) slots.clear();
  q_start_.push_back(0);
  embeddings_.clear();
  has_embeddings_ = has_types_ = false;
  std::int32_t index = 0;
  for (const StepPart& part : parts) {
    INGOT_CHECK(part.previous < drawn_before, "token of row ", part.previous, " of ", drawn_before,
                " that the step before draws");
    add_part(part, index++);
  }
  logits_rows_ = std::ssize(out_rows_);
  add_draws(draws);
  if (std::any_of(parts.begin(), parts.end(), [](const StepPart& p) { return p.scores > 0; })) {
    add_scores(parts);
  }
  reduced_ = std::ssize(out_rows_);
  add_hidden(parts, true);
  normed_ = std::ssize(out_rows_);
  add_hidden(parts, false);
  INGOT_CHECK(std::ssize(positions_) <= limits_.rows && std::ssize(out_rows_) <= limits_.out_rows &&
                  logits_rows_ <= limits_.logits_rows,
              positions_.size(), " rows, ", out_rows_.size(), " outputs and ", logits_rows_,
              " rows of logits, planned for ", limits_.rows, ", ", limits_.out_rows, " and ",
              limits_.logits_rows);
  fetches_.clear();
  add_logits_fetches();
  hidden_.add_fetch(reduced_, std::ssize(out_rows_) - reduced_, fetches_);
  pooled_.add_fetch(0, std::ssize(pool_seqs_), fetches_);
}

void StepBuffers::add_part(const StepPart& part, std::int32_t index) {
  Sequence& s = *part.sequence;
  const std::int64_t first = part.first;
  const std::int64_t last = first + part.rows;
  const GivenRows* const given = s.given_at(first);
  const std::int64_t known = s.length() + (part.previous >= 0 ? 1 : part.drafts);
  INGOT_CHECK(part.rows > 0 && last <= known && last <= limits_.context, "rows ", first, " to ",
              last, " of ", known, ", context ", limits_.context);
  INGOT_CHECK(part.outputs <= part.rows, part.outputs, " outputs of ", part.rows, " rows");
  INGOT_CHECK(last <= s.run_end(first), "rows ", first, " to ", last,
              " are both tokens and embeddings");
  INGOT_CHECK(given == nullptr || given->rows.cols == model_.spec.hidden, "embeddings of ",
              given == nullptr ? 0 : given->rows.cols, " values");
  const auto start = static_cast<std::int32_t>(positions_.size());
  for (std::int64_t i = first; i < last; ++i) {
    positions_.push_back(static_cast<std::int32_t>(i));
    tokens_.push_back(given != nullptr ? 0 : token_at(part, i));
    types_.push_back(s.type(i));
    for (std::size_t g = 0; g < slots_.size(); ++g) {
      slots_[g].push_back(s.blocks.slot(static_cast<std::int32_t>(g), i));
    }
  }
  has_embeddings_ = has_embeddings_ || given != nullptr;
  has_types_ = has_types_ || !s.types.empty();
  INGOT_CHECK(!part.pooled || limits_.pools, "a pooled result, which is not planned");
  if (part.pooled) pool_seqs_.push_back(index);
  embeddings_.push_back(given != nullptr ? given->rows.slice(first - given->first, part.rows)
                                         : View{});
  for (std::int32_t i = part.rows - part.outputs; i < part.rows; ++i) {
    out_rows_.push_back(start + i);
  }
  adapter_.push_back(add_adapters(s.adapters));
  adapter_from_.push_back(static_cast<std::int32_t>(s.prefix.adapter_from));
  q_start_.push_back(start + part.rows);
  kv_len_.push_back(static_cast<std::int32_t>(last));
  for (std::size_t g = 0; g < tables_.size(); ++g) {
    const auto table = s.blocks.table(static_cast<std::int32_t>(g));
    std::copy(table.begin(), table.end(), tables_[g].begin() + std::int64_t{index} * blocks_max_);
  }
}

/// Returns the list's index in the step; -1 without adapters. Equal lists have one index.
std::int32_t StepBuffers::add_adapters(const std::shared_ptr<const AdapterList>& adapters) {
  if (adapters == nullptr) return -1;
  INGOT_CHECK(limits_.adapters, "a sequence with adapters, which are not planned");
  const auto known = std::find_if(lists_.begin(), lists_.end(), [&](const auto& list) {
    return list->number == adapters->number;
  });
  if (known != lists_.end()) return static_cast<std::int32_t>(known - lists_.begin());
  std::vector<AdapterUse>& uses = uses_[lists_.size()];
  uses = adapters->uses;
  adapters_.emplace_back(uses);
  lists_.push_back(adapters);
  return static_cast<std::int32_t>(lists_.size()) - 1;
}

void StepBuffers::forget_adapters() {
  lists_.clear();
  adapters_.clear();
}

void StepBuffers::add_draws(std::span<const SampleRow> draws) {
  draws_.clear();
  INGOT_CHECK(draws.empty() || std::ssize(draws) == logits_rows_, draws.size(), " draws from ",
              logits_rows_, " rows");
  for (const SampleRow& draw : draws) draws_.add(draw);
}

void StepBuffers::add_scores(std::span<const StepPart> parts) {
  INGOT_CHECK(limits_.score_top >= 0, "scored rows, which are not planned");
  std::fill(score_ids_.begin(), score_ids_.end(), 0);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const StepPart& part = parts[p];
    for (std::int64_t i = part.first_score; i < part.first_score + part.scores; ++i) {
      score_ids_[out_rows_.size()] = part.sequence->token(i + 1);
      add_out_row(p, part, i);
    }
  }
}

void StepBuffers::add_hidden(std::span<const StepPart> parts, bool final_norm) {
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const StepPart& part = parts[p];
    if (part.final_norm != final_norm) continue;
    for (std::int64_t i = part.first_hidden; i < part.first_hidden + part.hidden; ++i) {
      add_out_row(p, part, i);
    }
  }
}

/// Adds row `i` of the sequence of part number `p` to the output rows.
void StepBuffers::add_out_row(std::size_t p, const StepPart& part, std::int64_t i) {
  const std::int64_t row = q_start_[p] + i - part.first;
  INGOT_CHECK(row >= q_start_[p] && row < q_start_[p + 1], "row ", i, " is not in the step");
  out_rows_.push_back(static_cast<std::int32_t>(row));
}

/// Lists the rows of logits that the host needs, because it draws from them or reports them.
void StepBuffers::add_logits_fetches() {
  std::int64_t first = 0;
  for (std::int64_t i = 0; i <= logits_rows_; ++i) {
    if (i < logits_rows_ && !draws_.is_complete(i)) continue;
    if (i > first) logits_.add_fetch(first, i - first, fetches_);
    first = i + 1;
  }
}

void StepBuffers::forget_removed(std::span<const StepPart> parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    View& rows = embeddings_[i];
    if (parts[i].sequence != nullptr || !rows) continue;
    rows.data = reinterpret_cast<std::byte*>(zero_row_.data());
    rows.row_bytes = 0;
  }
}

void StepBuffers::resolve(std::span<const std::int32_t> drawn) {
  for (std::int32_t& token : tokens_) {
    if (token < 0) token = std::max(0, at(drawn, ~token));
  }
}

Batch StepBuffers::batch() {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    groups_[g] = {.slots = slots_[g], .tables = tables_[g], .blocks_max = blocks_max_};
  }
  return {
      .tokens = tokens_,
      .embeddings = has_embeddings_ ? std::span<const View>(embeddings_) : std::span<const View>(),
      .types = has_types_ ? std::span<const std::int32_t>(types_) : std::span<const std::int32_t>(),
      .positions = positions_,
      .q_start = q_start_,
      .kv_len = kv_len_,
      .groups = groups_,
      .out_rows = out_rows_,
      .pool_seqs = pool_seqs_,
      .adapter = lists_.empty() ? std::span<const std::int32_t>() : adapter_,
      .adapter_from = lists_.empty() ? std::span<const std::int32_t>() : adapter_from_,
      .adapters = adapters_};
}

Outputs StepBuffers::outputs() {
  Outputs outputs{.logits = {},
                  .hidden_rows = std::ssize(out_rows_) - reduced_,
                  .raw_rows = std::ssize(out_rows_) - normed_,
                  .pooled = std::ssize(pool_seqs_),
                  .fetch = fetches_};
  LogitsReduce& reduce = outputs.logits;
  reduce.ranked = limits_.ids;
  if (logits_rows_ > 0) {
    reduce.full = logits_.device(logits_rows_);
    reduce.argmax = best_;
  }
  if (!draws_.rows().empty()) {
    reduce.draw = draws_.rows();
    reduce.biases = draws_.biases();
    reduce.masks = draws_.masks();
    reduce.drawn = std::span(drawn_).first(to_size(logits_rows_));
  }
  if (reduced_ > logits_rows_) {
    reduce.ids_per_row = 1;
    reduce.ids = score_ids_;
    reduce.id_logprobs = score_logprobs_;
    reduce.top_k = score_top_;
    reduce.top = score_tops_;
  }
  return outputs;
}

std::optional<std::int32_t> StepBuffers::drawn(std::int64_t i) const {
  if (!draws_.has(i)) return {};
  return at(drawn_, i);
}

std::span<const std::int32_t> StepBuffers::drawn() const {
  return std::span(drawn_).first(to_size(draws()));
}

std::span<float> StepBuffers::logits(std::int64_t i) const {
  INGOT_CHECK(i >= 0 && i < logits_rows_, "row ", i, " of ", logits_rows_);
  if (draws_.is_complete(i)) return {};
  return logits_.row(i);
}

std::int32_t StepBuffers::best(std::int64_t i) const {
  INGOT_CHECK(i >= 0 && i < logits_rows_ && limits_.finds_best, "best token of row ", i, " of ",
              logits_rows_);
  return at(best_, i);
}

RowScore StepBuffers::score(std::int64_t i) const {
  const auto row = to_size(logits_rows_ + i);
  INGOT_CHECK(i >= 0 && logits_rows_ + i < reduced_, "scored row ", i, " of ",
              reduced_ - logits_rows_);
  const auto top = to_size(score_top_);
  return {.id = score_ids_[row],
          .logprob = score_logprobs_[row],
          .top = std::span(score_tops_).subspan(row * top, top)};
}

std::span<const float> StepBuffers::hidden(std::int64_t i) const {
  const std::int64_t row = reduced_ + i;
  INGOT_CHECK(i >= 0 && row < std::ssize(out_rows_), "hidden row ", i, " of ",
              std::ssize(out_rows_) - reduced_);
  return hidden_.row(row);
}

std::span<const float> StepBuffers::pooled(std::int64_t i) const {
  INGOT_CHECK(i >= 0 && i < std::ssize(pool_seqs_), "pooled result ", i, " of ", pool_seqs_.size());
  return pooled_.row(i);
}

}  // namespace ingot
