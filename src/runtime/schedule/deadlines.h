// Predicting the least time until a sequence's first token and its end, to refuse what is too late.
#pragma once

#include <cstdint>
#include <span>

#include "base/function_ref.h"
#include "runtime/schedule/sequence.h"
#include "runtime/schedule/step_times.h"
#include "runtime/schedule/waiting_queue.h"

namespace ingot {

/// Least seconds until a sequence's first token and until its end.
struct MinSeconds {
  double first_token = 0;
  double end = 0;
};

/// What a prediction reads of a scheduler.
struct DeadlineView {
  std::span<Sequence* const> running;
  const WaitingQueue& waiting;
  const StepTimes& times;
  std::int32_t rows_max = 0;  ///< rows of the largest step
  /// Rows of a waiting sequence that the prefix index has.
  FunctionRef<std::int64_t(const Sequence&)> cached_rows;
};

/// The time that the missing rows of `sequence`, which waits, and of the prompts that surely come
/// before it take at the best measured rate; 0 before enough was measured.
///
/// If that is in time, cached rows and rows that several prompts share are counted as missing. Else
/// they are not counted twice, and at most 128 prompts are compared.
/// Errors: std::bad_alloc.
MinSeconds min_seconds(const DeadlineView& view, const Sequence& sequence, double now);

}  // namespace ingot
