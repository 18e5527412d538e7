// Candidates: finds the tokens of a row that pass the sampling filters, without sorting the row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/buffer.h"
#include "backend/host_kernels.h"
#include "backend/ops.h"
#include "base/index.h"
#include "runtime/sampling/cut.h"
#include "runtime/sampling/sampling_params.h"

namespace ingot {

/// A row of logits, and the results of HostKernels::scan for this row.
struct ScannedRow {
  const float* logits = nullptr;  ///< [n] logits, without NaN or +Inf
  const float* tops = nullptr;    ///< [spans, 16]: 16 top logits of each span of 256 tokens
  std::int64_t n = 0;
  float largest = 0;  ///< the largest logit
  float scale = 1;    ///< factor in a token's weight, exp((logit - largest) * scale)
};

/// What the filters of one draw need beside the parameters.
struct FilterState {
  bool excludes_top = false;  ///< whether XTC acts in this draw
  double deviation = 0;       ///< standard deviation of the logits, for top_n_sigma
  double surprise_max = 0;    ///< mirostat's limit on a token's surprise, in bits
};

/// A list of tokens by ascending id, with their logits. Only the constructor allocates.
class Candidates {
 public:
  /// Allocates memory for rows of up to `room` tokens.
  ///
  /// Errors: Error{kDoesNotFit} if there is no memory.
  Candidates(const HostKernels& kernels, std::int64_t room);

  /// Returns whether these parameters may drop tokens from a row of n tokens, apart from XTC.
  static bool truncates(const SamplingParams& params, std::int64_t n);
  /// Returns whether `truncate` needs `row_weight`, the sum of all weights of the row.
  static bool needs_weight(const SamplingParams& params, std::int64_t n);

  /// Fills the list with the tokens that pass all filters of `params`. The list may include tokens
  /// of weight 0.
  void truncate(const ScannedRow& row, const SamplingParams& params, const FilterState& state,
                double row_weight);

  /// Returns the token with the largest logit; of several such tokens, the one with the lowest id.
  std::int32_t best(const ScannedRow& row);
  /// Writes to `top` the `count` tokens with the largest logits, or all tokens if there are fewer.
  /// Sorts these by descending logit, then by id. Writes each token's logit to TokenScore::logprob.
  void best(const ScannedRow& row, std::int64_t count, std::vector<TokenScore>& top);

  std::span<const float> logits() const { return logits_.first(count()); }
  std::span<const std::int32_t> ids() const { return ids_.first(count()); }

  static std::int64_t bytes(std::int64_t room);

 private:
  float bound_of_best(std::int64_t count);
  void collect(float least);
  void collect_to_depth(double depth);
  std::span<const float> weights();
  double weight();
  void take_top_k(std::int64_t k);
  void keep_best(std::int64_t k);
  void take_near(double range);
  void take_until(double target, double row_weight, double depth_max);
  void keep_typical(double typical_p);
  void keep_likely(float share);
  void keep_expected(double surprise_max);
  void drop_top(float threshold);
  void keep(std::span<const float> keys, Cut cut);

  std::size_t count() const { return to_size(size_); }

  const HostKernels& kernels_;
  Buffer memory_;
  std::span<float> logits_;
  std::span<float> weights_;  ///< weights of the tokens, if `weighed_`
  std::span<float> keys_;
  std::span<float> sums_;    ///< sum of the weights of each 256 tokens, if `weighed_`
  std::span<float> coarse_;  ///< the outputs of HostKernels::scan for the row's `tops`
  std::span<std::int32_t> ids_;
  std::span<std::int32_t> places_;  ///< scratch for find_cut and for sorting
  ScannedRow row_;
  std::int64_t size_ = 0;
  bool weighed_ = false;
};

}  // namespace ingot
