// Scheduler: which rows of which sequences the next step computes.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "kv/kv_cache.h"
#include "runtime/kept_prefixes.h"
#include "runtime/sequence.h"

namespace ingot {

/// Bounds of a step.
struct SchedulerLimits {
  std::int32_t rows = 0;       ///< in all; at least `sequences`
  std::int32_t sequences = 0;  ///< that run at once
  std::size_t kept = 0;        ///< conversations whose last turn stays computed
};

/// Decides from lengths and free blocks alone: no clock, no device, no thread, no I/O.
///
/// There are no phases. A step closes `length - computed` for as many sequences as rows and blocks
/// allow: first the sequences that lack one row, so that nobody's next token waits for a long
/// prompt; then the others that run; then those that wait, first come first served. When blocks run
/// out, the sequence that was admitted last gives all of its own back and waits, ahead of the rest,
/// to be computed again. A paused sequence keeps its place and blocks until somebody who waits
/// needs them. Blocks of ended turns go before anybody gives way.
class Scheduler {
 public:
  Scheduler(KvCache& cache, const SchedulerLimits& limits);

  /// Whether a sequence that grows to `tokens` could run with the pool to itself.
  bool fits_alone(std::int64_t tokens) const;

  /// A new sequence at the end of those that wait; `fits_alone` has to hold for all it will grow
  /// to. It stays the caller's, who calls `remove` before it goes.
  void add(Sequence& sequence);
  /// Takes a sequence out, wherever it is, and gives its blocks back. A step under way goes on
  /// without it only to be dropped: no commit follows.
  void remove(Sequence& sequence);
  /// Takes out a sequence that came to its end: what it computed stays for the next turn of its
  /// conversation, and nothing is left of the sequence itself.
  void retire(Sequence& sequence);

  /// The next step: parts with their blocks reserved, at most one of each sequence. Empty when
  /// there is nothing to do, or all who have something to do are paused. Valid until `commit`.
  std::span<const StepPart> plan();
  /// Takes what the planned step produced: each part's rows are computed, and `drawn` holds the
  /// token that goes on each part with an output, in order; -1 appends none.
  void commit(std::span<const std::int32_t> drawn);

  std::int64_t running() const { return std::ssize(running_); }
  std::int64_t waiting() const { return std::ssize(waiting_); }
  std::int64_t preemptions() const { return preemptions_; }
  /// Blocks of group g that no sequence holds, but that are kept for turns to come.
  std::int64_t kept(std::int32_t g) const { return kept_.held(g); }

 private:
  /// Whether the places and blocks of paused sequences count as free.
  enum class PausedRoom { kHeld, kFree };

  void plan_running(bool one_row);
  void admit();
  bool make_room_to_admit(const Sequence& sequence);
  bool may_admit(const Sequence& sequence, PausedRoom paused) const;
  void add_part(Sequence& s);
  bool reserve(Sequence& s, std::int32_t& rows);
  Sequence& victim_for(Sequence& s) const;
  Sequence* last_paused() const;
  void preempt(Sequence& s);

  KvCache& cache_;
  SchedulerLimits limits_;
  KeptPrefixes kept_;
  std::vector<Sequence*> running_;  ///< in order of admission
  std::vector<Sequence*> order_;    ///< those that ran when planning began
  std::deque<Sequence*> waiting_;   ///< those that were preempted first, then in order of arrival
  std::vector<StepPart> parts_;
  std::int32_t rows_left_ = 0;
  std::int64_t preemptions_ = 0;
};

}  // namespace ingot
