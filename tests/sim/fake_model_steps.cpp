// FakeModel: takes steps from an engine and returns results.
#include <algorithm>
#include <bit>
#include <new>

#include "base/error.h"
#include "base/index.h"
#include "sim/fake_model.h"
#include "sim/violation.h"

namespace ingot::sim {

/// Runs a step. One that fails does half of its work first.
void FakeModel::run(const Step& step, std::span<const SampleRow> draws) {
  is_readable_ = false;
  if (broken_) throw Error(ErrorCode::kInternal, "the device is lost");
  check_step(step);
  check_draws(step, draws);
  Batch& b = batch(step.number);
  take(b, step, draws);
  if (!failed_once_ && random_.chance(settings_.transient)) {
    failed_once_ = true;
    ++transients_;
    compute_until(step.number - 1);
    const std::int64_t valid = b.parts.front().job->rows_valid;
    cache_.copy(b.copies);
    compute_part(b, b.parts.front());
    b.parts.front().job->rows_valid = valid;
    trace_.add("step # fails once", step.number);
    if (random_.below(4) == 0) throw std::bad_alloc();
    throw Error(ErrorCode::kInternal, "a step failed");
  }
  failed_once_ = false;
  b.under_way = true;
  if (!settings_.lazy) compute_until(step.number);
}

void FakeModel::check_step(const Step& step) {
  std::int64_t rows = 0, drafts = 0;
  in_step_.clear();
  ++steps_;
  for (const StepPart& part : step.parts) {
    SIM_EXPECT("I12", part.sequence != nullptr, "step ", step.number,
               " has a part without a sequence");
    check_part(part);
    rows += part.rows;
    drafts += part.drafts;
  }
  SIM_EXPECT("I9", drafts <= limits_.draft_rows && step.outputs <= limits_.logits_rows, drafts,
             " drafts and ", step.outputs, " rows of logits");
  SIM_EXPECT("I9", rows == step.rows && rows <= limits_.rows, rows, " rows of ", step.rows,
             ", possible are ", limits_.rows);
  SIM_EXPECT("I9", std::ssize(step.parts) <= limits_.sequences, step.parts.size(), " sequences");
  const auto others =
      std::count_if(batches_.begin(), batches_.end(), [](const Batch& b) { return b.under_way; });
  SIM_EXPECT("I9", others < settings_.steps_ahead, others, " steps are under way");
  rows_run_ += rows;
  copies_ += std::ssize(step.copies);
  trace_.add("step #: # rows, # parts, # copies", step.number, rows, std::ssize(step.parts),
             std::ssize(step.copies));
}

void FakeModel::check_part(const StepPart& part) {
  const Sequence& s = *part.sequence;
  SIM_EXPECT("I9", std::find(in_step_.begin(), in_step_.end(), s.id) == in_step_.end(), "request ",
             s.id, " is there twice");
  in_step_.push_back(s.id);
  SIM_EXPECT("I9", part.rows > 0 && s.admitted && !s.paused, "request ", s.id, ": ", part.rows,
             " rows");
  SIM_EXPECT("I7", part.first + part.rows <= s.computed + s.in_flight, "request ", s.id,
             " computes rows up to ", part.first + part.rows);
  Job* const job = find(s.id);
  SIM_EXPECT("I13", job != nullptr && job->prefix == s.prefix, "request ", s.id, " is not its own");
  SIM_EXPECT("I25", number_of(s.adapters) == s.prefix.adapter, "request ", s.id, " has adapters ",
             number_of(s.adapters), ", its blocks belong to ", s.prefix.adapter);
  SIM_EXPECT("I13", !s.draws_ahead || (draws() && !job->needs_host), "request ", s.id,
             " draws ahead");
  const std::int64_t tokens = s.length() - job->prompt_rows;
  SIM_EXPECT("I22", !s.draws_ahead || (job->rule == nullptr && !job->may_close(tokens)), "request ",
             s.id, " draws ahead, although its next tokens depend on the last one");
  SIM_EXPECT("I13", part.previous < 0 || s.draws_ahead, "request ", s.id,
             " goes on with a token that the host draws");
  SIM_EXPECT("I9", part.first + part.rows <= s.run_end(part.first), "request ", s.id,
             " computes both embeddings and tokens in a part");
  check_pooled(part);
  check_drafts(part);
  if (job->admission != part.admission) {
    job->admission = part.admission;
    job->hit = part.first > 0;
  }
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    claim(s, g, std::max(part.first, s.blocks.filled()), part.first + part.rows);
  }
  trace_.add("  request #: rows from #, #; goes on with #", static_cast<std::int64_t>(s.id),
             part.first, part.rows, part.previous);
  if (part.drafts == 0) return;
  drafts_ += part.drafts;
  trace_.add("  request #: # of the rows are drafts", static_cast<std::int64_t>(s.id), part.drafts);
}

/// Checks that drafts follow the sequence's last token, that each of their rows draws a token, and
/// that the sequence and its reader have room for all of these tokens.
void FakeModel::check_drafts(const StepPart& part) const {
  const Sequence& s = *part.sequence;
  SIM_EXPECT("I26", s.verifying == part.drafts, "request ", s.id, " has a part of ", part.drafts,
             " drafts, while ", s.verifying, " are verified");
  if (part.drafts == 0) {
    SIM_EXPECT("I26", part.outputs <= 1, "request ", s.id, " draws ", part.outputs, " tokens");
    return;
  }
  SIM_EXPECT("I26",
             part.drafts > 0 && part.drafts <= std::ssize(s.drafts) && part.decode &&
                 part.previous < 0 && s.pending == 1,
             "request ", s.id, " verifies ", part.drafts, " of ", s.drafts.size(), " drafts");
  SIM_EXPECT(
      "I26",
      part.rows == part.drafts + 1 && part.outputs == part.rows && part.first + 1 == s.length(),
      "request ", s.id, " draws ", part.outputs, " tokens from ", part.rows, " rows");
  const auto is_token = [](std::int32_t id) { return id >= 0 && id < kVocab; };
  SIM_EXPECT("I26", std::all_of(s.drafts.begin(), s.drafts.end(), is_token), "request ", s.id,
             " has drafts that are no tokens");
  SIM_EXPECT("I26", s.length() + part.drafts <= s.rows_max && part.drafts < s.room, "request ",
             s.id, " has no room for ", part.drafts, " drafts");
}

/// Checks that the last row gives a pooled result if one is still wanted, and that a step has all
/// rows of a whole sequence or none.
void FakeModel::check_pooled(const StepPart& part) const {
  const Sequence& s = *part.sequence;
  const bool is_last = part.first + part.rows == s.length();
  SIM_EXPECT("I23", part.pooled == (s.pools && is_last), "request ", s.id,
             " gives a pooled result with row ", part.first + part.rows - 1);
  SIM_EXPECT("I23", !s.whole || (part.first == 0 && is_last), "request ", s.id, " computes ",
             part.rows, " of ", s.length(), " rows in a step, from row ", part.first);
}

void FakeModel::check_draws(const Step& step, std::span<const SampleRow> draws) const {
  const std::int32_t wanted = this->draws() ? step.outputs : 0;
  SIM_EXPECT("I13", std::ssize(draws) == wanted, draws.size(), " draws for ", wanted, " rows");
  auto row = draws.begin();
  for (const StepPart& part : step.parts) {
    for (std::int32_t i = 0; i < part.outputs && row != draws.end(); ++i) {
      check_draw(part, i, *row++);
    }
  }
}

/// Checks that the part's row `i` of logits is drawn as its request says, with the index of its
/// token, or is left to the host. The host also draws behind drafts of a text whose next token
/// depends on the last one.
void FakeModel::check_draw(const StepPart& part, std::int32_t i, const SampleRow& draw) const {
  const Sequence& s = *part.sequence;
  const Job& job = *find(s.id);
  const std::int64_t tokens = s.length() - job.prompt_rows;
  const bool depends = i > 0 && (job.rule != nullptr || job.may_close(tokens));
  SIM_EXPECT("I13", (draw.params != nullptr) == (!job.needs_host && !depends), "request ", s.id,
             " is drawn by both or by none");
  if (draw.params == nullptr) return;
  const std::int64_t index = job.drawn + pending(job) + i;
  SIM_EXPECT("I13", static_cast<std::int64_t>(draw.index) == index, "request ", s.id,
             " draws token ", draw.index, " ahead, expected ", index);
  // Only an engine's sequences have parameters of their own.
  const bool is_own = draw.params->choice == job.choice && draw.params->seed == job.seed;
  SIM_EXPECT("I13", s.request == nullptr || is_own, "request ", s.id, " is choice ",
             draw.params->choice, " with seed ", draw.params->seed);
  if (s.request != nullptr) check_rule(job, draw, index);
}

/// Checks what may be drawn after `tokens` tokens.
void FakeModel::check_rule(const Job& job, const SampleRow& row, std::int64_t tokens) const {
  const std::uint32_t next = job.next(tokens);
  const bool has_rule = job.rule != nullptr || job.closing(tokens) >= 0;
  const std::int32_t only = has_rule && std::has_single_bit(next) ? std::countr_zero(next) : -1;
  SIM_EXPECT("I22", row.forced == only, "request ", job.id, " must draw ", row.forced, " as token ",
             tokens, ", expected ", only);
  if (job.rule == nullptr) {
    SIM_EXPECT("I22", row.mask.empty(), "request ", job.id, " has another's constraint");
    return;
  }
  SIM_EXPECT("I22", row.mask.size() == 1 && row.mask[0] == next, "request ", job.id,
             " may draw other tokens as number ", tokens, " than its constraint allows");
}

/// The number of tokens that steps under way draw for a job.
std::int64_t FakeModel::pending(const Job& job) const {
  std::int64_t tokens = 0;
  for (const Batch& b : batches_) {
    if (!b.under_way) continue;
    for (const Part& part : b.parts) {
      tokens += part.job == &job && part.plan.outputs > 0 ? 1 : 0;
    }
  }
  return tokens;
}

/// Claims the blocks of keys [first, last) for writing: no other sequence may hold or write them,
/// and they must not be cached.
void FakeModel::claim(const Sequence& s, std::int32_t g, std::int64_t first, std::int64_t last) {
  const auto table = s.blocks.table(g);
  for (std::int64_t i = first / kBlockTokens; i * kBlockTokens < last; ++i) {
    if (first >= last) return;
    SIM_EXPECT("I7", i < std::ssize(table) && table[static_cast<std::size_t>(i)] >= 0, "request ",
               s.id, " has no block ", i, " of group ", g);
    const std::int32_t block = table[static_cast<std::size_t>(i)];
    std::int64_t& writer = written_[static_cast<std::size_t>(g)][static_cast<std::size_t>(block)];
    SIM_EXPECT("I4", cache_.pool(g).is_writable(block) && writer != steps_, "request ", s.id,
               " writes block ", block, " of group ", g, " with ", cache_.pool(g).references(block),
               " references");
    writer = steps_;
  }
}

void FakeModel::take(Batch& b, const Step& step, std::span<const SampleRow> draws) {
  SIM_EXPECT("I9", !b.under_way, "step ", b.number, " was never waited for");
  b.number = newest_ = step.number;
  b.row_count = step.rows;
  b.done = false;
  b.copies.assign(step.copies.begin(), step.copies.end());
  b.parts.clear();
  for (auto* numbers : {&b.symbols, &b.slots, &b.blocks}) numbers->clear();
  b.tables.clear();
  b.is_given.clear();
  for (const SampleRow& draw : draws) b.is_given.push_back(draw.params != nullptr ? 1 : 0);
  for (const StepPart& part : step.parts) take_part(b, part);
}

/// Marks the parts of a job in steps under way: the next step may write into its blocks, which the
/// device then finds changed if it must begin the steps again.
void FakeModel::make_void(const Job& job) {
  for (Batch& b : batches_) {
    for (Part& part : b.parts) part.is_void = part.is_void || (b.under_way && part.job == &job);
  }
}

void FakeModel::take_part(Batch& b, const StepPart& plan) {
  const Sequence& s = *plan.sequence;
  if (const Job* const before = find(s.id)->before; before != nullptr) make_void(*before);
  b.parts.push_back({.job = find(s.id),
                     .plan = plan,
                     .final_norm = s.final_norm,
                     .rows = b.symbols.size(),
                     .slots = b.slots.size(),
                     .tables = b.tables.size()});
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    const auto table = s.blocks.table(g);
    b.tables.push_back({.first = b.blocks.size(), .blocks = table.size()});
    b.blocks.insert(b.blocks.end(), table.begin(), table.end());
    poison_unwritten(plan, g);
  }
  for (std::int64_t row = plan.first; row < plan.first + plan.rows; ++row) {
    std::int32_t symbol = -1;
    if (const GivenRows* const given = s.given_at(row); given != nullptr) {
      symbol = std::bit_cast<std::int32_t>(given->rows.row<const float>(row - given->first)[0]);
    } else if (row < s.length()) {
      symbol = s.token(row);
    } else if (plan.drafts > 0) {
      symbol = at(s.drafts, row - s.length());
    }
    b.symbols.push_back(symbol);
    for (std::int32_t g = 0; g < cache_.groups(); ++g) b.slots.push_back(s.blocks.slot(g, row));
  }
}

/// Poisons the slots behind the computed rows, on which no result may depend.
void FakeModel::poison_unwritten(const StepPart& plan, std::int32_t g) {
  const SequenceBlocks& blocks = plan.sequence->blocks;
  const auto table = blocks.table(g);
  for (std::int64_t key = std::max(plan.first, blocks.filled());
       key < std::ssize(table) * kBlockTokens; ++key) {
    const std::int32_t block = table[static_cast<std::size_t>(key / kBlockTokens)];
    if (!cache_.pool(g).is_writable(block)) return;
    *slot(g, block * kBlockTokens + key % kBlockTokens) = kPoison;
  }
}

const FakeModel::Batch& FakeModel::results() const {
  SIM_EXPECT("I21", is_readable_, "results are read of a step that was not waited for");
  return batches_[static_cast<std::size_t>(current_ % kKept)];
}

std::span<float> FakeModel::logits(std::int64_t i) {
  SIM_EXPECT("I13", i < std::ssize(results().logits), "row ", i, " of ", results().logits.size());
  return std::span(batch(current_).logits).subspan(static_cast<std::size_t>(i), 1);
}

std::optional<std::int32_t> FakeModel::drawn(std::int64_t i) const {
  const std::vector<std::uint8_t>& is_given = results().is_given;
  if (i >= std::ssize(is_given) || is_given[static_cast<std::size_t>(i)] == 0) return std::nullopt;
  return token(i);
}

RowScore FakeModel::score(std::int64_t i) const {
  SIM_EXPECT("I13", i < std::ssize(results().scores), "score ", i);
  return results().scores[static_cast<std::size_t>(i)];
}

std::span<const float> FakeModel::hidden(std::int64_t i) const {
  SIM_EXPECT("I13", i < std::ssize(results().hidden), "hidden row ", i);
  return std::span(results().hidden).subspan(static_cast<std::size_t>(i), 1);
}

std::span<const float> FakeModel::pooled(std::int64_t i) const {
  SIM_EXPECT("I13", i < std::ssize(results().pooled), "pooled result ", i);
  return std::span(results().pooled).subspan(static_cast<std::size_t>(i), 1);
}

void FakeModel::sample(std::span<const SampleRow> rows, std::span<Drawn> drawn,
                       FunctionRef<void(std::int64_t row)> before) {
  const Batch& b = results();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    before(static_cast<std::int64_t>(i));
    const auto output = static_cast<std::size_t>(rows[i].logits.data() - b.logits.data());
    Job& job = *b.drawn_for[output];
    SIM_EXPECT("I13", static_cast<std::int64_t>(rows[i].index) == job.drawn, "request ", job.id,
               " draws token ", rows[i].index, ", expected ", job.drawn);
    // Each row's tokens before are drawn, so no row behind a rejected draft is.
    SIM_EXPECT("I26", b.drawn_at[output] == job.prompt_rows + job.drawn - 1, "request ", job.id,
               " draws token ", job.drawn, " from row ", b.drawn_at[output]);
    SIM_EXPECT("I13", rows[i].params->choice == job.choice && rows[i].params->seed == job.seed,
               "request ", job.id, " is choice ", rows[i].params->choice, " with seed ",
               rows[i].params->seed);
    check_rule(job, rows[i], job.drawn);
    SIM_EXPECT("I13", rows[i].given == this->drawn(static_cast<std::int64_t>(output)), "request ",
               job.id, " gets another token than the model drew");
    ++job.drawn;
    job.is_nan = job.is_nan || b.drawn[output] < 0;
    drawn[i].id = b.drawn[output];
    drawn[i].logprob = static_cast<float>(b.drawn[output]);
    drawn[i].top.clear();
  }
}

}  // namespace ingot::sim
