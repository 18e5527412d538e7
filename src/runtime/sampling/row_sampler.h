// RowSampler: one thread's part of the Sampler: draws from one row at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/buffer.h"
#include "backend/cpu/kernel_table.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/sampler.h"

namespace ingot {

/// The random number for token number `index`: uniform in [0, 1), with 53 bits.
double sampling_noise(const SamplingParams& params, std::uint64_t index);

/// Makes a distribution of a row of logits, and draws from it. Sampler states the arithmetic.
class RowSampler {
 public:
  /// Errors: Error{kDoesNotFit} when there is no memory.
  RowSampler(const KernelTable& kernels, std::int64_t vocab, std::int64_t ids);

  /// Fills `drawn`.
  void draw(const SampleRow& row, Drawn& drawn);

  /// The first half of `draw`: fills Drawn::top, and prepares the distribution. False if no token
  /// can be drawn.
  bool prepare(const SampleRow& row, Drawn& drawn);
  /// The second half: the token that this noise draws from the row prepared last.
  std::int32_t pick(double noise);
  /// The tokens that `pick` can return, by descending probability, then id.
  std::vector<TokenProbability> distribution();

  static std::int64_t bytes(std::int64_t vocab);

 private:
  /// A logit before its first change.
  struct Original {
    std::int32_t id;
    float logit;
  };
  /// The distribution: `n` logits, and their weights' sums by span.
  struct Source {
    const float* logits = nullptr;
    const std::int32_t* ids = nullptr;  ///< by logit; null = 0, 1, 2, ...
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
  float* tops_ = nullptr;  ///< by span: the ids' logits, then the rest of the row
  float* sums_ = nullptr;  ///< by span, as `tops_`
  Candidates candidates_;
  std::vector<Original> originals_;

  std::span<float> logits_;  ///< [V], the present row
  bool scored_ = false;      ///< log-probabilities are wanted
  ScannedRow row_;           ///< the part of the present row that ids belong to
  float rest_largest_ = 0;   ///< largest logit beyond the ids
  float raw_largest_ = 0;
  double log_sum_ = 0;
  std::int32_t greedy_ = -1;  ///< the only token at temperature 0
  Source source_;
  double total_ = 0;  ///< the source's sums added up
};

}  // namespace ingot
