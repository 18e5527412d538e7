// FakeModel: computes steps, and checks every key that it reads.
#include "sim/fake_model.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.h"
#include "base/index.h"
#include "sim/violation.h"

namespace ingot::sim {

FakeModel::FakeModel(KvCache& cache, const ExecutorLimits& limits, const ModelSettings& settings,
                     Random& random, Trace& trace, double& clock)
    : cache_(cache),
      limits_(limits),
      settings_(settings),
      random_(random),
      trace_(trace),
      clock_(clock) {
  for (std::int32_t g = 0; g < cache.groups(); ++g) {
    const auto blocks = static_cast<std::size_t>(cache.pool(g).total());
    was_free_.emplace_back(blocks, std::uint8_t{0});
    written_.emplace_back(blocks, std::int64_t{-1});
  }
}

void FakeModel::know(Job& job) {
  const auto id = static_cast<std::size_t>(job.id);
  if (jobs_.size() <= id) jobs_.resize(id + 64);
  jobs_[id] = &job;
}

/// Steps under way may be written partly, and continue to be written until the drain.
void FakeModel::leave_undone() {
  for (Batch& b : batches_) {
    if (b.under_way) b.done = false;
  }
}

void FakeModel::break_down() {
  broken_ = true;
  leave_undone();
}

/// Checks that no block of a step under way is released: the step would write into its next owner.
void FakeModel::check_in_use(const Batch& b) const {
  for (std::size_t i = 0; i < b.tables.size(); ++i) {
    const auto g = static_cast<std::int32_t>(i % static_cast<std::size_t>(cache_.groups()));
    const auto table = std::span(b.blocks).subspan(b.tables[i].first, b.tables[i].blocks);
    for (const std::int32_t block : table) {
      SIM_EXPECT("I4", block < 0 || cache_.pool(g).references(block) > 0, "block ", block,
                 " of group ", g, " is given back while step ", b.number, " is under way");
    }
  }
}

void FakeModel::poison() {
  for (const Batch& b : batches_) {
    if (b.under_way) check_in_use(b);
  }
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    const BlockPool& pool = cache_.pool(g);
    for (std::int32_t b = 0; b < pool.total(); ++b) {
      const bool is_free = pool.references(b) == 0 && !pool.is_indexed(b);
      std::uint8_t& was = was_free_[static_cast<std::size_t>(g)][static_cast<std::size_t>(b)];
      if (is_free && was == 0) std::fill_n(slot(g, b * kBlockTokens), kBlockTokens, kPoison);
      was = is_free ? 1 : 0;
    }
  }
}

/// Fails a step once, twice (then all running requests are lost, or the engine), or every step from
/// now on.
void FakeModel::fail_late(const Step& step) {
  leave_undone();
  if (failed_late_) {
    failed_late_ = fails_again_ = false;
    losses_ += out_of_memory_ ? 1 : 0;
  } else {
    const int kind = random_.below(16);
    trace_.add("step # fails late, in way #", step.number, kind);
    ++late_failures_;
    failed_late_ = true;
    fails_again_ = kind < 3;
    out_of_memory_ = kind == 1 || kind == 2 || kind == 3;
    broken_ = kind == 15;
  }
  if (out_of_memory_) throw std::bad_alloc();
  throw Error(ErrorCode::kInternal, "a step failed late");
}

/// Checks that the engine's step still has the parts with which it was begun. The part of a removed
/// sequence stays, without the sequence.
void FakeModel::check_unchanged(const Step& step) const {
  const Batch& b = batches_[static_cast<std::size_t>(step.number % kKept)];
  SIM_EXPECT("I21", b.number == step.number && step.parts.size() == b.parts.size(), "step ",
             step.number, " has ", step.parts.size(), " parts and took the place of step ",
             b.number, " with ", b.parts.size());
  for (std::size_t i = 0; i < b.parts.size(); ++i) {
    const StepPart &part = step.parts[i], &begun = b.parts[i].plan;
    const bool is_own = part.sequence == nullptr || part.sequence == begun.sequence;
    SIM_EXPECT("I21",
               is_own && part.first == begun.first && part.rows == begun.rows &&
                   part.outputs == begun.outputs && part.drafts == begun.drafts &&
                   part.previous == begun.previous && part.scores == begun.scores &&
                   part.hidden == begun.hidden && part.pooled == begun.pooled,
               "part ", i, " of step ", step.number, " changed while the step was under way");
    check_drafts_unchanged(b, b.parts[i], part);
  }
}

void FakeModel::check_drafts_unchanged(const Batch& b, const Part& begun,
                                       const StepPart& part) const {
  if (part.sequence == nullptr || part.drafts == 0) return;
  const std::vector<std::int32_t>& drafts = part.sequence->drafts;
  const auto count = static_cast<std::size_t>(part.drafts);
  const auto first = b.symbols.begin() + static_cast<std::ptrdiff_t>(begun.rows) + part.rows -
                     static_cast<std::ptrdiff_t>(count);
  SIM_EXPECT("I26",
             drafts.size() >= count && std::equal(first, first + part.drafts, drafts.begin()),
             "request ", begun.job->id, " has other drafts than step ", b.number, " verifies");
}

void FakeModel::wait(const Step& step) {
  is_readable_ = false;
  for (const Batch& b : batches_) {
    SIM_EXPECT("I21", !b.under_way || b.number >= step.number, "step ", step.number,
               " is waited for before step ", b.number);
  }
  SIM_EXPECT("I21", batch(step.number).under_way, "step ", step.number, " is not under way");
  check_unchanged(step);
  if (broken_) throw Error(ErrorCode::kInternal, "the device is lost");
  if (fails_again_ || (!failed_late_ && random_.chance(settings_.late))) fail_late(step);
  failed_late_ = false;
  compute_until(step.number);
  const double seconds =
      settings_.step_seconds + settings_.row_seconds * batch(step.number).row_count;
  clock_ += seconds * (random_.chance(settings_.slow) ? 100 : 0.9 + 0.2 * random_.unit());
  if (settings_.lazy && random_.below(2) == 0) compute_until(step.number + 1);
  current_ = step.number;
  batch(current_).under_way = false;
  is_readable_ = true;
}

/// Ends the steps under way: a device completes them or abandons them.
void FakeModel::drain() noexcept {
  is_readable_ = false;
  if (random_.below(2) == 0) compute_until(newest_);
  for (Batch& b : batches_) {
    b.under_way = false;
    b.done = true;
  }
}

void FakeModel::run_again(const Step& step) {
  if (broken_) throw Error(ErrorCode::kInternal, "the device is lost");
  Batch& b = batch(step.number);
  SIM_EXPECT("I4", b.number == step.number && !b.under_way, "step ", step.number,
             " begins again while it is under way");
  check_unchanged(step);
  b.under_way = true;
  b.done = false;
  rows_run_ += b.row_count;
  if (!settings_.lazy) compute_until(step.number);
}

void FakeModel::compute_until(std::int64_t number) {
  for (std::int64_t n = std::max<std::int64_t>(0, number - 1); n <= number; ++n) {
    Batch& b = batch(n);
    if (b.number != n || b.done) continue;
    compute(b);
    b.done = true;
  }
}

void FakeModel::compute(Batch& b) {
  b.drawn.clear();
  b.drawn_for.clear();
  b.drawn_at.clear();
  b.logits.clear();
  b.scores.clear();
  b.hidden.clear();
  b.pooled.clear();
  cache_.copy(b.copies);
  for (const Part& part : b.parts) compute_part(b, part);
  leave_hidden(b);
}

/// Gives a part results that nothing may depend on.
void FakeModel::compute_void(Batch& b, const Part& part) {
  const auto groups = static_cast<std::size_t>(cache_.groups());
  for (std::size_t i = 0; i < static_cast<std::size_t>(part.plan.rows); ++i) {
    for (std::size_t g = 0; g < groups; ++g) {
      const std::int32_t to = b.slots[part.slots + i * groups + g];
      if (to >= 0) *slot(static_cast<std::int32_t>(g), to) = kPoison;
    }
  }
  for (std::int32_t i = 0; i < part.plan.scores; ++i) b.scores.push_back({});
  if (part.plan.pooled) b.pooled.push_back(0);
  const std::int64_t last = part.plan.first + part.plan.rows;
  for (std::int64_t row = last - part.plan.outputs; row < last; ++row) {
    leave_token(b, part, row, kEndOfText);
  }
}

void FakeModel::compute_part(Batch& b, const Part& part) {
  if (part.is_void) return compute_void(b, part);
  for (std::int32_t g = 0; g < cache_.groups(); ++g) check_visible(b, part, g);
  const std::int64_t first = part.plan.first, last = first + part.plan.rows;
  std::uint64_t key = 0;
  for (std::int64_t row = first; row < last; ++row) {
    key = compute_row(b, part, row);
    if (row >= last - part.plan.outputs) leave(b, part, row, key);
    const std::int64_t score = row - part.plan.first_score;
    if (score < 0 || score >= part.plan.scores) continue;
    b.scores.push_back({.id = part.job->row(row + 1), .logprob = score_of(key), .top = {}});
  }
  if (part.plan.pooled) b.pooled.push_back(hidden_of(key));
}

/// Checks that all keys that the part's first row sees are this sequence's own.
void FakeModel::check_visible(const Batch& b, const Part& part, std::int32_t g) const {
  const Table& table = b.tables[part.tables + static_cast<std::size_t>(g)];
  const std::int32_t window = cache_.group(g).window;
  const std::int64_t first =
      window == 0 ? 0 : std::max<std::int64_t>(0, part.plan.first - window + 1);
  const std::int64_t last = std::min(part.plan.first, part.job->known());
  for (std::int64_t key = first; key < last;) {
    const std::int64_t index = key / kBlockTokens;
    const std::int64_t end = std::min(last, (index + 1) * kBlockTokens);
    SIM_EXPECT("I7", index < static_cast<std::int64_t>(table.blocks), "request ", part.job->id,
               " has ", table.blocks, " blocks and sees key ", key);
    const std::int32_t block = b.blocks[table.first + static_cast<std::size_t>(index)];
    SIM_EXPECT("I7", block >= 0, "request ", part.job->id, " sees key ", key,
               " that was given back");
    const std::uint64_t* found = slot(g, block * kBlockTokens + key % kBlockTokens);
    const std::uint64_t* wanted = part.job->keys.data() + key;
    for (; key < end; ++key, ++found, ++wanted) {
      SIM_EXPECT("I13", *found == *wanted, "request ", part.job->id, " row ", part.plan.first,
                 " sees another key ", key, " in block ", block, " of group ", g,
                 *found == kPoison ? ": poison" : "");
    }
  }
}

std::int32_t FakeModel::symbol_at(const Batch& b, const Part& part, std::int64_t row) const {
  if (part.plan.previous < 0) {
    return b.symbols[part.rows + static_cast<std::size_t>(row - part.plan.first)];
  }
  const Batch& before = batches_[static_cast<std::size_t>((b.number + kKept - 1) % kKept)];
  const auto output = static_cast<std::size_t>(part.plan.previous);
  SIM_EXPECT("I13", before.number == b.number - 1 && output < before.drawn.size(), "request ",
             part.job->id, " goes on with output ", output, " of step ", before.number);
  SIM_EXPECT("I13", before.drawn_for[output] == part.job && before.drawn_at[output] == row - 1,
             "request ", part.job->id, " goes on with another's token");
  return before.drawn[output];
}

/// Reads the previous key through the block table, and writes the row's own. Only drafts may be
/// other tokens than the job's.
std::uint64_t FakeModel::compute_row(Batch& b, const Part& part, std::int64_t row) {
  const Job& job = *part.job;
  const std::int32_t symbol = symbol_at(b, part, row);
  const bool is_draft = row >= part.plan.first + part.plan.rows - part.plan.drafts;
  SIM_EXPECT("I13", is_draft || row >= job.known() || symbol == job.row(row), "request ", job.id,
             " has ", symbol, " at row ", row);
  const auto index = static_cast<std::size_t>(row - part.plan.first);
  std::uint64_t result = 0, last = 0;
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    const Table& table = b.tables[part.tables + static_cast<std::size_t>(g)];
    const auto at = [&](std::int64_t key) {
      const auto block = static_cast<std::size_t>(key / kBlockTokens);
      return slot(g, b.blocks[table.first + block] * kBlockTokens + key % kBlockTokens);
    };
    const bool sees_last = row > 0 && cache_.group(g).window != 1;
    const std::uint64_t before = row == 0 ? 0 : sees_last ? *at(row - 1) : last;
    const std::uint64_t key = job.next_key(row, symbol, before);
    const std::int32_t to = b.slots[part.slots + index * static_cast<std::size_t>(cache_.groups()) +
                                    static_cast<std::size_t>(g)];
    if (to >= 0) {
      *slot(g, to) = key;
    } else {
      SIM_EXPECT("I5", *at(row) == key, "request ", job.id, " finds another key at row ", row);
    }
    if (g > 0) continue;
    last = before;
    result = key;
  }
  SIM_EXPECT("I13", is_draft || row >= job.known() || result == job.key(row), "request ", job.id,
             " computes another key at row ", row);
  return result;
}

/// Draws a token from a row. A row behind a wrong draft holds NaN without a consequence.
void FakeModel::leave(Batch& b, const Part& part, std::int64_t row, std::uint64_t key) {
  Job& job = *part.job;
  const bool is_own = row >= job.length() || key == job.key(row);
  const bool is_nan = row < job.rows_valid && random_.chance(settings_.not_finite);
  if (is_nan && is_own) job.rows_valid = row + 1;
  leave_token(b, part, row, is_nan ? -1 : job.draw(row, key));
}

void FakeModel::leave_token(Batch& b, const Part& part, std::int64_t row, std::int32_t id) {
  b.drawn.push_back(id);
  b.drawn_for.push_back(part.job);
  b.drawn_at.push_back(row);
  b.logits.push_back(0);
}

/// Returns hidden states; rows after the final norm come first.
void FakeModel::leave_hidden(Batch& b) {
  for (const bool final_norm : {true, false}) {
    for (const Part& part : b.parts) {
      if (part.final_norm != final_norm) continue;
      for (std::int32_t i = 0; i < part.plan.hidden; ++i) {
        b.hidden.push_back(hidden_of(part.job->key(part.plan.first_hidden + i)));
      }
    }
  }
}

}  // namespace ingot::sim
