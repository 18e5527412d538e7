// Predicts how soon a sequence can draw its first token and end, to refuse late sequences.
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
  /// Returns how many of the first rows of a waiting sequence are cached.
  FunctionRef<std::int64_t(const Sequence&)> cached_rows;
};

/// Predicts the least time until a waiting sequence draws its first token and ends. Counts its
/// missing rows, and those of the prompts that surely run before it, at the best measured rate. For
/// the end, also counts decode steps. Returns 0 until enough steps were measured.
/// First assumes that no rows are cached or shared by several prompts. If the sequence is then
/// late, leaves out cached rows and counts shared rows once, over at most 128 prompts.
/// Errors: std::bad_alloc.
MinSeconds min_seconds(const DeadlineView& view, const Sequence& sequence, double now);

}  // namespace ingot
