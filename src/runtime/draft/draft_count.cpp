// DraftCount: compares tokens per second of steps with more and fewer drafts.
#include "runtime/draft/draft_count.h"

#include <algorithm>

#include "base/index.h"

namespace ingot {

namespace {

/// Likelihood from which a draft is worth a trial.
constexpr float kLikely = 0.5f;
/// Number of steps after which up to kTrial drafts are tried: less than 1% of the time.
constexpr std::int32_t kDeclinedMax = 256;
constexpr std::int32_t kTrial = 4;

/// Counts a decision. Returns whether drafts were declined for so long that it is time for a trial.
bool is_trial_due(std::int32_t& declined, bool is_declined) {
  declined = is_declined && declined < kDeclinedMax ? declined + 1 : 0;
  return is_declined && declined == 0;
}

}  // namespace

std::int32_t DraftCount::choose(std::int32_t rows, std::span<const float> likelihoods) {
  if (likelihoods.empty()) return 0;
  std::int32_t best = 0;
  double tokens = rows;
  double rate = tokens / times_.decode_seconds_least(rows);
  for (std::int32_t i = 0; i < std::ssize(likelihoods); ++i) {
    const float likelihood = at(likelihoods, i);
    if (rows + i + 1 > times_.decode_rows_max() && likelihood < kLikely) break;
    tokens += static_cast<double>(likelihood);
    const double now = tokens / times_.decode_seconds_least(rows + i + 1);
    if (now <= rate) continue;
    rate = now;
    best = i + 1;
  }
  if (!is_trial_due(declined_, best == 0 && likelihoods.front() >= kLikely)) return best;
  const auto likely = std::count_if(likelihoods.begin(), likelihoods.end(),
                                    [](float likelihood) { return likelihood >= kLikely; });
  return static_cast<std::int32_t>(std::min<std::int64_t>(likely, kTrial));
}

std::int32_t DraftCount::choose_each(std::int32_t rows, double likelihood, double seconds,
                                     std::int32_t most) {
  std::int32_t best = 0;
  double tokens = 1;
  double accepted = 1;
  double rate = tokens / times_.decode_seconds_least(rows);
  for (std::int32_t k = 1; k <= most; ++k) {
    if (rows * (k + 1) > times_.decode_rows_max() && k > kTrial) break;
    accepted *= likelihood;
    tokens += accepted;
    const double now = tokens / (times_.decode_seconds_least(rows * (k + 1)) + k * seconds);
    if (now <= rate) continue;
    rate = now;
    best = k;
  }
  return is_trial_due(declined_each_, best == 0) ? std::min(most, kTrial) : best;
}

}  // namespace ingot
