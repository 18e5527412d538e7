// Candidates: the tokens of a row that top_k, top_p and the like leave, without sorting the row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/buffer.h"
#include "backend/cpu/kernel_table.h"
#include "backend/ops.h"
#include "runtime/sampling/cut.h"
#include "runtime/sampling/sampling_params.h"

namespace ingot {

/// A row of logits and the results of KernelTable::scan.
struct ScannedRow {
  const float* logits = nullptr;  ///< [n], no NaN, no +Inf
  const float* tops = nullptr;    ///< [spans of n, 16]
  std::int64_t n = 0;
  float largest = 0;
  float scale = 1;  ///< a token's weight is exp((logit - largest) * scale)
};

/// A list of tokens by ascending id, with their logits and weights. Its memory is planned once.
class Candidates {
 public:
  /// For rows of up to `room` tokens.
  ///
  /// Errors: Error{kDoesNotFit} when there is no memory.
  Candidates(const KernelTable& kernels, std::int64_t room);

  /// Whether these parameters drop any token of a row of n.
  static bool truncates(const SamplingParams& params, std::int64_t n);
  /// Whether `truncate` needs the weight of the whole row.
  static bool needs_weight(const SamplingParams& params, std::int64_t n);

  /// Makes this the list of tokens that the cuts of a Sampler leave. It may include tokens of
  /// weight 0.
  void truncate(const ScannedRow& row, const SamplingParams& params, double row_weight);

  /// The lowest id of the largest logit.
  std::int32_t best(const ScannedRow& row);
  /// The best `count` tokens (all if there are fewer) and their logits, by descending logit, ties
  /// to the lower id.
  void best(const ScannedRow& row, std::int64_t count, std::vector<TokenScore>& top);

  std::int64_t size() const { return size_; }
  const float* logits() const { return logits_.data(); }
  const std::int32_t* ids() const { return ids_.data(); }
  const float* sums() const { return sums_.data(); }  ///< weights summed as by KernelTable::weigh

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

  const KernelTable& kernels_;
  Buffer memory_;
  std::span<float> logits_;
  std::span<float> weights_;
  std::span<float> keys_;
  std::span<float> sums_;
  std::span<float> coarse_;  ///< tops of a row's tops
  std::span<std::int32_t> ids_;
  std::span<std::int32_t> places_;  ///< scratch of searches, in the list and in a row's tops
  ScannedRow row_;
  std::int64_t size_ = 0;
};

}  // namespace ingot
