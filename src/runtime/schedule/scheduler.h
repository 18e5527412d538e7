// Scheduler: which rows of which sequences the next step computes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kv/kv_cache.h"
#include "kv/prefix_index.h"
#include "runtime/schedule/sequence.h"
#include "runtime/schedule/step_times.h"
#include "runtime/schedule/waiting_queue.h"

namespace ingot {

/// Bounds of a step, and how sequences share the machine.
struct SchedulerLimits {
  std::int32_t rows = 0;       ///< in all; at least `sequences`
  std::int32_t sequences = 0;  ///< that run at once
  /// Steps that are planned before the first of them is committed: 2 for devices that run beside
  /// the host.
  std::int32_t pipeline_depth = 1;
  /// Seconds that a step may take for the rows of prompts in it, where others wait for their next
  /// token; 0 = in proportion to what a step without such rows takes.
  double step_seconds = 0;
  /// Times that a sequence gives way; afterwards it waits until the pool has room for all that it
  /// will ever have, and keeps that.
  std::int32_t preemptions_max = 4;
  bool prefix_cache = true;
  PrefixIndexOptions prefix{};
  WaitingOptions waiting{};
};

/// A sequence that the scheduler gave up; its owner ends and removes it.
struct Dropped {
  enum class Reason {
    kNoMemory,    ///< its blocks could not be had, although the pool has them
    kQueue,       ///< it did not begin in time
    kFirstToken,  ///< its first token did not come in time
    kEnd,         ///< its end did not come in time
  };
  Sequence* sequence = nullptr;
  Reason reason = Reason::kNoMemory;
};

/// Seconds until a sequence's first token, and until its end.
struct MinSeconds {
  double first_token = 0;
  double end = 0;
};

/// Decides from lengths, free blocks and the times that it is told: no clock, no device, no thread,
/// no I/O.
///
/// There are no phases. A step closes what sequences are missing for as many as rows and blocks
/// allow: first those that lack one row, so that nobody's next token waits for a long prompt; then
/// the others that run, as many rows as the step's time allows; then those that wait. When blocks
/// run out, a sequence of later rank gives all of its own back and waits, ahead of new ones, to be
/// computed again. A paused sequence keeps its place and blocks until somebody needs them.
///
/// Full blocks of computed tokens are registered in a prefix index, from which sequences begin. A
/// plan may be made before earlier ones are committed: a row then stands for a token that is still
/// being drawn, and what was released stays until the steps that may read it are done.
class Scheduler {
 public:
  Scheduler(KvCache& cache, const SchedulerLimits& limits);

  /// Whether a sequence that grows to `tokens` could run with the pool to itself.
  bool fits_alone(std::int64_t tokens) const;

  /// A new sequence, which waits; `fits_alone` has to hold for all it will grow to. It stays the
  /// caller's, who calls `remove` before it goes.
  void add(Sequence& sequence);
  /// Takes a sequence out, wherever it is, and gives its blocks back: those that are registered can
  /// be found until they are needed. What planned steps compute for it is dropped.
  void remove(Sequence& sequence);

  /// Sequences whose time is over, to be removed before the next plan.
  std::span<const Dropped> late(double now);
  /// The next step: parts with their blocks reserved, at most one of each sequence. Empty when
  /// there is nothing to do; else it is under way until its `commit`. Valid until then. At most
  /// `pipeline_depth` are under way.
  const Step& plan();
  /// Takes what the oldest step under way produced, which took so long: each part's rows are
  /// computed, and `drawn` holds the token that goes on each part with an output, in order; -1
  /// appends none.
  void commit(std::span<const std::int32_t> drawn, double seconds);
  /// Drops all steps under way: their sequences are about to be removed, and whoever computes them
  /// is at rest.
  void abandon();
  /// Takes the tokens of a sequence after row `rows` back, at least one row staying. What was
  /// computed of them is lost, blocks beyond them are given back, and inside a block that is known
  /// or shared the next write copies.
  ///
  /// Errors: rows of it under way, or `can_truncate` not holding, is a bug.
  void truncate(Sequence& sequence, std::int64_t rows);
  /// Whether all that the rows to come would see is there. Nothing can be taken back of embeddings.
  static bool can_truncate(const Sequence& sequence, std::int64_t rows);
  /// Sequences that the last plan gave up, for whom there is no part.
  std::span<const Dropped> dropped() const { return dropped_; }
  /// Of a sequence that was added, at the best rate that was measured: what is missing of its own
  /// prompt and of those that are sure to come before it. Where all that would be too late, no more
  /// than it takes unless some of those leave: without what is there already, and with what several
  /// could share counted once; 128 prompts are looked at then. 0 before enough was measured.
  /// Errors: std::bad_alloc.
  MinSeconds min_seconds(const Sequence& sequence, double now);

  /// Forgets all prefixes that are not in use.
  void flush_prefixes();

  std::int64_t running() const { return std::ssize(running_); }
  std::int64_t waiting() const { return waiting_.size(); }
  /// Of those that wait, how many only lack room.
  std::int64_t queued() const;
  /// Tenants that have sequences.
  std::int64_t tenants() const { return waiting_.tenants(); }
  /// Steps that are planned and not committed, and number `i` of them, the oldest one first.
  std::int32_t under_way() const { return under_way_; }
  const Step& step_under_way(std::int32_t i) const {
    const std::int64_t number = planned_ - under_way_ + i;
    return steps_[static_cast<std::size_t>(number % limits_.pipeline_depth)];
  }
  std::int64_t preemptions() const { return preemptions_; }
  /// Sequences that have begun to run.
  std::int64_t admissions() const { return admissions_; }
  /// Rows that sequences began with, summed over all.
  std::int64_t cached_tokens() const { return cached_tokens_; }
  std::span<Sequence* const> running_sequences() const { return running_; }
  /// Blocks of group g that nobody holds and that running sequences are sure of.
  std::int64_t reserved(std::int32_t g) const;
  const PrefixIndex* prefixes() const { return prefixes_ ? &*prefixes_ : nullptr; }
  PrefixIndex* prefixes() { return prefixes_ ? &*prefixes_ : nullptr; }
  const StepTimes& times() const { return times_; }
  const SchedulerLimits& limits() const { return limits_; }

 private:
  /// Whether the places and blocks of paused sequences count as free.
  enum class PausedRoom { kHeld, kFree };

  Step& step_at(std::int64_t number) {
    return steps_[static_cast<std::size_t>(number % limits_.pipeline_depth)];
  }
  void fill(Step& step);
  bool make_way(Step& step);
  void plan_running(Step& step, bool one_row);
  std::int32_t prompt_rows(std::int32_t decodes) const;
  void admit(Step& step);
  Sequence* first_waiting() const;
  std::int64_t running(PausedRoom paused) const;
  bool may_begin(Sequence& s) const;
  bool make_room_to_admit(Step& step, Sequence& s, const PrefixIndex::Match& match);
  bool may_admit(const Sequence& s, const PrefixIndex::Match& match, PausedRoom paused) const;
  PrefixIndex::Match find_prefix(const Sequence& s);
  void visit_before(const Sequence& s, FunctionRef<bool(const Sequence&)> visit) const;
  void begin(Step& step, Sequence& s, const PrefixIndex::Match& match);
  bool fork(Step& step, Sequence& s);
  void add_part(Step& step, Sequence& s, std::int32_t rows_max);
  bool reserve(Step& step, Sequence& s, std::int64_t first, std::int32_t& rows);
  bool is_guaranteed(const Sequence& s) const { return s.preemptions >= limits_.preemptions_max; }
  std::int64_t blocks_in_all(const Sequence& s, std::int32_t g) const;
  std::int64_t blocks_to_come(const Sequence& s, std::int32_t g) const;
  void withhold(const Sequence& s, std::int64_t sign);
  void withhold_all();
  bool is_releasing() const;
  Sequence* victim_for(Sequence& s) const;
  Sequence* last_paused() const;
  void preempt(Step& step, Sequence& s);
  void give_back(Sequence& s);
  void commit_part(const StepPart& part);

  KvCache& cache_;
  SchedulerLimits limits_;
  std::optional<PrefixIndex> prefixes_;
  WaitingQueue waiting_;
  StepTimes times_;
  std::vector<Sequence*> running_;  ///< in order of admission
  std::vector<Sequence*> order_;    ///< those that ran when planning began
  std::vector<Step> steps_;         ///< a ring
  std::int64_t planned_ = 0;        ///< steps so far
  std::int32_t under_way_ = 0;
  std::vector<Dropped> dropped_;
  std::vector<std::int64_t> withheld_;  ///< by group: blocks that others are sure of
  std::int32_t rows_left_ = 0;
  bool is_full_ = false;         ///< the last one that waited could not be let in
  std::int64_t timed_ = 0;       ///< sequences with a deadline
  std::int64_t guaranteed_ = 0;  ///< running ones that are sure of their blocks
  std::int64_t preemptions_ = 0;
  std::int64_t admissions_ = 0;
  std::int64_t cached_tokens_ = 0;
};

}  // namespace ingot
