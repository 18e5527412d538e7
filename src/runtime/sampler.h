// Sampling: from rows of logits to tokens, each a pure function of row, parameters, history and
// position.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/kernel_table.h"
#include "backend/ops.h"
#include "base/thread_pool.h"
#include "runtime/sampling_params.h"
#include "runtime/token_counts.h"

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
  std::int32_t id = -1;         ///< -1: the row holds NaN, or allows no token
  float logprob = 0;            ///< of id under the unmodified logits, where asked for
  std::vector<TokenScore> top;  ///< the best `logprobs` of them, falling, ties to the lower id
};

/// Draws from rows in a thread pool.
class Sampler {
 public:
  Sampler(ThreadPool& pool, const KernelTable& kernels, std::int64_t vocab, std::int64_t ids,
          std::int32_t rows_max);

  /// Shapes: rows and drawn [R], R <= rows_max.
  void sample(std::span<const SampleRow> rows, std::span<Drawn> drawn);

  /// What a Sampler of these sizes allocates, at most.
  static std::int64_t bytes(int threads, std::int64_t vocab);

 private:
  ThreadPool& pool_;
  std::int64_t ids_;
};

}  // namespace ingot
