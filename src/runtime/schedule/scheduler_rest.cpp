// Scheduler: sequences that rest between two requests with the blocks of their computed rows.
#include <algorithm>
#include <utility>

#include "kv/mutant.h"
#include "runtime/schedule/scheduler.h"

namespace ingot {

void Scheduler::rest(Sequence& s) {
  if (!s.admitted || s.forked) return remove(s);
  std::erase(running_, &s);
  leave_steps(s);
  guarantees_.revoke(s);
  s.in_flight = s.pending = 0;
  s.adapters = nullptr;  // the next request brings its own
  s.blocks.set_idle(true);
  resting_.push_back(&s);
}

void Scheduler::add_after(Sequence& s, Sequence& before) {
  add(s);
  if (take_over(s, before)) {
    std::erase(resting_, &before);
    before.admitted = false;
    waiting_.erase(s);
    running_.push_back(&s);
  } else if (INGOT_MUTANT(30)) {
    waiting_.erase(s);
    waiting_.add_returned(s);
  }
  remove(before);
}

/// Gives `s` the blocks of `before`, as far as both have equal rows. Returns false if there are no
/// such blocks. Rows that must be computed again may see keys that no block holds any more.
bool Scheduler::take_over(Sequence& s, Sequence& before) {
  if (!before.admitted || s.prefix != before.prefix || guarantees_.is_due(s)) return false;
  const std::int64_t rows =
      std::min(INGOT_MUTANT(27) ? s.length() : common_rows(s, before), before.blocks.filled());
  const std::int64_t computed = std::min({rows, before.computed, s.skippable_rows()});
  if (computed <= 0 || !before.blocks.can_share(computed, rows)) return false;
  before.blocks.set_idle(false);
  s.blocks = std::move(before.blocks);
  s.place = std::exchange(before.place, {});
  if (prefixes_) prefixes_->truncate(s.place, rows);
  s.blocks.truncate(rows);
  s.admitted = true;
  ++s.admissions;
  ++admissions_;
  s.terms.begin_by = kNever;
  s.computed = s.cached = computed;
  return true;
}

/// Releases the blocks of the sequence that has rested longest. Returns false if none rests.
bool Scheduler::release_resting(Step& step) {
  if (resting_.empty()) return false;
  Sequence& s = *resting_.front();
  resting_.erase(resting_.begin());
  keep_copied(step, s);
  stop_running(s);
  return true;
}

}  // namespace ingot
