// Scheduler: planning a step and taking its results.
#include "runtime/schedule/scheduler.h"

#include <algorithm>

#include "kv/mutant.h"

namespace ingot {

namespace {

/// Of the time of a step without prompts that the prompts in a step may add, for each sequence that
/// waits for its prompt; and for so many of them at most.
constexpr double kPromptShare = 0.45;
constexpr std::int64_t kPromptsMax = 8;
/// Rows of prompts that a step has room for however slow it is.
constexpr std::int32_t kPromptRowsMin = 2;

/// Rows that one part may have: embeddings and tokens do not mix in one.
std::int64_t next_rows(const Sequence& s, std::int64_t first) {
  const std::int64_t given = s.given_rows() - first;
  return given > 0 ? given : s.missing();
}

/// Rows from `first` on that are computed before `last` and wanted before `end`.
std::int32_t rows_wanted(std::int64_t first, std::int64_t last, std::int64_t end) {
  return static_cast<std::int32_t>(std::max<std::int64_t>(0, std::min(last, end) - first));
}

}  // namespace

Scheduler::Scheduler(KvCache& cache, const SchedulerLimits& limits)
    : cache_(cache), limits_(limits), waiting_(limits.waiting) {
  INGOT_CHECK(limits.sequences >= 1 && limits.rows >= limits.sequences, limits.rows,
              " rows a step for ", limits.sequences, " sequences");
  INGOT_CHECK(limits.pipeline_depth == 1 || limits.pipeline_depth == 2, limits.pipeline_depth,
              " steps under way");
  if (limits.prefix_cache) prefixes_.emplace(cache, limits.sequences, limits.prefix);
  const auto sequences = static_cast<std::size_t>(limits.sequences);
  running_.reserve(sequences);
  order_.reserve(sequences);
  dropped_.reserve(sequences);
  withheld_.resize(static_cast<std::size_t>(cache.groups()));
  steps_.resize(static_cast<std::size_t>(limits.pipeline_depth));
  for (Step& step : steps_) step.parts.reserve(sequences);
}

bool Scheduler::fits_alone(std::int64_t tokens) const {
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    if (cache_.group(g).blocks_for(tokens, limits_.rows) > cache_.pool(g).total()) return false;
  }
  return true;
}

void Scheduler::add(Sequence& s) {
  waiting_.add(s);
  s.known = true;
  s.timed = s.terms.has_deadline();
  timed_ += s.timed ? 1 : 0;
  if (s.fork_of != nullptr) s.fork_of->forked = true;
}

void Scheduler::remove(Sequence& s) {
  std::erase(running_, &s);
  waiting_.erase(s);
  if (std::exchange(s.known, false)) waiting_.leave(s);
  timed_ -= std::exchange(s.timed, false) ? 1 : 0;
  for (Step& step : steps_) {
    for (StepPart& part : step.parts) {
      if (part.sequence == &s) part.sequence = nullptr;
    }
  }
  if (s.forked) {
    waiting_.visit([&](Sequence& other) {
      if (other.fork_of == &s) other.fork_of = nullptr;
      return true;
    });
  }
  if (INGOT_MUTANT(1) && s.admitted) new SequenceBlocks(std::move(s.blocks));
  if (INGOT_MUTANT(2) && s.blocks.held(0) > 0) cache_.release(0, s.blocks.table(0).back());
  give_back(s);
}

/// Nothing of the sequence is computed afterwards.
void Scheduler::give_back(Sequence& s) {
  if (std::exchange(s.guaranteed, false)) --guaranteed_;
  s.admitted = false;
  s.computed = s.in_flight = 0;
  if (prefixes_) prefixes_->leave(s.place);
  s.place = {};
  s.blocks.truncate(0);
}

const Step& Scheduler::plan() {
  INGOT_CHECK(under_way_ < limits_.pipeline_depth, under_way_, " steps are under way");
  cache_.begin_plan();
  Step& step = step_at(planned_);
  step.number = planned_;
  step.parts.clear();
  step.copies.clear();
  step.rows = step.decode_rows = step.outputs = step.scores = 0;
  dropped_.clear();
  do {
    fill(step);
  } while (make_way(step));
  for (const StepPart& part : step.parts) {
    step.rows += part.rows;
    step.decode_rows += part.decode ? 1 : 0;
    step.scores += part.scores;
    if (part.outputs > 0) part.sequence->output = step.outputs++;
  }
  step.sequences = static_cast<std::int32_t>(step.parts.size());
  if (step.parts.empty()) return step;
  cache_.begin_step();
  ++planned_;
  ++under_way_;
  return step;
}

void Scheduler::fill(Step& step) {
  rows_left_ = step.rows_max = limits_.rows;
  order_.assign(running_.begin(), running_.end());
  withhold_all();
  plan_running(step, true);
  const auto decodes = static_cast<std::int32_t>(step.parts.size());
  rows_left_ = prompt_rows(decodes);
  step.rows_max = rows_left_ + decodes;
  plan_running(step, false);
  admit(step);
}

/// Where tokens were taken back, several sequences can be sure of more than the pool has: blocks
/// that they shared count for each. Then nobody gets on, and the last of them has to go once more.
bool Scheduler::make_way(Step& step) {
  if (!step.parts.empty() || !dropped_.empty() || under_way_ > 0 || is_releasing()) return false;
  Sequence* last = nullptr;
  bool waits = false;
  for (Sequence* s : running_) {
    waits = waits || (!s->paused && s->missing() > 0 && s->pending < s->room);
    if (last == nullptr || waiting_.before(*last, *s)) last = s;
  }
  if (!waits || running_.size() < 2) return false;
  preempt(step, *last);
  return true;
}

/// Those that lack one row, or those that lack more, but for whom is preempted on the way.
void Scheduler::plan_running(Step& step, bool one_row) {
  for (Sequence* const s : order_) {
    if (!s->admitted || s->paused || s->missing() == 0) continue;
    if (s->pending >= s->room) continue;
    if ((s->missing() == 1) == one_row) add_part(step, *s, rows_left_);
  }
}

/// Rows of prompts for which a step has time beside those who wait for their next token. The more
/// prompts wait, the more of the machine is theirs.
std::int32_t Scheduler::prompt_rows(std::int32_t decodes) const {
  const double alone = times_.decode_seconds(decodes);
  if (decodes == 0 || alone == 0) return rows_left_;
  std::int64_t prompts = 0;
  waiting_.visit([&](Sequence& s) {
    prompts += may_begin(s) ? 1 : 0;
    return !is_full_ && prompts < kPromptsMax;
  });
  for (const Sequence* s : running_) prompts += s->missing() > 1 && !s->paused ? 1 : 0;
  const double prompts_share =
      kPromptShare * static_cast<double>(std::clamp<std::int64_t>(prompts, 1, kPromptsMax));
  const double seconds =
      limits_.step_seconds > 0 ? limits_.step_seconds - alone : alone * prompts_share;
  const std::int32_t rows = times_.prefill_rows(seconds, rows_left_);
  return std::min(rows_left_, std::max(rows, kPromptRowsMin));
}

void Scheduler::admit(Step& step) {
  while (rows_left_ > 0) {
    Sequence* const s = first_waiting();
    if (s == nullptr) return;
    is_full_ = running(PausedRoom::kFree) >= limits_.sequences;
    if (is_full_) return;
    const PrefixIndex::Match match = find_prefix(*s);
    is_full_ = !make_room_to_admit(step, *s, match);
    if (is_full_) return;
    waiting_.erase(*s);
    running_.push_back(s);
    s->admitted = true;
    s->guaranteed = is_guaranteed(*s);
    guaranteed_ += s->guaranteed ? 1 : 0;
    ++s->admissions;
    admissions_ += s->admissions == 1 ? 1 : 0;
    s->terms.begin_by = kNever;
    begin(step, *s, match);
    withhold(*s, 1);
    add_part(step, *s, rows_left_);
  }
}

std::int64_t Scheduler::queued() const {
  std::int64_t count = 0;
  waiting_.visit([&](Sequence& s) {
    count += may_begin(s) ? 1 : 0;
    return true;
  });
  return count;
}

Sequence* Scheduler::first_waiting() const {
  Sequence* first = nullptr;
  waiting_.visit([&](Sequence& s) {
    if (!may_begin(s)) return true;
    first = &s;
    return false;
  });
  return first;
}

/// Not while its reader is behind, while a step that it gave way in still draws for it, or while
/// another sequence computes the prompt that it will share.
bool Scheduler::may_begin(Sequence& s) const {
  if (s.paused || s.pending > 0) return false;
  return s.fork_of == nullptr || s.fork_of->admissions == 0
             ? s.fork_of == nullptr
             : !s.fork_of->admitted || s.fork_of->computed >= s.length();
}

PrefixIndex::Match Scheduler::find_prefix(const Sequence& s) {
  if (!prefixes_ || !s.reads_cache || s.given_rows() > 0) return {};
  return prefixes_->find(s.prefix, s.tokens, s.skippable_rows(), s.chat_template);
}

/// Paused sequences give way to one that can go on, none of them where all would not be enough:
/// they would be computed again for nothing.
bool Scheduler::make_room_to_admit(Step& step, Sequence& s, const PrefixIndex::Match& match) {
  if (!may_admit(s, match, PausedRoom::kFree)) return false;
  while (!may_admit(s, match, PausedRoom::kHeld)) {
    if (is_releasing()) return false;
    preempt(step, *last_paused());
  }
  return true;
}

std::int64_t Scheduler::running(PausedRoom paused) const {
  if (paused == PausedRoom::kHeld) return std::ssize(running_);
  return std::count_if(running_.begin(), running_.end(),
                       [](const Sequence* s) { return !s->paused; });
}

/// Blocks of group g that the sequence can come to hold.
std::int64_t Scheduler::blocks_in_all(const Sequence& s, std::int32_t g) const {
  const std::int64_t total = cache_.pool(g).total();
  const std::int64_t tokens = std::min(s.rows_max, (total + 1) * kBlockTokens);
  return std::min(cache_.group(g).blocks_for(tokens, limits_.rows), total);
}

/// Room for all rows that are known, and a block for each sequence that runs: who is let in too
/// early is thrown out again before it has got anywhere. Who was thrown out often needs room for
/// all that it will ever have.
bool Scheduler::may_admit(const Sequence& s, const PrefixIndex::Match& match,
                          PausedRoom paused) const {
  const std::int64_t running = this->running(paused);
  if (running == 0) return !is_releasing();
  if (running >= limits_.sequences) return false;
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    std::int64_t wanted = is_guaranteed(s) ? blocks_in_all(s, g)
                                           : cache_.group(g).blocks_for(s.length(), limits_.rows);
    const bool takes_over = cache_.group(g).window == 0 && match.blocks > 0;
    if (takes_over) wanted -= match.blocks - prefixes_->unheld(match, g);
    std::int64_t free = cache_.pool(g).available() - withheld_[static_cast<std::size_t>(g)];
    for (const Sequence* other : running_) {
      if (paused == PausedRoom::kHeld || !other->paused) continue;
      free += other->blocks.releasable(g);
      // What is taken over from it does not become free.
      if (takes_over) free -= prefixes_->held_alone(match, g, other->blocks);
    }
    if (wanted + running > free) return false;
  }
  return true;
}

/// Takes over what others have computed: all of the prompt of the sequence that it is a fork of, or
/// the prefix that is known.
void Scheduler::begin(Step& step, Sequence& s, const PrefixIndex::Match& match) {
  const std::int64_t skippable = s.skippable_rows();
  const bool is_first = s.admissions == 1;
  if (s.fork_of != nullptr && fork(step, s)) {
    if (is_first) cached_tokens_ += s.cached = s.computed;
    return;
  }
  if (!prefixes_ || !s.reads_cache || s.given_rows() > 0) return;
  s.place = prefixes_->adopt(s.prefix, match, s.blocks, s.chat_template);
  s.computed = std::min(match.rows, skippable);
  if (INGOT_MUTANT(11) && !is_first && s.computed > 1) ++s.computed;
  if (is_first) {
    s.cached = s.computed;
    cached_tokens_ += s.cached;
    s.miss = match.miss;
  }
}

/// The row that the next token is drawn from is computed again, so that each fork has logits.
bool Scheduler::fork(Step& step, Sequence& s) {
  const Sequence& from = *std::exchange(s.fork_of, nullptr);
  const std::int64_t rows = std::min(s.skippable_rows(), from.computed);
  if (!from.admitted || from.computed < s.length() || !from.blocks.can_share(rows, s.length())) {
    return false;
  }
  if (!s.blocks.fork(from.blocks, s.length(), step.copies)) return false;
  s.computed = rows;
  if (prefixes_ && from.place.node >= 0) {
    s.place = prefixes_->same_place(from.place);
    prefixes_->truncate(s.place, s.length());
  }
  return true;
}

void Scheduler::add_part(Step& step, Sequence& s, std::int32_t rows_max) {
  StepPart part{.sequence = &s,
                .first = s.computed + s.in_flight,
                .admission = s.admissions,
                .decode = s.missing() == 1};
  part.rows = static_cast<std::int32_t>(std::min<std::int64_t>(next_rows(s, part.first), rows_max));
  if (part.rows <= 0 || !reserve(step, s, part.first, part.rows)) return;
  const std::int64_t last = part.first + part.rows;
  part.outputs = s.draws && last == s.length() + s.pending ? 1 : 0;
  part.previous = last > s.length() ? s.output : -1;
  part.first_score = std::max(part.first, s.score_next);
  part.scores = rows_wanted(part.first_score, last, s.score_end);
  part.first_hidden = std::max(part.first, s.hidden_next);
  part.hidden = rows_wanted(part.first_hidden, last, s.hidden_end);
  part.final_norm = s.final_norm;
  rows_left_ -= part.rows;
  s.in_flight += part.rows;
  s.pending += part.outputs;
  step.parts.push_back(part);
}

/// Keeps the blocks from others that a sequence which gave way often is sure of, beside those that
/// it holds; with a sign of -1, no longer.
void Scheduler::withhold(const Sequence& s, std::int64_t sign) {
  if (!s.guaranteed) return;
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    withheld_[static_cast<std::size_t>(g)] += sign * blocks_to_come(s, g);
  }
}

void Scheduler::withhold_all() {
  std::fill(withheld_.begin(), withheld_.end(), 0);
  if (guaranteed_ == 0) return;
  for (const Sequence* s : running_) withhold(*s, 1);
}

/// Blocks of group g that the sequence can come to take from the pool.
std::int64_t Scheduler::blocks_to_come(const Sequence& s, std::int32_t g) const {
  const std::int64_t held = s.blocks.held(g) - (s.blocks.wanted(g, s.blocks.filled() + 1) > 0);
  return std::max<std::int64_t>(0, blocks_in_all(s, g) - held);
}

std::int64_t Scheduler::reserved(std::int32_t g) const {
  std::int64_t blocks = 0;
  for (const Sequence* s : running_) blocks += s->guaranteed ? blocks_to_come(*s, g) : 0;
  return std::min<std::int64_t>(blocks, cache_.pool(g).available());
}

bool Scheduler::is_releasing() const {
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    if (cache_.releasing(g) > 0) return true;
  }
  return false;
}

/// Blocks for the next `rows` rows, or for fewer where that avoids a preemption; false when there
/// are none in this step.
bool Scheduler::reserve(Step& step, Sequence& s, std::int64_t first, std::int32_t& rows) {
  for (;;) {
    withhold(s, -1);
    const std::int64_t room = s.blocks.reservable(withheld_) - first;
    if (room > 0) rows = static_cast<std::int32_t>(std::min<std::int64_t>(rows, room));
    const bool reserved = room > 0 && s.blocks.reserve(first + rows, step.copies);
    withhold(s, 1);
    if (reserved) return true;
    if (room > 0) {
      dropped_.push_back({.sequence = &s, .reason = Dropped::Reason::kNoMemory});
      s.paused = true;  // no part of this plan either
      return false;
    }
    if (is_releasing()) return false;
    Sequence* const victim = victim_for(s);
    if (victim == nullptr) return false;
    preempt(step, *victim);
    if (victim == &s) return false;
  }
}

/// Whoever runs and comes last in rank, of those behind `s`; then who is paused; then `s` itself.
/// Not those who gave way often: they have blocks of their own.
Sequence* Scheduler::victim_for(Sequence& s) const {
  INGOT_CHECK(running_.size() > 1, "the pool is too small for a sequence of ", s.length(),
              " tokens on its own");
  Sequence* last = &s;
  for (Sequence* other : running_) {
    if (!is_guaranteed(*other) && waiting_.before(*last, *other)) last = other;
  }
  if (last != &s) return last;
  if (Sequence* const paused = last_paused(); paused != nullptr) return paused;
  return is_guaranteed(s) ? nullptr : &s;
}

Sequence* Scheduler::last_paused() const {
  Sequence* last = nullptr;
  for (Sequence* s : running_) {
    if (s->paused && (last == nullptr || waiting_.before(*last, *s))) last = s;
  }
  return last;
}

void Scheduler::preempt(Step& step, Sequence& s) {
  const auto part = std::find_if(step.parts.begin(), step.parts.end(),
                                 [&](const StepPart& p) { return p.sequence == &s; });
  if (part != step.parts.end()) {
    rows_left_ += part->rows;
    s.pending -= part->outputs;
    step.parts.erase(part);
  }
  for (const BlockCopy& copy : step.copies) {
    const auto table = s.blocks.table(copy.group);
    if (std::find(table.begin(), table.end(), copy.from) == table.end()) continue;
    cache_.pool(copy.group).retain(copy.from);
    cache_.release_after_next(copy.group, copy.from);
  }
  std::erase(running_, &s);
  if (!INGOT_MUTANT(15)) waiting_.add_returned(s);
  s.preemptions += s.paused ? 0 : 1;
  ++preemptions_;
  if (INGOT_MUTANT(10) && s.blocks.held(0) > 1) {
    s.admitted = s.guaranteed = false;
    s.computed = s.in_flight = 0;
    s.blocks.truncate(kBlockTokens);
    return;
  }
  give_back(s);
  withhold_all();
}

void Scheduler::commit(std::span<const std::int32_t> drawn, double seconds) {
  INGOT_CHECK(under_way_ > 0, "no step is under way");
  Step& step = step_at(planned_ - under_way_);
  --under_way_;
  cache_.end_step();
  times_.add(step.decode_rows, step.rows - step.decode_rows, seconds);
  std::size_t at = 0;
  for (const StepPart& part : step.parts) {
    INGOT_CHECK(part.outputs == 0 || at < drawn.size(), drawn.size(),
                " tokens are too few for the step");
    const std::int32_t id = part.outputs == 0 ? -1 : drawn[at++];
    if (part.sequence == nullptr) continue;
    commit_part(part);
    if (part.outputs > 0) part.sequence->terms.first_token_by = kNever;
    if (id >= 0) part.sequence->tokens.push_back(id);
  }
  INGOT_CHECK(at == drawn.size(), drawn.size(), " tokens for ", at, " outputs");
  step.parts.clear();
}

/// What was computed for a sequence that gave way meanwhile is lost, but for what left the model.
void Scheduler::commit_part(const StepPart& part) {
  Sequence& s = *part.sequence;
  const std::int64_t last = part.first + part.rows;
  s.pending -= part.outputs;
  s.score_next = std::max(s.score_next, part.first_score + part.scores);
  if (part.hidden > 0) s.hidden_next = std::max(s.hidden_next, part.first_hidden + part.hidden);
  if (!s.admitted || part.admission != s.admissions) return;
  waiting_.serve(s, part.rows);
  s.in_flight -= part.rows;
  s.computed = last;
  s.blocks.set_filled(last);
  if (prefixes_ && s.place.node >= 0) {
    prefixes_->extend(s.place, s.tokens, std::min(last, std::ssize(s.tokens)), s.blocks);
  }
  s.forget();
}

void Scheduler::abandon() {
  for (; under_way_ > 0; --under_way_) {
    Step& step = step_at(planned_ - under_way_);
    for (const StepPart& part : step.parts) {
      if (part.sequence != nullptr) part.sequence->pending = part.sequence->in_flight = 0;
    }
    step.parts.clear();
    cache_.end_step();
  }
}

/// The last row that stays is computed again: the next token is drawn from it.
bool Scheduler::can_truncate(const Sequence& s, std::int64_t rows) {
  return rows > s.given_rows() && rows <= s.length() &&
         s.blocks.can_share(std::min(s.computed, rows - 1), std::min(s.blocks.filled(), rows));
}

void Scheduler::truncate(Sequence& s, std::int64_t rows) {
  INGOT_CHECK(s.in_flight == 0 && s.pending == 0 && can_truncate(s, rows), "sequence ", s.id,
              " of ", s.length(), " rows truncated to ", rows);
  s.tokens.resize(static_cast<std::size_t>(rows - s.given_rows()));
  s.computed = std::min(s.computed, rows - 1);
  if (prefixes_ && !INGOT_MUTANT(18)) prefixes_->truncate(s.place, rows);
  s.blocks.truncate(rows);
}

void Scheduler::flush_prefixes() {
  if (prefixes_) prefixes_->flush();
}

}  // namespace ingot
