// Candidates: finds the tokens that the filters of a row keep, without sorting the row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/buffer.h"
#include "backend/host_kernels.h"
#include "backend/ops.h"
#include "runtime/sampling/cut.h"
#include "runtime/sampling/sampling_params.h"

namespace ingot {

/// A row of logits, and the results of HostKernels::scan for this row.
struct ScannedRow {
  const float* logits = nullptr;  ///< [n], no NaN, no +Inf
  const float* tops = nullptr;    ///< [spans, 16]: largest logits of each span of the row
  std::int64_t n = 0;
  float largest = 0;  ///< the largest logit
  float scale = 1;    ///< a token's weight is exp((logit - largest) * scale)
};

/// A list of tokens by ascending id, with their logits and weights. Only the constructor allocates.
class Candidates {
 public:
  /// Allocates memory for rows of up to `room` tokens.
  ///
  /// Errors: Error{kDoesNotFit} if there is no memory.
  Candidates(const HostKernels& kernels, std::int64_t room);

  /// Whether these parameters may drop tokens from a row of n tokens.
  static bool truncates(const SamplingParams& params, std::int64_t n);
  /// Whether `truncate` needs the sum of all weights of the row.
  static bool needs_weight(const SamplingParams& params, std::int64_t n);

  /// Fills the list with the tokens that all filters of `params` keep. The list may
  /// include tokens of weight 0.
  void truncate(const ScannedRow& row, const SamplingParams& params, double row_weight);

  /// The token with the largest logit; of equal logits, the lowest id.
  std::int32_t best(const ScannedRow& row);
  /// Writes the `count` tokens with the largest logits to `top`, or all tokens if there are fewer.
  /// Sorts them by descending logit, then by id. Stores logits as TokenScore::logprob.
  void best(const ScannedRow& row, std::int64_t count, std::vector<TokenScore>& top);

  std::int64_t size() const { return size_; }
  const float* logits() const { return logits_.data(); }
  const std::int32_t* ids() const { return ids_.data(); }
  const float* sums() const { return sums_.data(); }  ///< sum of weights for each span

  static std::int64_t bytes(std::int64_t room);

 private:
  float bound_of_best(std::int64_t count);
  void collect(float least);
  void collect_to_depth(double depth);
  void weigh();
  double weight() const;
  void take_top_k(std::int64_t k);
  void take_until(double target, double row_weight, double depth_max);
  void keep_typical(double typical_p);
  void keep_likely(float share);
  void keep(std::span<const float> keys, Cut cut);

  std::span<const float> logits_now() const { return logits_.first(count()); }
  std::span<const float> weights_now() const { return weights_.first(count()); }
  std::size_t count() const { return static_cast<std::size_t>(size_); }

  const HostKernels& kernels_;
  Buffer memory_;
  std::span<float> logits_;
  std::span<float> weights_;
  std::span<float> keys_;
  std::span<float> sums_;
  std::span<float> coarse_;  ///< result of HostKernels::scan for the row's `tops`
  std::span<std::int32_t> ids_;
  std::span<std::int32_t> places_;  ///< scratch of find_cut and of sorting
  ScannedRow row_;
  std::int64_t size_ = 0;
};

}  // namespace ingot
