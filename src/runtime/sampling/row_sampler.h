// RowSampler: draws a token from one row at a time; the Sampler has a RowSampler for each thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/buffer.h"
#include "backend/host_kernels.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/draw_noise.h"
#include "runtime/sampling/sampler.h"
#include "runtime/sampling/token_race.h"

namespace ingot {

/// Turns a row of logits into a distribution and draws a token. For the arithmetic, see Sampler.
class RowSampler {
 public:
  /// `vocab` and `ids` are as in Sampler. Errors: Error{kDoesNotFit} if there is no memory.
  RowSampler(const HostKernels& kernels, std::int64_t vocab, std::int64_t ids);

  /// Draws a token from `row` and writes it, with its log-probabilities, to `drawn`.
  void draw(const SampleRow& row, Drawn& drawn);

  /// Does the first half of `draw`: fills Drawn::top and prepares the distribution. Returns false
  /// if no token can be drawn.
  bool prepare(const SampleRow& row, Drawn& drawn);
  /// Does the second half of `draw`: picks a token by noise.
  std::int32_t pick(const DrawNoise& noise);
  /// Returns all tokens that `pick` can return, by descending probability, then by id.
  std::vector<TokenProbability> distribution();

  static std::int64_t bytes(std::int64_t vocab);

 private:
  /// A token and its logit in the unchanged row.
  struct Original {
    std::int32_t id;
    float logit;
  };
  void take(const SampleRow& row, Drawn& drawn);
  void force(const SampleRow& row, Drawn& drawn);
  std::int32_t first_allowed(const SampleRow& row) const;
  bool open(const SampleRow& row, Drawn& drawn);
  bool scan();
  void score(std::int64_t count, std::vector<TokenScore>& top);
  float logprob(float logit) const;
  bool modify(const SampleRow& row);
  bool penalise(const SamplingParams& params, const TokenCounts* counts);
  bool penalise_repeats(const SamplingParams& params, const RepeatHistory* repeats);
  bool mask(const SampleRow& row);
  void keep(std::span<const std::uint32_t> allowed);
  float& change(std::int32_t id);
  float original(std::int32_t id) const;
  void choose_source(const SampleRow& row);
  std::span<const float> kept_logits() const;
  double weight_of(std::span<const float> logits) const;
  double surprise(std::int32_t id) const;

  const HostKernels& kernels_;
  std::int64_t vocab_;
  std::int64_t ids_;
  Buffer memory_;
  float* tops_ = nullptr;  ///< 16 top logits per span of 256 logits; spans of [0, ids_) come first
  float* sums_ = nullptr;  ///< weight sum of each span of 256 logits, in the order of `tops_`
  Candidates candidates_;
  TokenRace race_;
  std::vector<Original> originals_;
  std::vector<std::uint8_t> repeats_;  ///< [ids]: length of each token's longest repetition

  std::span<float> logits_;   ///< [V]: the current row
  bool scored_ = false;       ///< whether the request wants log-probabilities
  ScannedRow row_;            ///< the current row's logits [0, ids)
  float rest_largest_ = 0;    ///< largest logit at an index >= `ids_`; -infinity if there is none
  float raw_largest_ = 0;     ///< largest logit of the unchanged row
  double deviation_ = 0;      ///< with top_n_sigma, standard deviation before the penalties
  double log_sum_ = 0;        ///< log of the sum of exp(logit - raw_largest_) in the unchanged row
  std::int32_t greedy_ = -1;  ///< at temperature 0, the most likely token; otherwise -1
  bool truncated_ = false;    ///< whether `pick` draws from `candidates_`, not from the whole row
};

}  // namespace ingot
