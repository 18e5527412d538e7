// Sequence: one choice's tokens, its number of computed rows, and its state in the scheduler.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/index.h"
#include "base/view.h"
#include "kv/kv_cache.h"
#include "kv/prefix_index.h"
#include "runtime/adapters/adapter_list.h"
#include "runtime/schedule/clock.h"

namespace ingot {

class RunningRequest;

/// Tenant, priority and deadlines of a sequence. Times are seconds of the caller's clock.
struct SchedulingTerms {
  std::uint64_t tenant = 0;        ///< the tenant whose share includes the sequence's rows
  std::int32_t priority = 0;       ///< smaller values come first; only Policy::kPriority uses it
  double arrival = 0;              ///< time of submission
  double begin_by = kNever;        ///< latest time of the first admission
  double first_token_by = kNever;  ///< latest time at which the first token may be drawn
  double end_by = kNever;          ///< latest time at which the sequence may end
  std::int64_t tokens_min = 1;     ///< least number of tokens that the sequence draws

  bool has_deadline() const { return std::min({begin_by, first_token_by, end_by}) < kNever; }
};

/// Stands in a list of token ids for a row whose embedding is given in place of a token.
inline constexpr std::int32_t kGivenRow = -1;

/// Consecutive rows of a sequence that are embeddings, from row `first` on.
struct GivenRows {
  std::int64_t first = 0;
  View rows;  ///< [n, H] float32

  std::int64_t end() const { return first + rows.rows; }
};

/// The rows of one choice (tokens and embeddings), the number of computed rows, and the blocks with
/// the keys and values of the computed rows.
struct Sequence {
  explicit Sequence(KvCache& cache) : blocks(cache) {}

  std::uint64_t id = 0;               ///< the id of its RunningRequest
  RunningRequest* request = nullptr;  ///< null in tests without requests
  /// The token of each row: first the prompt's, then drawn tokens. kGivenRow for rows in `given`.
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> types;  ///< type of each row of the prompt; empty: all 0
  std::vector<GivenRows> given;     ///< rows that are embeddings, in the order of rows
  /// Tokens that may follow the last one, to be verified by the sequence's next part. They are not
  /// among `tokens`. They must not change while `verifying` > 0.
  std::vector<std::int32_t> drafts;
  std::int64_t computed = 0;  ///< number of first rows with keys and values in `blocks`
  std::int64_t rows_max =
      std::numeric_limits<std::int64_t>::max();  ///< limit on the number of rows of the sequence
  SequenceBlocks blocks;
  SchedulingTerms terms;

  std::shared_ptr<const AdapterList> adapters;  ///< adapters of all rows; null: none

  // How the sequence shares blocks with other sequences.
  PrefixKey prefix;
  std::uint64_t chat_template = 0;  ///< id of the template, to explain cache misses; 0 = unknown
  Sequence* fork_of = nullptr;      ///< the prompt's first choice; this choice can share its blocks
  bool reads_cache = true;          ///< whether the sequence may start with cached blocks

  /// The model must still score rows [score_next, score_end): compute the log-probability of each
  /// row's next token. No row is scored again after a preemption.
  std::int64_t score_next = 0;
  std::int64_t score_end = 0;
  /// The model must still return hidden states of rows [hidden_next, hidden_end), each row once.
  std::int64_t hidden_next = 0;
  std::int64_t hidden_end = 0;
  bool final_norm = true;     ///< true: return hidden states after the final norm; false: before it
  bool pools = false;         ///< whether the model must still return the pooled result
  bool whole = false;         ///< whether one step must compute all rows, and none may be cached
  bool shows_hidden = false;  ///< whether a Drafter gets the hidden states of all computed rows
  bool draws = true;          ///< whether a token is drawn from the last row
  /// Whether a step may continue a token that a step under way still draws. False if the host
  /// draws, or if the token decides which tokens may come next.
  bool draws_ahead = true;
  bool awaits_drafts = false;  ///< whether no step may continue a token that is still being drawn
  bool paused = false;         ///< true if the reader is too slow; the scheduler then plans no rows
  /// Limit on `pending`: number of tokens for which the reader's queue has room.
  std::int64_t room = std::numeric_limits<std::int64_t>::max();

  // State that only the scheduler changes.
  bool admitted = false;         ///< true: running; false: waiting
  bool known = false;            ///< true from Scheduler::add until Scheduler::remove
  bool timed = false;            ///< true if counted in Scheduler::timed_
  bool guaranteed = false;       ///< true if it runs with a guarantee: see GuaranteedBlocks
  bool forked = false;           ///< true if the `fork_of` of other sequences points to this one
  std::uint32_t admissions = 0;  ///< number of admissions so far
  std::int32_t preemptions = 0;  ///< number of preemptions so far, without those during a pause
  std::int64_t in_flight = 0;    ///< number of rows in steps under way
  /// Number of tokens that steps under way will draw. A part with drafts counts as one token.
  std::int64_t pending = 0;
  std::int32_t verifying = 0;  ///< number of drafts in the step under way
  std::int32_t output = -1;    ///< index of its row of logits in the last planned step; -1 = none
  std::int64_t cached = 0;     ///< number of rows that were cached at its first admission
  PrefixMiss miss;             ///< where its cached prefix ended, and why
  PrefixIndex::Place place;    ///< place in the prefix index: the sequence's last indexed block

  /// Releases the blocks that no later row sees. Call it once rejected drafts have left `computed`:
  /// the row that replaces a rejected draft sees older keys than later rows do.
  void forget() { blocks.forget_before(computed); }

  std::int64_t length() const { return std::ssize(tokens); }
  /// Returns the entry of `given` with row `i`; null if the row is a token.
  const GivenRows* given_at(std::int64_t i) const;
  /// Returns the end of the longest run of rows from row `i` on that one part may have: all tokens,
  /// or all of one entry of `given`. Rows at and after `length()` are tokens.
  std::int64_t run_end(std::int64_t i) const;
  /// Returns the number of first rows that are tokens. Only these can be cached prefixes, because
  /// the prefix index knows rows by their tokens.
  std::int64_t token_rows() const { return given.empty() ? length() : given.front().first; }
  /// Adds rows of embeddings, [n, H] float32, behind all rows. They must outlive the sequence.
  void add_given(View rows);
  /// Returns the first row that is neither computed nor planned.
  std::int64_t next_row() const { return computed + in_flight; }
  /// Returns the number of rows neither computed nor planned. Each pending token counts as a row.
  std::int64_t missing() const { return std::min(length() + pending, rows_max) - next_row(); }
  /// Returns whether a step may have missing rows: the reader has room, and no row stands for a
  /// pending token that the host draws, or that drafts are to follow.
  bool may_continue() const {
    const bool ahead = draws_ahead && !awaits_drafts;
    return verifying == 0 && pending < room && (ahead || pending == 0);
  }
  /// Returns the token type of row `i`.
  std::int32_t type(std::int64_t i) const { return i < std::ssize(types) ? at(types, i) : 0; }
  /// Returns the token of row `i`; kGivenRow if the row is an embedding.
  std::int32_t token(std::int64_t i) const { return at(tokens, i); }
  /// Returns how many first rows may come from the cache. The model must compute the last row,
  /// which gives the next token or the pooled result, and each row whose score or hidden state is
  /// still wanted.
  std::int64_t skippable_rows() const {
    if (whole) return 0;
    std::int64_t rows = length() - 1;
    if (score_next < score_end) rows = std::min(rows, score_next);
    if (hidden_next < hidden_end) rows = std::min(rows, hidden_next);
    return rows;
  }
  /// Returns whether a waiting sequence may be admitted: its reader keeps up, no step under way
  /// draws a token for it, and `fork_of` has computed the prompt or has stopped running.
  bool may_begin() const {
    if (paused || pending > 0) return false;
    if (fork_of == nullptr) return true;
    return fork_of->admissions > 0 && (!fork_of->admitted || fork_of->computed >= length());
  }
};

/// Returns the number of equal first rows of two sequences. Embeddings count as equal only if both
/// sequences have them in the same memory.
std::int64_t common_rows(const Sequence& a, const Sequence& b);

}  // namespace ingot
