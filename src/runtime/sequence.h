// Sequence: one request's tokens and how far they are computed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/view.h"
#include "kv/kv_cache.h"

namespace ingot {

/// Rows to compute (tokens, perhaps after embedding rows), how many of them have keys and values,
/// and where those are.
struct Sequence {
  explicit Sequence(KvCache& cache) : blocks(cache) {}

  std::uint64_t id = 0;              ///< of its request
  std::uint64_t conversation = 0;    ///< that it is a turn of; 0 = of none
  View embeddings;                   ///< [n, H] float32 rows before the tokens, or none
  std::vector<std::int32_t> tokens;  ///< the prompt's, then what was drawn
  std::int64_t computed = 0;         ///< rows whose keys and values are in `blocks`
  std::int64_t cached = 0;           ///< of these, rows that an earlier turn computed
  SequenceBlocks blocks;

  /// Rows [scored, scores_end) leave the model once for the log-probability of the token after
  /// each. They are not asked for again when they are computed again.
  std::int64_t scored = 0;
  std::int64_t scores_end = 0;
  /// Rows [shown, shown_end) leave the model once as hidden states, after the final norm or before.
  std::int64_t shown = 0;
  std::int64_t shown_end = 0;
  bool final_norm = true;
  bool draws = true;      ///< whether a token is wanted from the last row
  bool paused = false;    ///< nothing may be produced now: its reader is behind
  bool admitted = false;  ///< runs, as the scheduler sees it; else it waits

  /// Gives back the blocks that no row to come can see. Not before the computed rows are sure to
  /// stay: a rejected draft has to find the window that it was computed with.
  void forget() { blocks.forget_before(computed); }

  std::int64_t length() const { return given_rows() + std::ssize(tokens); }
  std::int64_t given_rows() const { return embeddings ? embeddings.rows : 0; }
  /// The token at row `i`, which is past the embeddings.
  std::int32_t token(std::int64_t i) const {
    return tokens[static_cast<std::size_t>(i - given_rows())];
  }
};

/// What one sequence contributes to a step: its next `rows` rows, all of them tokens or none. The
/// last `outputs` leave the model; of the others, `scores` from row `first_score` on are scored,
/// and `hidden` from row `first_hidden` on leave as hidden states. No row does two of these.
struct StepPart {
  Sequence* sequence = nullptr;
  std::int32_t rows = 0;
  std::int32_t outputs = 0;
  std::int64_t first_score = 0;  ///< a row of the sequence
  std::int32_t scores = 0;
  std::int64_t first_hidden = 0;  ///< a row of the sequence
  std::int32_t hidden = 0;
};

}  // namespace ingot
