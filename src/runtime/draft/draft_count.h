// DraftCount: how many drafts pay, by their likelihoods and by measured step times.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/schedule/step_times.h"

namespace ingot {

/// Chooses numbers of drafts so that steps give the most tokens per second.
class DraftCount {
 public:
  explicit DraftCount(const StepTimes& times) : times_(times) {}

  /// Returns how many drafts to verify, the likeliest first, in a step of `rows` decode rows.
  ///
  /// `likelihoods` falls: each is the probability that a draft and all drafts before it in its
  /// sequence are accepted. A size of step that was never measured counts as if it took no longer,
  /// so that it is tried, but only for likely drafts. If nothing pays for long, a few likely drafts
  /// are tried again, because the machine's speed changes.
  std::int32_t choose(std::int32_t rows, std::span<const float> likelihoods);
  /// Returns the best number of drafts for each of `rows` sequences, of which each is accepted with
  /// probability `likelihood` if the one before it is, and costs `seconds` beforehand. At most
  /// `most`. Sizes of steps that were never measured, and drafts that do not pay for long, are
  /// tried with a few drafts.
  std::int32_t choose_each(std::int32_t rows, double likelihood, double seconds, std::int32_t most);

 private:
  const StepTimes& times_;
  // Number of times in a row that drafts did not pay.
  std::int32_t declined_ = 0;       ///< likely drafts of `choose`
  std::int32_t declined_each_ = 0;  ///< drafts of `choose_each`
};

}  // namespace ingot
