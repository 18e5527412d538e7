// Predicts when a sequence can draw its first token and when it can end, to refuse late sequences.
#pragma once

#include <cstdint>
#include <span>

#include "base/function_ref.h"
#include "runtime/schedule/sequence.h"
#include "runtime/schedule/step_times.h"
#include "runtime/schedule/waiting_queue.h"

namespace ingot {

/// The least seconds from now until a sequence draws its first token, and until it ends.
struct MinSeconds {
  double first_token = 0;
  double end = 0;
};

/// The parts of a scheduler that a prediction reads.
struct DeadlineView {
  std::span<Sequence* const> running;
  const WaitingQueue& waiting;
  const StepTimes& times;
  std::int32_t rows_max = 0;  ///< the scheduler's token budget of a step
  /// Maximum number of prompts that share a step and do not end in it. A shorter prompt overtakes
  /// only these prompts, because waiting prompts begin in order.
  std::int64_t overtaken_max = 0;
  std::int32_t drafts_max = 0;  ///< most drafts that a step may accept for a sequence
  /// Returns how many of the first rows of a waiting sequence are cached.
  FunctionRef<std::int64_t(const Sequence&)> cached_rows;
};

/// Predicts the least times until a waiting sequence draws its first token and until it ends.
/// Counts missing rows of this sequence and of the prompts surely before it, at the best measured
/// rate. The second time includes decode steps. Both are 0 until enough steps were measured.
/// First assumes that no row is cached, and that prompts share no rows. If the sequence would be
/// late, predicts again for at most 128 prompts: omits cached rows, counts shared rows once, and
/// omits the prompts that the sequence may overtake.
/// Errors: std::bad_alloc.
MinSeconds min_seconds(const DeadlineView& view, const Sequence& sequence, double now);

}  // namespace ingot
