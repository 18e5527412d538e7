// Sampling: from rows of logits to tokens, each a pure function of row, parameters, history and
// position.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/cpu/kernel_table.h"
#include "backend/ops.h"
#include "base/thread_pool.h"
#include "runtime/sampling/sampling_params.h"
#include "runtime/sampling/token_counts.h"

namespace ingot {

/// One row to draw from.
struct SampleRow {
  std::span<float> logits;  ///< [V]; overwritten
  const SamplingParams* params = nullptr;
  const TokenCounts* counts = nullptr;  ///< null when no penalty needs them
  std::uint64_t index = 0;              ///< of the token in the continuation, counted from 0
};

/// What was drawn.
struct Drawn {
  std::int32_t id = -1;  ///< -1: the row holds NaN or +Inf, or allows no token
  float logprob = 0;     ///< of id under the unmodified logits, where logprobs were asked for
  std::vector<TokenScore> top;  ///< the best `logprobs` of them, falling, ties to the lower id
};

/// A token that can be drawn.
struct TokenProbability {
  std::int32_t id = 0;
  double probability = 0;
};

class RowSampler;

/// Draws from rows in a thread pool. Its memory is planned once.
///
/// The logits are changed in this order: logit_bias; repetition_penalty; presence and frequency
/// penalty; end_ids to -Inf before min_tokens. Temperature 0 takes the largest. Else
///   w = exp((x - largest) * min(1 / temperature, FLT_MAX))
/// and tokens are dropped in this order: top_k, typical_p, top_p, min_p, each from what the ones
/// before left. What stays is drawn from in the order of ids: sums of w per 256 tokens are the tree
/// of 16 lane sums, then doubles; the first token whose running sum is above u * total, u being 53
/// bits of Philox4x32-10 with the seed as key and (index, choice) as counter.
///
/// Log-probabilities are those of the row as the model computed it, before any change and over all
/// V rows of the head, also those that no id belongs to: (x - largest) - log(sum), in double.
class Sampler {
 public:
  /// Plans memory for rows of `vocab` logits of which the first `ids` can be drawn and reported
  /// (embedding matrices may have more rows than the tokenizer has tokens).
  ///
  /// Errors: Error{kDoesNotFit} when the memory is not there.
  Sampler(ThreadPool& pool, const KernelTable& kernels, std::int64_t vocab, std::int64_t ids,
          std::int32_t rows_max);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// Draws a token from each row. Nothing is allocated but Drawn::top.
  ///
  /// Shapes: rows and drawn [R], R <= rows_max.
  /// Errors: none; a row that no token can be drawn from gets id -1.
  void sample(std::span<const SampleRow> rows, std::span<Drawn> drawn);

  /// What `sample` would draw from: by falling probability, then id. For tests and inspection.
  std::vector<TokenProbability> distribution(const SampleRow& row);

  /// What a Sampler of these sizes allocates, at most.
  static std::int64_t bytes(int threads, std::int64_t vocab);

 private:
  ThreadPool& pool_;
  std::int32_t rows_max_;
  std::vector<std::unique_ptr<RowSampler>> by_thread_;
};

}  // namespace ingot
