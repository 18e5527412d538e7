// RowSampler: one thread's part of the Sampler, a row at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/buffer.h"
#include "backend/cpu/kernel_table.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/sampler.h"

namespace ingot {

/// Uniform in [0, 1) with 53 bits: what decides the token number `index`.
double sampling_noise(const SamplingParams& params, std::uint64_t index);

/// Turns a row of logits into what can be drawn, and draws. Sampler states the arithmetic.
class RowSampler {
 public:
  /// Errors: Error{kDoesNotFit} when the memory is not there.
  RowSampler(const KernelTable& kernels, std::int64_t vocab, std::int64_t ids);

  /// Fills `drawn`.
  void draw(const SampleRow& row, Drawn& drawn);

  /// The first half of `draw`: Drawn::top, and what can be drawn from the row. False for a row
  /// that is lost.
  bool prepare(const SampleRow& row, Drawn& drawn);
  /// The second half: the token that this noise takes, from the row prepared last.
  std::int32_t pick(double noise);
  /// What `pick` can return: by falling probability, then id.
  std::vector<TokenProbability> distribution();

  static std::int64_t bytes(std::int64_t vocab);

 private:
  /// A logit as it was before it was changed.
  struct Original {
    std::int32_t id;
    float logit;
  };
  /// What a token is picked from: `n` logits, their weights' sums by span.
  struct Source {
    const float* logits = nullptr;
    const std::int32_t* ids = nullptr;  ///< of the logits; null where they are 0, 1, 2, ...
    const float* sums = nullptr;
    std::int64_t n = 0;
  };

  bool scan();
  void score(std::int64_t count, std::vector<TokenScore>& top);
  float logprob(float logit) const;
  bool modify(const SampleRow& row);
  bool penalise(const SamplingParams& params, const TokenCounts* counts);
  float& change(std::int32_t id);
  float original(std::int32_t id) const;
  void choose_source(const SamplingParams& params);
  double weigh_row(float scale);

  const KernelTable& kernels_;
  std::int64_t vocab_;
  std::int64_t ids_;
  Buffer memory_;
  float* tops_ = nullptr;  ///< of the ids' logits; behind them those of the rest of the row
  float* sums_ = nullptr;  ///< likewise
  Candidates candidates_;
  std::vector<Original> originals_;

  std::span<float> logits_;  ///< of the row at hand, [V]
  bool scored_ = false;      ///< log-probabilities are wanted
  ScannedRow row_;           ///< its ids
  float rest_largest_ = 0;   ///< beyond the ids
  float raw_largest_ = 0;
  double log_sum_ = 0;
  std::int32_t greedy_ = -1;  ///< the only token, where the temperature is 0
  Source source_;
  double total_ = 0;  ///< of the source's sums
};

}  // namespace ingot
