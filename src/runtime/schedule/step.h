// Step and StepPart: one forward pass as the scheduler plans it.
#pragma once

#include <cstdint>
#include <vector>

#include "kv/kv_cache.h"
#include "runtime/schedule/sequence.h"

namespace ingot {

/// One sequence's rows in a step: [first, first + rows), all tokens or all embeddings. The last
/// `outputs` rows leave the model as logits, `scores` rows from `first_score` on as scores, and
/// `hidden` rows from `first_hidden` on as hidden states. No row leaves it in two ways.
struct StepPart {
  Sequence* sequence = nullptr;  ///< null if it was removed while the step was under way
  std::int64_t first = 0;
  std::int32_t rows = 0;
  std::int32_t outputs = 0;
  std::int64_t first_score = 0;  ///< a row of the sequence
  std::int32_t scores = 0;
  std::int64_t first_hidden = 0;  ///< a row of the sequence
  std::int32_t hidden = 0;
  bool final_norm = true;  ///< hidden states are those after it
  /// The part's only row is the token that output `previous` of the step before draws; -1 if all
  /// tokens are known.
  std::int32_t previous = -1;
  std::uint32_t admission = 0;  ///< Sequence::admissions when it was planned
  bool decode = false;          ///< the sequence lacked exactly this row
};

/// A planned step: at most one part of each sequence.
struct Step {
  std::int64_t number = 0;
  std::vector<StepPart> parts;
  std::vector<BlockCopy> copies;  ///< made in this order before anything is computed
  std::int32_t rows = 0;
  std::int32_t decode_rows = 0;  ///< rows of parts with `decode`
  std::int32_t outputs = 0;
  std::int32_t scores = 0;
  std::int32_t sequences = 0;
  std::int32_t rows_max = 0;  ///< the token budget

  /// Empties the step and keeps its memory.
  void reset(std::int64_t new_number);
  /// Adds the parts up, and numbers their outputs.
  void count_parts();
};

/// How many of the sequence's next rows one part may have: embeddings and tokens do not mix.
std::int64_t next_rows(const Sequence& sequence);
/// The part with the sequence's next `rows` rows. Changes nothing.
StepPart next_part(Sequence& sequence, std::int32_t rows);

}  // namespace ingot
