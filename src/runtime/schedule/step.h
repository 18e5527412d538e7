// Step and StepPart: the rows of each sequence in one forward pass, as the scheduler plans them.
#pragma once

#include <cstdint>
#include <vector>

#include "kv/kv_cache.h"
#include "runtime/schedule/sequence.h"

namespace ingot {

/// Rows [first, first + rows) of one sequence in a step, all tokens or all embeddings. The model
/// returns logits of the last `outputs` rows, scores of `scores` rows from `first_score` on, and
/// hidden states of `hidden` rows from `first_hidden` on. No row has two of these results, except
/// hidden states for a drafter.
///
/// The last `drafts` rows are Sequence::drafts. The rows of logits are those of the row before the
/// drafts and of each draft: so the part draws up to `drafts` + 1 tokens.
struct StepPart {
  Sequence* sequence = nullptr;  ///< null if the sequence was removed while the step was under way
  std::int64_t first = 0;
  std::int32_t rows = 0;
  std::int32_t outputs = 0;
  std::int32_t drafts = 0;
  std::int64_t first_score = 0;  ///< the sequence's first row to score in this part
  std::int32_t scores = 0;
  std::int64_t first_hidden = 0;  ///< the sequence's first row to return as a hidden state
  std::int32_t hidden = 0;
  bool final_norm = true;  ///< true: return hidden states after the final norm; false: before it
  bool pooled = false;     ///< whether the model returns the sequence's pooled result
  /// If the part's only row is a token that the previous step still draws, this is the index of the
  /// token's row of logits in the previous step. Otherwise -1.
  std::int32_t previous = -1;
  std::uint32_t admission = 0;  ///< value of Sequence::admissions when the part was planned
  bool decode = false;  ///< true if exactly one row, before drafts, was missing when it was planned
};

/// A planned step. Each sequence has at most one part.
struct Step {
  std::int64_t number = 0;
  std::vector<StepPart> parts;
  std::vector<BlockCopy> copies;  ///< block copies to make, in this order, before the forward pass
  std::int32_t rows = 0;
  std::int32_t decode_rows = 0;  ///< number of rows in parts with `decode`, with their drafts
  std::int32_t verify_rows = 0;  ///< number of rows in parts with drafts
  std::int32_t outputs = 0;
  std::int32_t scores = 0;
  std::int32_t sequences = 0;
  std::int32_t rows_max = 0;  ///< limit on the step's rows: the token budget

  /// Removes all parts and copies, but keeps their memory. Sets the step's number.
  void reset(std::int64_t new_number);
  /// Counts the parts' rows and results. Sets `Sequence::output` for each part with an output.
  void count_parts();
};

/// Returns the most rows for a sequence's next part. A part never mixes embeddings and tokens.
std::int64_t next_rows(const Sequence& sequence);
/// Returns the part with the sequence's next `rows` rows. Changes nothing.
StepPart next_part(Sequence& sequence, std::int32_t rows);

}  // namespace ingot
