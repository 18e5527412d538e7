// Sequence: one choice's tokens, how many are computed, and the scheduler's state of the choice.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/index.h"
#include "base/view.h"
#include "kv/kv_cache.h"
#include "kv/prefix_index.h"
#include "runtime/schedule/clock.h"

namespace ingot {

class RunningRequest;

/// Tenant, priority and deadlines of a sequence. Times are seconds of the caller's clock.
struct SchedulingTerms {
  std::uint64_t tenant = 0;        ///< the API key that its rows count against
  std::int32_t priority = 0;       ///< smaller values come first; used by Policy::kPriority alone
  double arrival = 0;              ///< time of submission
  double begin_by = kNever;        ///< latest time of the first admission
  double first_token_by = kNever;  ///< latest time of the first token
  double end_by = kNever;          ///< latest time of the end
  std::int64_t tokens_min = 1;     ///< least number of tokens to draw before it can end

  bool has_deadline() const { return std::min({begin_by, first_token_by, end_by}) < kNever; }
};

/// The rows of one choice (embeddings, if any, then tokens), how many of them are computed, and the
/// blocks of their keys and values.
struct Sequence {
  explicit Sequence(KvCache& cache) : blocks(cache) {}

  std::uint64_t id = 0;               ///< the id of its RunningRequest
  RunningRequest* request = nullptr;  ///< null in tests without requests
  View embeddings;                    ///< [n, H] float32 rows before the tokens, or empty
  std::vector<std::int32_t> tokens;   ///< tokens of the prompt, then drawn tokens
  std::int64_t computed = 0;          ///< number of first rows with keys and values in `blocks`
  std::int64_t rows_max =
      std::numeric_limits<std::int64_t>::max();  ///< limit on its rows, now and later
  SequenceBlocks blocks;
  SchedulingTerms terms;

  // Sharing of blocks.
  PrefixKey prefix;
  std::uint64_t chat_template = 0;  ///< identifies the template, to explain misses; 0 = unknown
  Sequence* fork_of = nullptr;      ///< the first choice of its prompt, to share blocks with
  bool reads_cache = true;          ///< whether it may start with cached blocks

  /// Rows [score_next, score_end) still have to be scored. Each row gives the log-probability of
  /// the next token only once, even if the row is computed again after a preemption.
  std::int64_t score_next = 0;
  std::int64_t score_end = 0;
  /// Rows [hidden_next, hidden_end) still have to be returned as hidden states, each row once.
  std::int64_t hidden_next = 0;
  std::int64_t hidden_end = 0;
  bool final_norm = true;  ///< true: takes hidden states after the final norm; false: before it
  bool draws = true;       ///< whether a token is drawn from the last row
  bool paused = false;     ///< true if its reader is behind; no rows are then planned
  /// Number of tokens that its reader's queue has room for; steps under way also fill this room.
  std::int64_t room = std::numeric_limits<std::int64_t>::max();

  // State that only the scheduler changes.
  bool admitted = false;         ///< true: running; false: waiting
  bool known = false;            ///< true after Scheduler::add, until `remove`
  bool timed = false;            ///< true if counted in Scheduler::timed_
  bool guaranteed = false;       ///< true if it runs with a guarantee: see GuaranteedBlocks
  bool forked = false;           ///< true if it is the `fork_of` of other sequences
  std::uint32_t admissions = 0;  ///< number of admissions so far
  std::int32_t preemptions = 0;  ///< number of preemptions so far, except while paused
  std::int64_t in_flight = 0;    ///< number of rows in steps under way
  std::int64_t pending = 0;      ///< number of tokens that steps under way will draw
  std::int32_t output = -1;      ///< index of its row of logits in the last planned step
  std::int64_t cached = 0;       ///< number of rows that were cached at its first admission
  PrefixMiss miss;               ///< where its cached prefix ended, and why
  PrefixIndex::Place place;      ///< its last block in the prefix index

  /// Releases the blocks that no later row sees. Call it only if no computed row is a draft that
  /// may be rejected, because such a row still needs the keys of its window.
  void forget() { blocks.forget_before(computed); }

  std::int64_t length() const { return given_rows() + std::ssize(tokens); }
  std::int64_t given_rows() const { return embeddings ? embeddings.rows : 0; }
  /// The first row that is neither computed nor planned.
  std::int64_t next_row() const { return computed + in_flight; }
  /// Number of rows that are neither computed nor planned. Tokens still being drawn count as rows.
  std::int64_t missing() const { return std::min(length() + pending, rows_max) - next_row(); }
  /// The token of row `i`, which must not be an embedding row.
  std::int32_t token(std::int64_t i) const { return at(tokens, i - given_rows()); }
  /// Number of first rows that may come from the cache. Rows with a wanted score or hidden state
  /// and the last row, from which the next token is drawn, must be computed.
  std::int64_t skippable_rows() const {
    std::int64_t rows = length() - 1;
    if (score_next < score_end) rows = std::min(rows, score_next);
    if (hidden_next < hidden_end) rows = std::min(rows, hidden_next);
    return rows;
  }
  /// Whether a waiting sequence may be admitted: its reader keeps up, no step under way draws a
  /// token for it, and `fork_of` has computed the prompt or has stopped running.
  bool may_begin() const {
    if (paused || pending > 0) return false;
    if (fork_of == nullptr) return true;
    return fork_of->admissions > 0 && (!fork_of->admitted || fork_of->computed >= length());
  }
};

}  // namespace ingot
