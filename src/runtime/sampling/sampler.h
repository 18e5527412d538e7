// Sampler: draws tokens from rows of logits, each a pure function of row, parameters, history and
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
  std::uint64_t index = 0;              ///< the token's number in the choice, from 0
};

/// A token drawn from a row.
struct Drawn {
  std::int32_t id = -1;         ///< -1: the row holds NaN or +Inf, or allows no token
  float logprob = 0;            ///< `id`'s under the unmodified logits, if logprobs are wanted
  std::vector<TokenScore> top;  ///< the best `logprobs` tokens, descending, ties to the lower id
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
/// and the members of SamplingParams from top_k on drop tokens, in their order there, each from the
/// tokens that the ones before left. The draw runs over the remaining tokens by id: sums of w per
/// 256 tokens are the tree of 16 lane sums, then doubles; it takes the first token whose running
/// sum is above u * total, where u is 53 bits of Philox4x32-10 with the seed as key and (index,
/// choice) as counter.
///
/// Log-probabilities are those of the row as the model computed it, before any change and over all
/// V rows of the head, including rows without an id: (x - largest) - log(sum), in double.
class Sampler {
 public:
  /// Plans memory for rows of `vocab` logits, of which only the first `ids` are drawn and reported:
  /// embedding matrices may have more rows than the tokenizer has tokens.
  ///
  /// Errors: Error{kDoesNotFit} when there is no memory.
  Sampler(ThreadPool& pool, const KernelTable& kernels, std::int64_t vocab, std::int64_t ids,
          std::int32_t rows_max);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// Draws a token from each row. Allocates only Drawn::top.
  ///
  /// Shapes: rows and drawn [R], R <= rows_max.
  /// Errors: none; the id is -1 if no token can be drawn from a row.
  void sample(std::span<const SampleRow> rows, std::span<Drawn> drawn);

  /// The tokens that `sample` may draw, by descending probability, then id. For tests and
  /// inspection.
  std::vector<TokenProbability> distribution(const SampleRow& row);

  /// The most bytes that a Sampler of these sizes allocates.
  static std::int64_t bytes(int threads, std::int64_t vocab);

 private:
  ThreadPool& pool_;
  std::int32_t rows_max_;
  std::vector<std::unique_ptr<RowSampler>> by_thread_;
};

}  // namespace ingot
