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

/// Limits of a step, and options for how sequences share the steps and the cache.
struct SchedulerLimits {
  std::int32_t rows = 0;       ///< token budget of a step; at least `sequences`
  std::int32_t sequences = 0;  ///< limit on the sequences that run at once
  /// Limit on the steps under way (planned and not committed): 1, or 2 for devices that compute
  /// while the host plans the next step.
  std::int32_t pipeline_depth = 1;
  std::int32_t draft_rows = 0;  ///< limit on the rows of a step that are drafts
  /// Limit in seconds on a step that computes prompt rows while other sequences decode. 0 = the
  /// limit is proportional to the time of a step without prompt rows.
  double step_seconds = 0;
  /// Number of preemptions after which a sequence gets a guarantee: the scheduler admits it only
  /// when it can reserve all blocks that the sequence may ever need.
  std::int32_t preemptions_max = 4;
  bool prefix_cache = true;
  PrefixIndexOptions prefix{};
  WaitingOptions waiting{};
};

/// A sequence that cannot continue, and the reason. The caller must end and remove the sequence.
struct Dropped {
  enum class Reason {
    kNoMemory,    ///< the host has no memory for the sequence's block table
    kQueue,       ///< the sequence was not admitted before its deadline
    kFirstToken,  ///< the deadline for drawing the first token passed
    kEnd,         ///< the sequence did not end before its deadline
  };
  Sequence* sequence = nullptr;
  Reason reason = Reason::kNoMemory;
};

/// Plans steps from sequence lengths, free blocks and given times. Uses no clock, device or thread.
///
/// Prefill and decode share a step. A step computes missing rows within its token budget and the
/// free blocks: first one row of each decoding sequence, so that decoding never waits for a long
/// prompt; then rows of prompts, within the step's time limit. The prompt of first rank gets at
/// least a quarter of the prompt rows. Any other prompt gets at least 1/64; with more than 49
/// prompts, an equal part of three quarters. Other rows go to the prompts with the fewest missing
/// rows, so that short prompts do not wait for a long one. Waiting sequences are admitted in order.
/// If blocks run out, resting sequences lose theirs. Then the running sequence with the latest rank
/// is preempted. It releases its blocks, and waits ahead of new sequences. A paused sequence keeps
/// its blocks until another sequence needs blocks.
///
/// A decoding sequence may have drafts. They get the rows and blocks that are left when all else is
/// planned, and never preempt. `commit` keeps the rows of accepted drafts: those equal to the drawn
/// tokens. Rows of rejected drafts leave their blocks again.
///
/// One step computes all rows of a `whole` sequence. Such a sequence is admitted once its rows fit
/// the step together with all rows that running prompts miss. Sequences behind it wait.
///
/// Full blocks of computed tokens enter a prefix index. A later sequence with the same first tokens
/// starts with these blocks. With a pipeline depth of 2, a row may stand for a token that is still
/// being drawn. A released block is reused only after the steps that may read the block have ended.
class Scheduler {
 public:
  Scheduler(KvCache& cache, const SchedulerLimits& limits);

  /// Returns whether the pools are large enough for a sequence of `tokens` tokens that runs alone.
  bool fits_alone(std::int64_t tokens) const;

  /// Adds a new sequence to the waiting queue; `fits_alone` must be true for its final length. The
  /// caller owns the sequence and calls `remove` before it destroys the sequence.
  void add(Sequence& sequence);
  /// Removes a running or waiting sequence and releases its blocks. Later sequences find its cached
  /// blocks until the blocks are evicted. `commit` drops results for a removed sequence.
  void remove(Sequence& sequence);

  /// Ends a running or waiting sequence like `remove`. But a running sequence keeps its computed
  /// rows: it rests. A resting sequence neither runs nor waits, and holds its blocks only until
  /// another sequence needs them; the one that has rested longest loses them first. `admitted` says
  /// whether it still has them.
  void rest(Sequence& sequence);
  /// Adds a new sequence like `add`, in place of `before`, a sequence that was given to `rest`. If
  /// `before` still has its blocks, `sequence` runs at once, and takes over the blocks of the rows
  /// that both have in common. Removes `before`.
  void add_after(Sequence& sequence, Sequence& before);

  /// Finds the sequences whose deadline has passed. The caller removes them before the next `plan`.
  std::span<const Dropped> late(double now);
  /// Plans the next step, with at most one part for each sequence, and reserves blocks for its
  /// rows. A step without parts has nothing to compute. A step with parts is under way until
  /// `commit`, which also invalidates the reference. At most `pipeline_depth` steps are under way.
  const Step& plan();
  /// Records the results of the oldest step under way, a step of `seconds` seconds. `drawn` has an
  /// id for each row of logits. Each part's ids are appended to its sequence, up to the first -1.
  /// An id that differs from the part's draft must be the part's last one.
  void commit(std::span<const std::int32_t> drawn, double seconds);
  /// Drops all steps under way. Call it when nothing computes these steps any more. The caller must
  /// then remove the steps' sequences.
  void abandon();
  /// Shortens a sequence to its first `rows` >= 1 rows. Drops later tokens with their computed rows
  /// and blocks. If the last block is cached or shared, the next write copies this block first.
  ///
  /// Errors: it is a bug if rows are under way or `can_truncate` returns false.
  void truncate(Sequence& sequence, std::int64_t rows);
  /// Returns whether the blocks still hold all keys that `truncate(sequence, rows)` needs. Returns
  /// false also if it would drop an embedding, or keep no token behind the last one.
  static bool can_truncate(const Sequence& sequence, std::int64_t rows);
  /// Sequences that cannot continue, found by the last `plan` or `late`. `plan` gives them no part.
  std::span<const Dropped> dropped() const { return dropped_; }
  /// Predicts the least seconds until a waiting sequence draws its first token and until it ends:
  /// see deadlines.h. Errors: std::bad_alloc.
  MinSeconds min_seconds(const Sequence& sequence, double now);

  /// Forgets all cached prefixes, so that later sequences do not find them.
  void flush_prefixes();

  std::int64_t running() const { return std::ssize(running_); }
  std::int64_t waiting() const { return waiting_.size(); }
  /// Returns the number of waiting sequences that the next step could admit if it had room.
  std::int64_t queued() const;
  /// Returns the number of tenants with waiting or running sequences.
  std::int64_t tenants() const { return waiting_.tenants(); }
  /// Returns the number of steps planned so far.
  std::int64_t planned() const { return planned_; }
  /// Returns the number of planned steps not yet committed; `step_under_way(0)` is the oldest one.
  std::int32_t under_way() const { return under_way_; }
  const Step& step_under_way(std::int32_t i) const {
    return at(steps_, (planned_ - under_way_ + i) % limits_.pipeline_depth);
  }
  std::int64_t preemptions() const { return preemptions_; }
  /// Returns the number of sequences admitted so far. Counts each sequence once.
  std::int64_t admissions() const { return admissions_; }
  /// Returns the number of rows that sequences took from the cache at their first admission.
  std::int64_t cached_tokens() const { return cached_tokens_; }
  std::span<Sequence* const> running_sequences() const { return running_; }
  /// Returns the sequences that rest with their blocks, the one that has rested longest first.
  std::span<Sequence* const> resting_sequences() const { return resting_; }
  /// Returns the number of available blocks of group g that guarantees reserve for sequences.
  std::int64_t reserved(std::int32_t g) const { return guarantees_.reserved(running_, g); }
  const PrefixIndex* prefixes() const { return prefixes_ ? &*prefixes_ : nullptr; }
  PrefixIndex* prefixes() { return prefixes_ ? &*prefixes_ : nullptr; }
  const StepTimes& times() const { return times_; }
  const SchedulerLimits& limits() const { return limits_; }

 private:
  /// kHeld: paused sequences count as running, and they and resting sequences hold their blocks.
  /// kFree: as if these sequences had lost their blocks.
  enum class IdleRoom { kHeld, kFree };
  /// A running prompt that shares the planned step's prompt rows.
  struct Prompt {
    Sequence* sequence = nullptr;
    std::int64_t share = 0;  ///< number of rows that other prompts leave to it
  };

  Step& step_at(std::int64_t number) { return at(steps_, number % limits_.pipeline_depth); }
  static void group_by_adapters(Step& step);
  void fill(Step& step);
  bool break_deadlock(Step& step);
  void plan_decodes(Step& step);
  void plan_prompts(Step& step);
  std::int64_t set_shares();
  const Sequence& first_of_rank() const;
  bool goes_first(const Sequence& a, const Sequence& b) const;
  bool has_priority(const Sequence& a, const Sequence& b) const;
  std::int32_t prompt_rows(std::int32_t decodes) const;
  void plan_wholes(Step& step);
  std::int64_t whole_rows(const Step& step) const;
  void add_whole(Step& step, Sequence& s);
  void add_drafts(Step& step);
  std::int64_t draft_room(const Sequence& s) const;
  void admit_waiting(Step& step);
  bool may_join(const Step& step, const Sequence& s, const PrefixIndex::Match& match) const;
  bool is_computed_soon(const Sequence& s, const PrefixIndex::Match& match) const;
  void admit(Step& step, Sequence& s, const PrefixIndex::Match& match);
  Sequence* first_waiting() const;
  std::int64_t running(IdleRoom idle) const;
  bool make_room_to_admit(Step& step, Sequence& s, const PrefixIndex::Match& match);
  bool may_admit(const Sequence& s, const PrefixIndex::Match& match, IdleRoom idle) const;
  std::int64_t held_by_idle(std::int32_t g, const PrefixIndex::Match& match) const;
  std::int64_t blocks_missing(const Sequence& s, std::int32_t g) const;
  void add_part(Step& step, Sequence& s, std::int64_t rows_max);
  bool reserve(Step& step, Sequence& s, std::int64_t first, std::int32_t& rows);
  bool frees_soon() const;
  Sequence* victim_for(Sequence& s) const;
  Sequence* last_paused() const;
  void preempt(Step& step, Sequence& s);
  void stop_running(Sequence& s);
  void leave_steps(Sequence& s);
  bool take_over(Sequence& s, Sequence& before);
  bool release_resting(Step& step);
  void keep_copied(const Step& step, const Sequence& s);
  void commit_part(const StepPart& part, std::span<const std::int32_t> drawn);

  KvCache& cache_;
  SchedulerLimits limits_;
  std::optional<PrefixIndex> prefixes_;
  WaitingQueue waiting_;
  StepTimes times_;
  GuaranteedBlocks guarantees_;
  std::vector<Sequence*> running_;  ///< in order of admission
  std::vector<Sequence*> resting_;  ///< see `rest`; with `running_`, at most `limits_.sequences`
  std::vector<Sequence*> order_;    ///< copy of `running_` from the start of `plan`
  std::vector<Prompt> prompts_;     ///< prompts of the planned step
  std::vector<Step> steps_;         ///< step n at index n modulo the pipeline depth
  std::int64_t planned_ = 0;        ///< number of steps planned so far
  std::int32_t under_way_ = 0;
  std::vector<Dropped> dropped_;
  std::int32_t rows_left_ = 0;  ///< number of rows that may still be added to the planned step
  std::int32_t budget_ = 0;     ///< the same number, if steps had no time limit
  bool is_full_ = false;        ///< true if the first waiting sequence could not be admitted
  std::int64_t timed_ = 0;      ///< number of sequences with a deadline
  std::int64_t preemptions_ = 0;
  std::int64_t admissions_ = 0;
  std::int64_t cached_tokens_ = 0;
};

}  // namespace ingot
