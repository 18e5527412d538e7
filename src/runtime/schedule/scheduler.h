// Scheduler: decides which rows of which sequences the next step computes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kv/kv_cache.h"
#include "kv/prefix_index.h"
#include "runtime/schedule/deadlines.h"
#include "runtime/schedule/guaranteed_blocks.h"
#include "runtime/schedule/sequence.h"
#include "runtime/schedule/step.h"
#include "runtime/schedule/step_times.h"
#include "runtime/schedule/waiting_queue.h"

namespace ingot {

/// Bounds of a step, and how sequences share the machine.
struct SchedulerLimits {
  std::int32_t rows = 0;       ///< token budget of a step; at least `sequences`
  std::int32_t sequences = 0;  ///< sequences that run at once
  /// Steps that are planned before the first of them is committed: 2 for devices that compute
  /// beside the host.
  std::int32_t pipeline_depth = 1;
  /// Seconds that a step with prompt rows may take while other sequences decode; 0 = in proportion
  /// to a step without prompt rows.
  double step_seconds = 0;
  /// Preemptions of a sequence. Then it waits until the pool has room for all that it may need, and
  /// keeps that room.
  std::int32_t preemptions_max = 4;
  bool prefix_cache = true;
  PrefixIndexOptions prefix{};
  WaitingOptions waiting{};
};

/// A sequence that the scheduler gives up. The caller ends and removes it.
struct Dropped {
  enum class Reason {
    kNoMemory,    ///< the host has no memory for its blocks, although the pool has some
    kQueue,       ///< it did not begin in time
    kFirstToken,  ///< its first token did not come in time
    kEnd,         ///< its end did not come in time
  };
  Sequence* sequence = nullptr;
  Reason reason = Reason::kNoMemory;
};

/// Decides from lengths, free blocks and the times that it is told. Has no clock, device, thread or
/// I/O.
///
/// There are no phases. A step computes the missing rows of as many sequences as rows and blocks
/// allow: first one row of each decoding sequence, so that no next token waits for a long prompt;
/// then rows of running prompts, as many as the step's time allows; then waiting sequences. When
/// blocks run out, the running sequence of latest rank is preempted: it releases all its blocks and
/// waits, ahead of new sequences. A paused sequence keeps its place and blocks until another needs
/// them.
///
/// Full blocks of computed tokens enter a prefix index, from which sequences begin. With a pipeline
/// depth of 2, a row may stand for a token that is still being drawn, and released blocks stay as
/// they are until the steps that may read them are over.
class Scheduler {
 public:
  Scheduler(KvCache& cache, const SchedulerLimits& limits);

  /// Whether a sequence that grows to `tokens` could run alone.
  bool fits_alone(std::int64_t tokens) const;

  /// Adds a new sequence to the waiting line; `fits_alone` has to hold for its final length. The
  /// caller owns it and calls `remove` before it destroys it.
  void add(Sequence& sequence);
  /// Removes a sequence, running or waiting, and releases its blocks: cached ones can be found
  /// until they are evicted. What steps under way compute for it is dropped.
  void remove(Sequence& sequence);

  /// Sequences whose deadline is over, to be removed before the next plan.
  std::span<const Dropped> late(double now);
  /// Plans the next step and reserves its blocks: at most one part of each sequence. Without parts
  /// there is nothing to do; else the step is under way, and valid, until its `commit`. At most
  /// `pipeline_depth` steps are under way.
  const Step& plan();
  /// Takes the results of the oldest step under way, which took `seconds`. `drawn` has a token for
  /// each part with an output, in order, which its sequence continues with; -1 appends none.
  void commit(std::span<const std::int32_t> drawn, double seconds);
  /// Drops all steps under way, which nothing computes any more. Their sequences must be removed.
  void abandon();
  /// Takes back the tokens of a sequence after row `rows`; at least one row stays. Drops the rows
  /// computed from them and releases later blocks. Inside a cached or shared block the next write
  /// copies the block first.
  ///
  /// Errors: rows under way, or a `can_truncate` that does not hold, are bugs.
  void truncate(Sequence& sequence, std::int64_t rows);
  /// Whether all keys that later rows see are still there. Embeddings cannot be taken back.
  static bool can_truncate(const Sequence& sequence, std::int64_t rows);
  /// Sequences that the last plan gave up. They have no part in it.
  std::span<const Dropped> dropped() const { return dropped_; }
  /// The least time until the first token and the end of a sequence that was added: see
  /// deadlines.h. Errors: std::bad_alloc.
  MinSeconds min_seconds(const Sequence& sequence, double now);

  /// Forgets all prefixes that no sequence uses.
  void flush_prefixes();

  std::int64_t running() const { return std::ssize(running_); }
  std::int64_t waiting() const { return waiting_.size(); }
  /// Waiting sequences that only lack room.
  std::int64_t queued() const;
  /// Tenants that have sequences.
  std::int64_t tenants() const { return waiting_.tenants(); }
  /// Steps planned so far.
  std::int64_t planned() const { return planned_; }
  /// Steps that are planned and not committed, and number `i` of them, the oldest first.
  std::int32_t under_way() const { return under_way_; }
  const Step& step_under_way(std::int32_t i) const {
    return at(steps_, (planned_ - under_way_ + i) % limits_.pipeline_depth);
  }
  std::int64_t preemptions() const { return preemptions_; }
  /// Sequences that were ever admitted.
  std::int64_t admissions() const { return admissions_; }
  /// Rows that were cached at the first admission, summed over all sequences.
  std::int64_t cached_tokens() const { return cached_tokens_; }
  std::span<Sequence* const> running_sequences() const { return running_; }
  /// Free and evictable blocks of group g that are kept by guarantees.
  std::int64_t reserved(std::int32_t g) const { return guarantees_.reserved(running_, g); }
  const PrefixIndex* prefixes() const { return prefixes_ ? &*prefixes_ : nullptr; }
  PrefixIndex* prefixes() { return prefixes_ ? &*prefixes_ : nullptr; }
  const StepTimes& times() const { return times_; }
  const SchedulerLimits& limits() const { return limits_; }

 private:
  /// Whether the places and blocks of paused sequences count as free.
  enum class PausedRoom { kHeld, kFree };

  Step& step_at(std::int64_t number) { return at(steps_, number % limits_.pipeline_depth); }
  void fill(Step& step);
  bool break_deadlock(Step& step);
  void plan_running(Step& step, bool decodes);
  std::int32_t prompt_rows(std::int32_t decodes) const;
  void admit_waiting(Step& step);
  void admit(Step& step, Sequence& s, const PrefixIndex::Match& match);
  Sequence* first_waiting() const;
  std::int64_t running(PausedRoom paused) const;
  bool make_room_to_admit(Step& step, Sequence& s, const PrefixIndex::Match& match);
  bool may_admit(const Sequence& s, const PrefixIndex::Match& match, PausedRoom paused) const;
  void add_part(Step& step, Sequence& s);
  bool reserve(Step& step, Sequence& s, std::int64_t first, std::int32_t& rows);
  bool is_releasing() const;
  Sequence* victim_for(Sequence& s) const;
  Sequence* last_paused() const;
  void preempt(Step& step, Sequence& s);
  void stop_running(Sequence& s);
  void commit_part(const StepPart& part);

  KvCache& cache_;
  SchedulerLimits limits_;
  std::optional<PrefixIndex> prefixes_;
  WaitingQueue waiting_;
  StepTimes times_;
  GuaranteedBlocks guarantees_;
  std::vector<Sequence*> running_;  ///< in order of admission
  std::vector<Sequence*> order_;    ///< `running_` when planning began
  std::vector<Step> steps_;         ///< step n at n modulo the pipeline depth
  std::int64_t planned_ = 0;        ///< steps so far
  std::int32_t under_way_ = 0;
  std::vector<Dropped> dropped_;
  std::int32_t rows_left_ = 0;
  bool is_full_ = false;    ///< the last waiting sequence could not be admitted
  std::int64_t timed_ = 0;  ///< sequences with a deadline
  std::int64_t preemptions_ = 0;
  std::int64_t admissions_ = 0;
  std::int64_t cached_tokens_ = 0;
};

}  // namespace ingot
