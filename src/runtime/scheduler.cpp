// Scheduler: planning a step and taking its results.
#include "runtime/scheduler.h"

#include <algorithm>

namespace ingot {

namespace {

std::int64_t missing(const Sequence& s) { return s.length() - s.computed; }

/// Rows that one part may have: embeddings and tokens do not mix in one.
std::int64_t next_rows(const Sequence& s) {
  const std::int64_t given = s.given_rows() - s.computed;
  return given > 0 ? given : missing(s);
}

/// Rows from `first` on that are computed before `last` and wanted before `end`.
std::int32_t rows_wanted(std::int64_t first, std::int64_t last, std::int64_t end) {
  return static_cast<std::int32_t>(std::max<std::int64_t>(0, std::min(last, end) - first));
}

}  // namespace

Scheduler::Scheduler(KvCache& cache, const SchedulerLimits& limits)
    : cache_(cache), limits_(limits), kept_(limits.kept) {
  INGOT_CHECK(limits.sequences >= 1 && limits.rows >= limits.sequences, limits.rows,
              " rows a step for ", limits.sequences, " sequences");
  running_.reserve(static_cast<std::size_t>(limits.sequences));
  parts_.reserve(static_cast<std::size_t>(limits.sequences));
}

bool Scheduler::fits_alone(std::int64_t tokens) const {
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    if (cache_.group(g).blocks_for(tokens, limits_.rows) > cache_.pool(g).total()) return false;
  }
  return true;
}

void Scheduler::add(Sequence& sequence) { waiting_.push_back(&sequence); }

void Scheduler::remove(Sequence& sequence) {
  std::erase(running_, &sequence);
  std::erase(waiting_, &sequence);
  std::erase_if(parts_, [&](const StepPart& p) { return p.sequence == &sequence; });
  sequence.admitted = false;
  sequence.blocks.truncate(0);
}

void Scheduler::retire(Sequence& sequence) {
  kept_.keep(sequence);
  remove(sequence);
}

std::span<const StepPart> Scheduler::plan() {
  parts_.clear();
  rows_left_ = limits_.rows;
  order_ = running_;
  plan_running(true);
  plan_running(false);
  admit();
  return parts_;
}

/// Those that lack one row, or those that lack more, but for whom is preempted on the way.
void Scheduler::plan_running(bool one_row) {
  for (Sequence* const s : order_) {
    if (!s->admitted || s->paused || missing(*s) == 0) continue;
    if ((missing(*s) == 1) == one_row) add_part(*s);
  }
}

void Scheduler::admit() {
  for (std::size_t i = 0; i < waiting_.size() && rows_left_ > 0;) {
    Sequence* const s = waiting_[i];
    if (s->paused) {
      ++i;
      continue;
    }
    if (!make_room_to_admit(*s)) return;
    std::erase(waiting_, s);
    running_.push_back(s);
    s->admitted = true;
    kept_.resume(*s);
    add_part(*s);
  }
}

/// Paused sequences give way to one that can go on, none of them where all would not be enough:
/// they would be computed again for nothing.
bool Scheduler::make_room_to_admit(const Sequence& sequence) {
  if (!may_admit(sequence, PausedRoom::kFree)) return false;
  while (!may_admit(sequence, PausedRoom::kHeld)) preempt(*last_paused());
  return true;
}

/// Room for all rows that are known, and a block for each sequence that runs: who is let in too
/// early is thrown out again before it has got anywhere. What is kept is room: the sequence takes
/// it over, or it goes when it is needed.
bool Scheduler::may_admit(const Sequence& sequence, PausedRoom paused) const {
  const auto goes = [paused](const Sequence* s) {
    return paused == PausedRoom::kFree && s->paused;
  };
  const std::int64_t running =
      std::ssize(running_) - std::count_if(running_.begin(), running_.end(), goes);
  if (running == 0) return true;
  if (running >= limits_.sequences) return false;
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    const std::int64_t wanted = cache_.group(g).blocks_for(sequence.length(), limits_.rows);
    std::int64_t free = cache_.pool(g).free() + kept_.held(g);
    for (const Sequence* s : running_) free += goes(s) ? s->blocks.releasable(g) : 0;
    if (wanted + running > free) return false;
  }
  return true;
}

void Scheduler::add_part(Sequence& s) {
  StepPart part{.sequence = &s};
  part.rows = static_cast<std::int32_t>(std::min<std::int64_t>(next_rows(s), rows_left_));
  if (part.rows == 0 || !reserve(s, part.rows)) return;
  const std::int64_t last = s.computed + part.rows;
  part.outputs = s.draws && last == s.length() ? 1 : 0;
  part.first_score = std::max(s.computed, s.scored);
  part.scores = rows_wanted(part.first_score, last, s.scores_end);
  part.first_hidden = std::max(s.computed, s.shown);
  part.hidden = rows_wanted(part.first_hidden, last, s.shown_end);
  rows_left_ -= part.rows;
  parts_.push_back(part);
}

/// Blocks for the next `rows` rows, in place of kept ones where there is need, or for fewer rows
/// where that avoids a preemption; false when the sequence itself had to give way.
bool Scheduler::reserve(Sequence& s, std::int32_t& rows) {
  for (;;) {
    const std::int64_t room = s.blocks.reservable() - s.computed;
    if (room < rows && kept_.drop_oldest()) continue;
    if (room > 0) {
      rows = static_cast<std::int32_t>(std::min<std::int64_t>(rows, room));
      const bool reserved = s.blocks.reserve(s.computed + rows);
      INGOT_CHECK(reserved, "no blocks for ", rows, " rows where ", room, " have room");
      return true;
    }
    Sequence& victim = victim_for(s);
    preempt(victim);
    if (&victim == &s) return false;
  }
}

/// Whoever was admitted after `s`, the last first; then who is paused; then `s` itself.
Sequence& Scheduler::victim_for(Sequence& s) const {
  INGOT_CHECK(running_.size() > 1, "the pool is too small for a sequence of ", s.length(),
              " tokens on its own");
  if (running_.back() != &s) return *running_.back();
  Sequence* const paused = last_paused();
  return paused != nullptr ? *paused : s;
}

Sequence* Scheduler::last_paused() const {
  const auto at =
      std::find_if(running_.rbegin(), running_.rend(), [](const Sequence* s) { return s->paused; });
  return at == running_.rend() ? nullptr : *at;
}

void Scheduler::preempt(Sequence& s) {
  const auto part = std::find_if(parts_.begin(), parts_.end(),
                                 [&](const StepPart& p) { return p.sequence == &s; });
  if (part != parts_.end()) {
    rows_left_ += part->rows;
    parts_.erase(part);
  }
  std::erase(running_, &s);
  waiting_.push_front(&s);
  s.admitted = false;
  s.computed = s.cached = 0;
  s.blocks.truncate(0);
  ++preemptions_;
}

void Scheduler::commit(std::span<const std::int32_t> drawn) {
  std::size_t at = 0;
  for (const StepPart& part : parts_) {
    Sequence& s = *part.sequence;
    s.computed += part.rows;
    s.scored = std::max(s.scored, part.first_score + part.scores);
    if (part.hidden > 0) s.shown = part.first_hidden + part.hidden;
    s.forget();
    if (part.outputs == 0) continue;
    INGOT_CHECK(at < drawn.size(), drawn.size(), " tokens are too few for the step");
    const std::int32_t id = drawn[at++];
    if (id >= 0) s.tokens.push_back(id);
  }
  INGOT_CHECK(at == drawn.size(), drawn.size(), " tokens for ", at, " outputs");
  parts_.clear();
}

}  // namespace ingot
