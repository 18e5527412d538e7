// Sequence: one choice's tokens, how many are computed, and the scheduler's state of it.
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

/// What decides when a sequence is admitted. Times are seconds of the caller's clock.
struct SchedulingTerms {
  std::uint64_t tenant = 0;   ///< the API key whose share of the machine it uses
  std::int32_t priority = 0;  ///< smaller ones first, under Policy::kPriority
  double arrival = 0;
  double begin_by = kNever;  ///< latest first admission
  double first_token_by = kNever;
  double end_by = kNever;
  std::int64_t tokens_min = 1;  ///< tokens that are surely drawn before it ends

  bool has_deadline() const { return std::min({begin_by, first_token_by, end_by}) < kNever; }
};

/// Rows to compute (tokens, perhaps after embedding rows), how many of them have keys and values,
/// and in which blocks.
struct Sequence {
  explicit Sequence(KvCache& cache) : blocks(cache) {}

  std::uint64_t id = 0;               ///< its request's
  RunningRequest* request = nullptr;  ///< null in tests without requests
  View embeddings;                    ///< [n, H] float32 rows before the tokens, or none
  std::vector<std::int32_t> tokens;   ///< the prompt's, then the drawn ones
  std::int64_t computed = 0;          ///< rows whose keys and values are in `blocks`
  std::int64_t rows_max =
      std::numeric_limits<std::int64_t>::max();  ///< rows that it will have at most
  SequenceBlocks blocks;
  SchedulingTerms terms;

  // What it may share.
  PrefixKey prefix;
  std::uint64_t chat_template = 0;  ///< tells templates apart in PrefixMiss; 0 = unknown
  Sequence* fork_of = nullptr;      ///< has the same prompt, and shares its blocks
  bool reads_cache = true;

  /// Rows [score_next, score_end) leave the model once, for the log-probability of the token after
  /// each. Rows that are computed again after a preemption do not leave it again.
  std::int64_t score_next = 0;
  std::int64_t score_end = 0;
  /// Rows [hidden_next, hidden_end) leave the model once as hidden states, after the final norm or
  /// before it.
  std::int64_t hidden_next = 0;
  std::int64_t hidden_end = 0;
  bool final_norm = true;
  bool draws = true;    ///< whether the last row draws a token
  bool paused = false;  ///< its reader is behind: no rows are planned
  /// Tokens that its reader has room for, including those of steps under way.
  std::int64_t room = std::numeric_limits<std::int64_t>::max();

  // The scheduler's own.
  bool admitted = false;         ///< running; false = waiting
  bool known = false;            ///< to the scheduler
  bool timed = false;            ///< has a deadline
  bool guaranteed = false;       ///< running, with a guarantee: see GuaranteedBlocks
  bool forked = false;           ///< others wait for its prompt
  std::uint32_t admissions = 0;  ///< so far
  std::int32_t preemptions = 0;  ///< while its reader kept up
  std::int64_t in_flight = 0;    ///< rows of steps under way
  std::int64_t pending = 0;      ///< tokens that those steps will draw
  std::int32_t output = -1;      ///< number of its output in the last planned step
  std::int64_t cached = 0;       ///< rows that were cached at its first admission
  PrefixMiss miss;               ///< where they ended, and why
  PrefixIndex::Place place;

  /// Releases the blocks that no later row can see. Only computed rows that stay count: a rejected
  /// draft needs the window that it was computed with.
  void forget() { blocks.forget_before(computed); }

  std::int64_t length() const { return given_rows() + std::ssize(tokens); }
  std::int64_t given_rows() const { return embeddings ? embeddings.rows : 0; }
  /// The first row that is neither computed nor planned.
  std::int64_t next_row() const { return computed + in_flight; }
  /// Rows that are neither computed nor planned; a token that is still being drawn counts.
  std::int64_t missing() const { return std::min(length() + pending, rows_max) - next_row(); }
  /// The token at row `i`, which is past the embeddings.
  std::int32_t token(std::int64_t i) const { return at(tokens, i - given_rows()); }
  /// Rows that need not leave the model: those before the first wanted score or hidden state, and
  /// before the last row, from which the next token is drawn.
  std::int64_t skippable_rows() const {
    std::int64_t rows = length() - 1;
    if (score_next < score_end) rows = std::min(rows, score_next);
    if (hidden_next < hidden_end) rows = std::min(rows, hidden_next);
    return rows;
  }
  /// Whether a waiting sequence may be admitted: its reader keeps up, no step under way still draws
  /// for it, and no other sequence is computing the prompt that it will share.
  bool may_begin() const {
    if (paused || pending > 0) return false;
    if (fork_of == nullptr) return true;
    return fork_of->admissions > 0 && (!fork_of->admitted || fork_of->computed >= length());
  }
};

}  // namespace ingot
