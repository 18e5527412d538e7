// Sequence: one request's tokens, how far they are computed, and what the scheduler knows of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/view.h"
#include "kv/kv_cache.h"
#include "kv/prefix_index.h"
#include "runtime/schedule/clock.h"

namespace ingot {

class RunningRequest;

/// What decides when a sequence gets its turn. Times are seconds of the caller's clock.
struct SchedulingTerms {
  std::uint64_t tenant = 0;   ///< whose share of the machine it counts against: an API key
  std::int32_t priority = 0;  ///< smaller ones first, where the policy looks at it
  double arrival = 0;
  double begin_by = kNever;  ///< to run for the first time
  double first_token_by = kNever;
  double end_by = kNever;
  std::int64_t tokens_min = 1;  ///< that will be drawn before it ends

  bool has_deadline() const { return std::min({begin_by, first_token_by, end_by}) < kNever; }
};

/// Rows to compute (tokens, perhaps after embedding rows), how many of them have keys and values,
/// and where those are.
struct Sequence {
  explicit Sequence(KvCache& cache) : blocks(cache) {}

  std::uint64_t id = 0;               ///< of its request
  RunningRequest* request = nullptr;  ///< that it is part of, where it is
  View embeddings;                    ///< [n, H] float32 rows before the tokens, or none
  std::vector<std::int32_t> tokens;   ///< the prompt's, then what was drawn
  std::int64_t computed = 0;          ///< rows whose keys and values are in `blocks`
  std::int64_t rows_max = std::numeric_limits<std::int64_t>::max();  ///< that it will ever have
  SequenceBlocks blocks;
  SchedulingTerms terms;

  // What it may share.
  PrefixKey prefix;
  std::uint64_t chat_template = 0;  ///< tells templates apart in PrefixMiss; 0 = unknown
  Sequence* fork_of = nullptr;      ///< has the same prompt, and hands its blocks over
  bool reads_cache = true;

  /// Rows [score_next, score_end) leave the model once for the log-probability of the token after
  /// each. They are not asked for again when they are computed again.
  std::int64_t score_next = 0;
  std::int64_t score_end = 0;
  /// Rows [hidden_next, hidden_end) leave the model once as hidden states, after the final norm or
  /// before it.
  std::int64_t hidden_next = 0;
  std::int64_t hidden_end = 0;
  bool final_norm = true;
  bool draws = true;    ///< whether a token is wanted from the last row
  bool paused = false;  ///< nothing may be produced now: its reader is behind
  /// Tokens that its reader has room for, those of steps under way among them.
  std::int64_t room = std::numeric_limits<std::int64_t>::max();

  // The scheduler's own.
  bool admitted = false;         ///< runs; else it waits
  bool known = false;            ///< to the scheduler
  bool timed = false;            ///< has a deadline
  bool guaranteed = false;       ///< runs, and is sure of all blocks that it will need
  bool forked = false;           ///< others wait for its prompt
  std::uint32_t admissions = 0;  ///< so far
  std::int32_t preemptions = 0;  ///< while its reader kept up
  std::int64_t in_flight = 0;    ///< rows of planned steps that are not committed
  std::int64_t pending = 0;      ///< tokens that those steps will draw
  std::int32_t output = -1;      ///< number of its output in the last step that was planned
  std::int64_t cached = 0;       ///< rows that were there when it was admitted first
  PrefixMiss miss;               ///< where they ended, and why
  PrefixIndex::Place place;

  /// Gives back the blocks that no row to come can see. Not before the computed rows are sure to
  /// stay: a rejected draft has to find the window that it was computed with.
  void forget() { blocks.forget_before(computed); }

  std::int64_t length() const { return given_rows() + std::ssize(tokens); }
  std::int64_t given_rows() const { return embeddings ? embeddings.rows : 0; }
  /// Rows that are known or on their way but neither computed nor planned.
  std::int64_t missing() const {
    return std::min(length() + pending, rows_max) - computed - in_flight;
  }
  /// The token at row `i`, which is past the embeddings.
  std::int32_t token(std::int64_t i) const {
    return tokens[static_cast<std::size_t>(i - given_rows())];
  }
  /// Rows that need not leave the model: all before the first that is still wanted, and before the
  /// last, from which the next token is drawn.
  std::int64_t skippable_rows() const {
    std::int64_t rows = length() - 1;
    if (score_next < score_end) rows = std::min(rows, score_next);
    if (hidden_next < hidden_end) rows = std::min(rows, hidden_next);
    return rows;
  }
};

/// What one sequence contributes to a step: rows [first, first + rows), all of them tokens or none.
/// The last `outputs` leave the model; of the others, `scores` from row `first_score` on are
/// scored, and `hidden` from row `first_hidden` on leave as hidden states. No row does two of
/// these.
struct StepPart {
  Sequence* sequence = nullptr;  ///< null once it was removed while the step was under way
  std::int64_t first = 0;
  std::int32_t rows = 0;
  std::int32_t outputs = 0;
  std::int64_t first_score = 0;  ///< a row of the sequence
  std::int32_t scores = 0;
  std::int64_t first_hidden = 0;  ///< a row of the sequence
  std::int32_t hidden = 0;
  bool final_norm = true;  ///< those states come after it
  /// Its only row is the token that output number `previous` of the step before draws; -1: all
  /// tokens are known.
  std::int32_t previous = -1;
  std::uint32_t admission = 0;  ///< of the sequence's, the one that this belongs to
  bool decode = false;          ///< the sequence lacked this one row
};

/// A planned step: at most one part of each sequence.
struct Step {
  std::int64_t number = 0;
  std::vector<StepPart> parts;
  std::vector<BlockCopy> copies;  ///< made in this order before anything is computed
  std::int32_t rows = 0;
  std::int32_t decode_rows = 0;  ///< of these, of sequences that lacked one row
  std::int32_t outputs = 0;
  std::int32_t scores = 0;
  std::int32_t sequences = 0;
  std::int32_t rows_max = 0;  ///< that were allowed
};

}  // namespace ingot
