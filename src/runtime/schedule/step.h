// Step and StepPart: the rows of each sequence in one forward pass, as the scheduler plans them.
#pragma once

#include <cstdint>
#include <vector>

#include "kv/kv_cache.h"
#include "runtime/schedule/sequence.h"

namespace ingot {

/// Rows [first, first + rows) of one sequence in a step, all tokens or all embeddings. The last
/// `outputs` rows leave the model as logits, `scores` rows beginning at `first_score` as scores,
/// and `hidden` rows beginning at `first_hidden` as hidden states. No row has two of these results.
struct StepPart {
  Sequence* sequence = nullptr;  ///< null if it was removed while the step was under way
  std::int64_t first = 0;
  std::int32_t rows = 0;
  std::int32_t outputs = 0;
  std::int64_t first_score = 0;  ///< index of the first scored row in the sequence
  std::int32_t scores = 0;
  std::int64_t first_hidden = 0;  ///< index in the sequence of the first row of hidden states
  std::int32_t hidden = 0;
  bool final_norm = true;  ///< true: takes hidden states after the final norm; false: before it
  /// If not -1, the part's only row is a token that is still being drawn. `previous` is then the
  /// index of the row of logits in the previous step from which it is drawn.
  std::int32_t previous = -1;
  std::uint32_t admission = 0;  ///< value of Sequence::admissions when the part was planned
  bool decode = false;          ///< whether the sequence had exactly one missing row
};

/// A planned step. Each sequence has at most one part.
struct Step {
  std::int64_t number = 0;
  std::vector<StepPart> parts;
  std::vector<BlockCopy> copies;  ///< block copies to make, in this order, before the forward pass
  std::int32_t rows = 0;
  std::int32_t decode_rows = 0;  ///< number of rows of parts with `decode`
  std::int32_t outputs = 0;
  std::int32_t scores = 0;
  std::int32_t sequences = 0;
  std::int32_t rows_max = 0;  ///< limit on the step's rows: the token budget

  /// Removes all parts but keeps the memory, and sets the step's number.
  void reset(std::int64_t new_number);
  /// Sums up the parts' rows and results, and sets `Sequence::output` of each part with an output.
  void count_parts();
};

/// Limit on the rows of a sequence's next part. A part has either embeddings or tokens.
std::int64_t next_rows(const Sequence& sequence);
/// Returns the part with the sequence's next `rows` rows. Changes nothing.
StepPart next_part(Sequence& sequence, std::int32_t rows);

}  // namespace ingot
