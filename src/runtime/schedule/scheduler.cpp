// Scheduler: fills a step with rows, preempts when blocks run out, and takes a step's results.
#include "runtime/schedule/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/index.h"
#include "kv/mutant.h"
#include "runtime/draft/draft_counts.h"
#include "runtime/schedule/sequence_start.h"

namespace ingot {

namespace {

/// Part of the time of a step's decode rows that prompt rows may add, for each of up to kPromptsMax
/// prompts. More lengthens the gaps between tokens, less the time to the first token.
constexpr double kPromptShare = 0.45;
/// Maximum number of prompts in a step that has too few rows for all prompts. A prompt that ends in
/// the step may join beyond this limit. With a larger limit, partly computed prompts hold more
/// blocks. With a smaller one, a short prompt overtakes fewer long prompts.
constexpr std::int64_t kPromptsMax = 8;
/// The prompt of first rank gets at least 1 / kFirstPart of a step's prompt rows, any other prompt
/// at least 1 / kOtherPart. Larger shares delay short prompts; smaller shares delay a long prompt
/// while short prompts keep arriving. The shares of kPromptsMax prompts add up to less than half.
/// Paused prompts resume, so more than kPromptsMax prompts can run. With more than 49 prompts, the
/// shares of the others shrink, so that the sum of all shares is at most the number of rows.
constexpr std::int32_t kFirstPart = 4;
constexpr std::int32_t kOtherPart = 64;
/// Least number of prompt rows that a step has room for, so that prompts continue in slow steps.
constexpr std::int32_t kPromptRowsMin = 2;

/// Appends a part's tokens to its sequence. Returns the number of accepted drafts, which equal the
/// drawn tokens.
std::int32_t append_drawn(Sequence& s, const StepPart& part, std::span<const std::int32_t> drawn) {
  std::int32_t accepted = 0;
  for (const std::int32_t id : drawn) {
    if (id < 0) break;
    const bool is_last = accepted == part.drafts || id != at(s.drafts, accepted);
    if (INGOT_MUTANT(32) && is_last && accepted < part.drafts) {
      s.tokens.push_back(at(s.drafts, accepted++));
    }
    s.tokens.push_back(id);
    if (is_last) break;
    ++accepted;
  }
  return accepted;
}

}  // namespace

Scheduler::Scheduler(KvCache& cache, const SchedulerLimits& limits)
    : cache_(cache),
      limits_(limits),
      waiting_(limits.waiting),
      guarantees_(cache, limits.rows, limits.preemptions_max) {
  INGOT_CHECK(limits.sequences >= 1 && limits.rows >= limits.sequences, limits.rows,
              " rows a step for ", limits.sequences, " sequences");
  INGOT_CHECK(limits.pipeline_depth == 1 || limits.pipeline_depth == 2, limits.pipeline_depth,
              " steps under way");
  if (limits.prefix_cache) prefixes_.emplace(cache, limits.sequences, limits.prefix);
  const auto sequences = to_size(limits.sequences);
  running_.reserve(sequences);
  resting_.reserve(sequences);
  order_.reserve(sequences);
  prompts_.reserve(sequences);
  dropped_.reserve(sequences);
  steps_.resize(to_size(limits.pipeline_depth));
  for (Step& step : steps_) step.parts.reserve(sequences);
}

bool Scheduler::fits_alone(std::int64_t tokens) const {
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    if (cache_.group(g).blocks_for(tokens, limits_.rows) > cache_.pool(g).total()) return false;
  }
  return true;
}

void Scheduler::add(Sequence& s) {
  INGOT_CHECK(!s.whole || s.length() <= limits_.rows, s.length(), " rows for a step of ",
              limits_.rows);
  waiting_.add(s);
  s.known = true;
  s.timed = s.terms.has_deadline();
  timed_ += s.timed ? 1 : 0;
  if (s.fork_of != nullptr) s.fork_of->forked = true;
}

void Scheduler::remove(Sequence& s) {
  std::erase(running_, &s);
  std::erase(resting_, &s);
  waiting_.erase(s);
  leave_steps(s);
  if (s.forked) {
    waiting_.visit([&](Sequence& other) {
      if (other.fork_of == &s) other.fork_of = nullptr;
      return true;
    });
  }
  if (INGOT_MUTANT(1) && s.admitted) new SequenceBlocks(std::move(s.blocks));
  if (INGOT_MUTANT(2) && s.blocks.held(0) > 0) cache_.release(0, s.blocks.table(0).back());
  stop_running(s);
}

/// Forgets a sequence that has ended, in its tenant's count and in the steps under way.
void Scheduler::leave_steps(Sequence& s) {
  if (std::exchange(s.known, false)) waiting_.leave(s);
  timed_ -= std::exchange(s.timed, false) ? 1 : 0;
  for (Step& step : steps_) {
    for (StepPart& part : step.parts) {
      if (part.sequence == &s) part.sequence = nullptr;
    }
  }
}

/// Stops running a sequence and releases its blocks. All its rows count as missing afterwards.
void Scheduler::stop_running(Sequence& s) {
  guarantees_.revoke(s);
  s.admitted = false;
  s.computed = s.in_flight = 0;
  if (prefixes_) prefixes_->leave(s.place);
  s.place = {};
  s.blocks.truncate(0);
  s.blocks.set_idle(false);
}

const Step& Scheduler::plan() {
  INGOT_CHECK(under_way_ < limits_.pipeline_depth, under_way_, " steps are under way");
  cache_.begin_plan();
  Step& step = step_at(INGOT_MUTANT(25) ? 0 : planned_);
  step.reset(planned_);
  dropped_.clear();
  do {
    fill(step);
  } while (break_deadlock(step));
  group_by_adapters(step);
  step.count_parts();
  if (step.parts.empty()) return step;
  cache_.begin_step();
  ++planned_;
  ++under_way_;
  return step;
}

/// Puts parts with equal adapters beside each other, because backends compute their rows together.
void Scheduler::group_by_adapters(Step& step) {
  const auto adapter_of = [](const StepPart& part) { return part.sequence->prefix.adapter; };
  const auto differs = [&](const StepPart& a, const StepPart& b) {
    return adapter_of(a) != adapter_of(b);
  };
  if (std::adjacent_find(step.parts.begin(), step.parts.end(), differs) == step.parts.end()) return;
  std::sort(step.parts.begin(), step.parts.end(), [&](const StepPart& a, const StepPart& b) {
    return std::pair(adapter_of(a), a.sequence->id) < std::pair(adapter_of(b), b.sequence->id);
  });
}

void Scheduler::fill(Step& step) {
  rows_left_ = budget_ = step.rows_max = limits_.rows;
  order_.assign(running_.begin(), running_.end());
  for (Sequence* const s : running_) s->blocks.set_idle(s->paused);
  guarantees_.withhold_all(running_);
  plan_decodes(step);
  const auto decodes = static_cast<std::int32_t>(step.parts.size());
  rows_left_ = prompt_rows(decodes);
  step.rows_max = rows_left_ + decodes;
  prompts_.clear();
  for (Sequence* const s : running_) {
    if (s->whole || s->missing() <= 1 || s->paused || !s->may_continue()) continue;
    prompts_.push_back({.sequence = s});
  }
  plan_wholes(step);
  admit_waiting(step);
  plan_prompts(step);
  add_drafts(step);
}

/// Preempts the running sequence of the latest rank if no sequence can continue. Returns whether it
/// did. After a truncation, guarantees may add up to more blocks than the pool has, because shared
/// blocks then count for each sequence.
bool Scheduler::break_deadlock(Step& step) {
  if (!step.parts.empty() || !dropped_.empty() || under_way_ > 0 || frees_soon()) return false;
  Sequence* last = nullptr;
  bool waits = false;
  for (Sequence* s : running_) {
    waits = waits || (!s->paused && s->missing() > 0 && s->may_continue());
    if (last == nullptr || waiting_.before(*last, *s)) last = s;
  }
  if (!waits || running_.size() < 2) return false;
  preempt(step, *last);
  return true;
}

/// Plans the decoding sequences, which miss one row each. Skips sequences that were preempted since
/// planning began.
void Scheduler::plan_decodes(Step& step) {
  for (Sequence* const s : order_) {
    if (!s->admitted || s->paused || s->missing() != 1 || !s->may_continue()) continue;
    add_part(step, *s, 1);
  }
}

/// Divides the rows that are left among the prompts. Each prompt gets its share. The other rows go
/// to the prompts in the order of `goes_first`. A preempted prompt leaves its share to the others.
void Scheduler::plan_prompts(Step& step) {
  std::int64_t owed = set_shares();
  std::sort(prompts_.begin(), prompts_.end(), [this](const Prompt& a, const Prompt& b) {
    return goes_first(*a.sequence, *b.sequence);
  });
  for (const Prompt& prompt : prompts_) {
    owed -= prompt.share;
    Sequence& s = *prompt.sequence;
    if (s.admitted && !s.paused) add_part(step, s, rows_left_ - owed);
  }
}

/// Extends parts of decoding sequences by drafts. Takes rows and blocks that nothing else in the
/// step needs.
void Scheduler::add_drafts(Step& step) {
  const bool is_timed =
      limits_.step_seconds > 0 && std::any_of(step.parts.begin(), step.parts.end(),
                                              [](const StepPart& part) { return !part.decode; });
  if (is_timed) return;  // prompt rows fill the step's time
  std::int64_t left = std::min(limits_.draft_rows, budget_);
  for (StepPart& part : step.parts) {
    Sequence& s = *part.sequence;
    if (!part.decode || part.outputs == 0 || s.pending > 1 || s.drafts.empty()) continue;
    if (s.given_at(part.first) != nullptr) continue;  // drafts are tokens
    guarantees_.hand_out(s);
    const std::int64_t rows = std::min({std::ssize(s.drafts), left, draft_room(s)});
    const bool fits = rows > 0 && s.blocks.reserve(s.length() + rows, step.copies);
    guarantees_.withhold(s);
    if (!fits) continue;
    s.verifying = part.drafts = static_cast<std::int32_t>(rows);
    part.rows += part.drafts;
    part.outputs += part.drafts;
    part.hidden += s.shows_hidden ? part.drafts : 0;
    s.in_flight += rows;
    step.rows_max += part.drafts;
    left -= rows;
  }
}

/// Number of drafts for which the sequence, its reader and the pools have room now.
std::int64_t Scheduler::draft_room(const Sequence& s) const {
  const std::int64_t rows = std::min(s.rows_max, s.blocks.reservable(guarantees_.withheld()));
  return std::min(rows - s.length(), s.room - 1);
}

/// Sets the prompts' shares. Returns their sum, which is at most the number of rows left.
std::int64_t Scheduler::set_shares() {
  if (prompts_.empty()) return 0;
  const std::int64_t rows = rows_left_;
  const std::int64_t first_rows = INGOT_MUTANT(22) ? 0 : (rows + kFirstPart - 1) / kFirstPart;
  const std::int64_t others = std::max<std::int64_t>(1, std::ssize(prompts_) - 1);
  const std::int64_t other_rows = std::min(rows / kOtherPart, (rows - first_rows) / others);
  const Sequence* const first = &first_of_rank();
  std::int64_t sum = 0;
  for (Prompt& prompt : prompts_) {
    const std::int64_t most = prompt.sequence == first ? first_rows : other_rows;
    prompt.share = std::min(next_rows(*prompt.sequence), most);
    sum += prompt.share;
  }
  return sum;
}

/// The prompt of first rank among `prompts_`, which must not be empty.
const Sequence& Scheduler::first_of_rank() const {
  const auto first =
      std::min_element(prompts_.begin(), prompts_.end(), [this](const Prompt& a, const Prompt& b) {
        return waiting_.before(*a.sequence, *b.sequence);
      });
  return *first->sequence;
}

/// Whether prompt `a` gets more rows than its share before prompt `b` does: by priority, then by
/// the number of missing rows, then by rank.
bool Scheduler::goes_first(const Sequence& a, const Sequence& b) const {
  if (has_priority(a, b) || has_priority(b, a)) return has_priority(a, b);
  const std::int64_t rows_a = a.missing(), rows_b = b.missing();
  return rows_a != rows_b ? rows_a < rows_b : waiting_.before(a, b);
}

bool Scheduler::has_priority(const Sequence& a, const Sequence& b) const {
  return limits_.waiting.policy == Policy::kPriority && a.terms.priority < b.terms.priority;
}

/// Number of prompt rows that a step with `decodes` decode rows has time for. It grows with the
/// number of prompts.
std::int32_t Scheduler::prompt_rows(std::int32_t decodes) const {
  const double alone = times_.decode_seconds(decodes);
  if (decodes == 0 || alone == 0) return rows_left_;
  std::int64_t prompts = 0;
  waiting_.visit([&](Sequence& s) {
    prompts += s.may_begin() ? 1 : 0;
    return !is_full_ && prompts < kPromptsMax;
  });
  for (const Sequence* s : running_) prompts += s->missing() > 1 && !s->paused ? 1 : 0;
  const double share =
      kPromptShare * static_cast<double>(std::clamp<std::int64_t>(prompts, 1, kPromptsMax));
  const double seconds = limits_.step_seconds > 0 ? limits_.step_seconds - alone : alone * share;
  const std::int32_t rows = times_.prefill_rows(seconds, rows_left_);
  return std::min(rows_left_, std::max(rows, kPromptRowsMin));
}

/// Plans the running sequences that one step must compute, and that had no blocks in earlier steps.
void Scheduler::plan_wholes(Step& step) {
  for (Sequence* const s : order_) {
    if (s->whole && s->admitted && !s->paused && s->missing() > 1) add_whole(step, *s);
  }
}

/// Number of rows that the step has for a sequence that one step must compute. The first such
/// sequence may exceed the step's time limit, because otherwise it might wait forever.
std::int64_t Scheduler::whole_rows(const Step& step) const {
  const bool has_prompt = std::any_of(step.parts.begin(), step.parts.end(),
                                      [](const StepPart& part) { return !part.decode; });
  return has_prompt || !prompts_.empty() ? rows_left_ : budget_;
}

/// Plans all rows of a sequence, or none.
void Scheduler::add_whole(Step& step, Sequence& s) {
  const std::int64_t rows = s.missing();
  if (rows > whole_rows(step)) return;
  const auto more = static_cast<std::int32_t>(rows - rows_left_);
  if (more > 0) {
    rows_left_ += more;
    step.rows_max += more;
  }
  add_part(step, s, rows);
}

void Scheduler::admit_waiting(Step& step) {
  while (rows_left_ > 0) {
    Sequence* const s = first_waiting();
    if (s == nullptr) return;
    is_full_ = running(IdleRoom::kFree) >= limits_.sequences;
    if (is_full_) return;
    const PrefixIndex::Match match = find_prefix(prefixes(), *s);
    if (!may_join(step, *s, match)) return;
    is_full_ = !make_room_to_admit(step, *s, match);
    if (is_full_) return;
    admit(step, *s, match);
  }
}

/// Whether the prompt of `s` may join the planned step. It may if the other prompts leave rows, all
/// of its rows if one step must compute them. Another prompt may also join if `s` surely ends in
/// the step: `s`, the prompts that can end, and those of higher priority miss at most half of the
/// rows, and the shares of the others are less than half. Else the step must have fewer than
/// kPromptsMax prompts, and none may soon compute rows for `s`.
bool Scheduler::may_join(const Step& step, const Sequence& s,
                         const PrefixIndex::Match& match) const {
  const bool shares_prompt = s.fork_of != nullptr && s.fork_of->admitted;
  const std::int64_t own = s.missing() - (shares_prompt ? s.skippable_rows() : match.rows);
  const std::int64_t half = rows_left_ / 2;
  std::int64_t wanted = 0, ending = 0;
  for (const Prompt& prompt : prompts_) {
    const Sequence& other = *prompt.sequence;
    wanted += next_rows(other);
    if (other.missing() <= half || has_priority(other, s)) ending += other.missing();
  }
  if (s.whole) return wanted + own <= whole_rows(step);
  if (wanted < rows_left_ || ending + own <= half) return true;
  return std::ssize(prompts_) < kPromptsMax && !is_computed_soon(s, match);
}

/// Whether a running prompt soon computes rows that `s` can then take from the cache. Checks the
/// prompt of first rank and the prompt that goes first, because other prompts may get few rows.
bool Scheduler::is_computed_soon(const Sequence& s, const PrefixIndex::Match& match) const {
  const auto computes = [&](const Sequence& prompt) {
    return rows_to_share(prefixes(), s, prompt) > match.rows;
  };
  const auto next = std::min_element(
      prompts_.begin(), prompts_.end(),
      [this](const Prompt& a, const Prompt& b) { return goes_first(*a.sequence, *b.sequence); });
  return computes(first_of_rank()) || computes(*next->sequence);
}

void Scheduler::admit(Step& step, Sequence& s, const PrefixIndex::Match& match) {
  waiting_.erase(s);
  running_.push_back(&s);
  s.admitted = true;
  guarantees_.grant(s);
  ++s.admissions;
  s.terms.begin_by = kNever;
  start_sequence(prefixes(), s, match, step.copies);
  if (s.admissions == 1) {
    ++admissions_;
    s.cached = s.computed;
    cached_tokens_ += s.cached;
  }
  guarantees_.withhold(s);
  if (s.whole) return add_whole(step, s);
  prompts_.push_back({.sequence = &s});
}

std::int64_t Scheduler::queued() const {
  std::int64_t count = 0;
  waiting_.visit([&](Sequence& s) {
    count += s.may_begin() ? 1 : 0;
    return true;
  });
  return count;
}

Sequence* Scheduler::first_waiting() const {
  Sequence* first = nullptr;
  waiting_.visit([&](Sequence& s) {
    if (s.may_begin()) first = &s;
    return first == nullptr;
  });
  return first;
}

/// Releases the blocks of resting sequences, the one that has rested longest first, and then
/// preempts paused ones, until `s` can be admitted. Takes no blocks if all these sequences together
/// have too few, because the blocks would be computed again for nothing.
bool Scheduler::make_room_to_admit(Step& step, Sequence& s, const PrefixIndex::Match& match) {
  const auto is_full = [&] {
    return !resting_.empty() && std::ssize(running_) + std::ssize(resting_) >= limits_.sequences;
  };
  const auto has_room = [&] { return !is_full() && may_admit(s, match, IdleRoom::kHeld); };
  if (has_room()) return true;
  if (frees_soon() || !may_admit(s, match, IdleRoom::kFree)) return false;
  while (!has_room()) {
    if (frees_soon()) return false;
    if (!release_resting(step)) preempt(step, *last_paused());
  }
  return true;
}

std::int64_t Scheduler::running(IdleRoom idle) const {
  if (idle == IdleRoom::kHeld) return std::ssize(running_);
  return std::count_if(running_.begin(), running_.end(),
                       [](const Sequence* s) { return !s->paused; });
}

/// Whether there are blocks for all known rows of `s` and of the running sequences, and one more
/// block for each running sequence. With fewer blocks, `s` would soon be preempted. If the
/// guarantee of `s` is due, all its future rows need blocks too.
bool Scheduler::may_admit(const Sequence& s, const PrefixIndex::Match& match, IdleRoom idle) const {
  const std::int64_t running = this->running(idle);
  if (running == 0) return !frees_soon();
  if (running >= limits_.sequences) return false;
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    std::int64_t wanted = guarantees_.is_due(s)
                              ? guarantees_.blocks_max(s, g)
                              : cache_.group(g).blocks_for(s.length(), limits_.rows);
    const bool takes_over = cache_.group(g).window == 0 && match.blocks > 0;
    if (takes_over) wanted -= match.blocks - prefixes_->unheld(match, g);
    std::int64_t free = cache_.pool(g).available() - at(guarantees_.withheld(), g);
    for (const Sequence* other : running_) {
      if (!other->paused) wanted += blocks_missing(*other, g);
    }
    // Blocks that `s` takes over do not become free.
    if (idle == IdleRoom::kFree) free += held_by_idle(g, takes_over ? match : PrefixIndex::Match{});
    if (wanted + running > free) return false;
  }
  return true;
}

/// Number of blocks of group g that only resting and paused sequences hold, without those of
/// `match`. A block that several of them share counts once.
std::int64_t Scheduler::held_by_idle(std::int32_t g, const PrefixIndex::Match& match) const {
  const BlockPool& pool = cache_.pool(g);
  std::int64_t blocks = pool.idle();
  for (std::int64_t i = 0; i < match.blocks; ++i) {
    const std::int32_t block = prefixes_->found(i, g);
    if (block >= 0 && pool.is_idle(block)) --blocks;
  }
  return blocks;
}

/// Blocks of group g that a running sequence must still take for its known rows. Leaves out blocks
/// that a guarantee reserves.
std::int64_t Scheduler::blocks_missing(const Sequence& s, std::int32_t g) const {
  if (s.guaranteed) return 0;
  const std::int64_t most = cache_.group(g).blocks_for(s.length(), limits_.rows);
  return std::min(s.blocks.wanted(g, s.length()),
                  std::max<std::int64_t>(0, most - s.blocks.held(g)));
}

/// Plans up to `rows_max` of the sequence's next rows, if they have blocks.
void Scheduler::add_part(Step& step, Sequence& s, std::int64_t rows_max) {
  auto rows =
      static_cast<std::int32_t>(std::min({next_rows(s), rows_max, std::int64_t{rows_left_}}));
  if (rows <= 0 || !reserve(step, s, s.next_row(), rows)) return;
  step.parts.push_back(next_part(s, rows));
  rows_left_ -= rows;
  budget_ -= rows;
  s.in_flight += rows;
  s.pending += step.parts.back().outputs;
}

/// Whether the end of a step under way frees blocks: released ones, or blocks of drafts.
bool Scheduler::frees_soon() const {
  for (std::int32_t i = 0; i < under_way_; ++i) {
    if (step_under_way(i).verify_rows > 0) return true;
  }
  for (std::int32_t g = 0; g < cache_.groups(); ++g) {
    if (cache_.releasing(g) > 0) return true;
  }
  return false;
}

/// Reserves blocks for `rows` rows from `first` on, or for fewer rows if that avoids a preemption
/// and several steps may compute the rows. Returns false if this step has no blocks for the
/// sequence.
bool Scheduler::reserve(Step& step, Sequence& s, std::int64_t first, std::int32_t& rows) {
  for (;;) {
    guarantees_.hand_out(s);
    const std::int64_t room = s.blocks.reservable(guarantees_.withheld()) - first;
    const bool fits = room >= (s.whole && !INGOT_MUTANT(28) ? rows : 1);
    if (fits) rows = static_cast<std::int32_t>(std::min<std::int64_t>(rows, room));
    const bool reserved = fits && s.blocks.reserve(first + rows, step.copies);
    guarantees_.withhold(s);
    if (reserved) return true;
    if (fits) {
      dropped_.push_back({.sequence = &s, .reason = Dropped::Reason::kNoMemory});
      s.paused = true;  // no part of this plan either
      s.blocks.set_idle(true);
      return false;
    }
    if (frees_soon()) return false;
    if (release_resting(step)) continue;
    Sequence* const victim = victim_for(s);
    if (victim == nullptr) return false;
    preempt(step, *victim);
    if (victim == &s) return false;
  }
}

/// The sequence to preempt for `s`: the running one of the latest rank behind `s`; otherwise the
/// last paused one; otherwise `s` itself, unless its guarantee is due (null).
Sequence* Scheduler::victim_for(Sequence& s) const {
  INGOT_CHECK(running_.size() > 1, "the pool is too small for a sequence of ", s.length(),
              " tokens on its own");
  Sequence* last = &s;
  for (Sequence* other : running_) {
    if (!guarantees_.is_due(*other) && waiting_.before(*last, *other)) last = other;
  }
  if (last != &s) return last;
  if (Sequence* const paused = last_paused(); paused != nullptr) return paused;
  return guarantees_.is_due(s) ? nullptr : &s;
}

Sequence* Scheduler::last_paused() const {
  Sequence* last = nullptr;
  for (Sequence* s : running_) {
    if (s->paused && (last == nullptr || waiting_.before(*last, *s))) last = s;
  }
  return last;
}

/// Keeps the blocks of `s` that the step copies, until it has copied them.
void Scheduler::keep_copied(const Step& step, const Sequence& s) {
  for (const BlockCopy& copy : step.copies) {
    const auto table = s.blocks.table(copy.group);
    if (std::find(table.begin(), table.end(), copy.from) == table.end()) continue;
    cache_.pool(copy.group).retain(copy.from);
    cache_.release_after_next(copy.group, copy.from);
  }
}

void Scheduler::preempt(Step& step, Sequence& s) {
  const auto part = std::find_if(step.parts.begin(), step.parts.end(),
                                 [&](const StepPart& p) { return p.sequence == &s; });
  if (part != step.parts.end()) {
    rows_left_ += part->rows;
    budget_ += part->rows;
    s.pending -= part->outputs > 0 ? 1 : 0;
    step.parts.erase(part);
  }
  keep_copied(step, s);
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
  stop_running(s);
  guarantees_.withhold_all(running_);
}

void Scheduler::commit(std::span<const std::int32_t> drawn, double seconds) {
  INGOT_CHECK(under_way_ > 0, "no step is under way");
  Step& step = step_at(planned_ - under_way_);
  --under_way_;
  cache_.end_step();
  times_.add(step.decode_rows, step.rows - step.decode_rows, seconds);
  std::size_t output = 0;
  for (const StepPart& part : step.parts) {
    const auto outputs = to_size(part.outputs);
    INGOT_CHECK(output + outputs <= drawn.size(), drawn.size(), " tokens are too few for the step");
    if (part.sequence != nullptr) commit_part(part, drawn.subspan(output, outputs));
    output += outputs;
  }
  INGOT_CHECK(output == drawn.size(), drawn.size(), " tokens for ", output, " outputs");
  step.parts.clear();
}

/// A sequence that was preempted meanwhile keeps only the results that left the model.
void Scheduler::commit_part(const StepPart& part, std::span<const std::int32_t> drawn) {
  Sequence& s = *part.sequence;
  const std::int64_t last = part.first + part.rows - part.drafts + append_drawn(s, part, drawn);
  if (part.outputs > 0) {
    s.terms.first_token_by = kNever;
    --s.pending;
  }
  if (part.drafts > 0) s.verifying = 0;
  if (part.drafts > 0 || INGOT_MUTANT(37)) s.drafts.clear();
  s.score_next = std::max(s.score_next, part.first_score + part.scores);
  if (part.hidden > 0 && !s.shows_hidden)
    s.hidden_next = std::max(s.hidden_next, part.first_hidden + part.hidden);
  s.pools = s.pools && !part.pooled;
  if (!s.admitted || part.admission != s.admissions) return;
  waiting_.serve(s, part.rows);
  s.in_flight -= part.rows;
  s.computed = last;
  s.blocks.set_filled(INGOT_MUTANT(34) ? part.first + part.rows : last);
  if (part.drafts > 0 && !INGOT_MUTANT(34)) s.blocks.truncate(last);
  if (prefixes_ && s.place.node >= 0) {
    const std::int64_t known = last + (INGOT_MUTANT(33) && part.drafts > 0 ? 1 : 0);
    prefixes_->extend(s.prefix, s.place, s.tokens, std::min(known, s.token_rows()), s.blocks);
  }
  s.forget();
}

void Scheduler::abandon() {
  for (; under_way_ > 0; --under_way_) {
    Step& step = step_at(planned_ - under_way_);
    for (const StepPart& part : step.parts) {
      if (part.sequence == nullptr) continue;
      part.sequence->pending = part.sequence->in_flight = part.sequence->verifying = 0;
    }
    step.parts.clear();
    cache_.end_step();
  }
}

/// The last row that stays is computed again, because the next token is drawn from it.
bool Scheduler::can_truncate(const Sequence& s, std::int64_t rows) {
  const std::int64_t given_end = s.given.empty() ? 0 : s.given.back().end();
  return rows > given_end && rows <= s.length() &&
         s.blocks.can_share(std::min(s.computed, rows - 1), std::min(s.blocks.filled(), rows));
}

void Scheduler::truncate(Sequence& s, std::int64_t rows) {
  INGOT_CHECK(s.in_flight == 0 && s.pending == 0 && can_truncate(s, rows), "sequence ", s.id,
              " of ", s.length(), " rows truncated to ", rows);
  s.tokens.resize(to_size(rows));
  s.computed = std::min(s.computed, rows - 1);
  if (prefixes_ && !INGOT_MUTANT(18)) prefixes_->truncate(s.place, rows);
  s.blocks.truncate(rows);
}

void Scheduler::flush_prefixes() {
  if (prefixes_) prefixes_->flush();
}

MinSeconds Scheduler::min_seconds(const Sequence& s, double now) {
  const auto cached_rows = [this](const Sequence& other) {
    return find_prefix(prefixes(), other).rows;
  };
  return ingot::min_seconds(
      {.running = running_,
       .waiting = waiting_,
       .times = times_,
       .rows_max = limits_.rows,
       .overtaken_max = std::min<std::int64_t>(limits_.sequences - 1, kPromptsMax),
       .drafts_max = std::min(limits_.draft_rows, kDraftsMax),
       .cached_rows = cached_rows},
      s, now);
}

std::span<const Dropped> Scheduler::late(double now) {
  dropped_.clear();
  if (timed_ == 0) return dropped_;
  const auto check = [&](Sequence& s) {
    if (now > s.terms.begin_by) {
      dropped_.push_back({&s, Dropped::Reason::kQueue});
    } else if (now > s.terms.first_token_by) {
      dropped_.push_back({&s, Dropped::Reason::kFirstToken});
    } else if (now > s.terms.end_by) {
      dropped_.push_back({&s, Dropped::Reason::kEnd});
    }
    return true;
  };
  for (Sequence* s : running_) check(*s);
  waiting_.visit(check);
  return dropped_;
}

}  // namespace ingot
