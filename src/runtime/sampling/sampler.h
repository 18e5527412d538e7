// Sampler: draws tokens from rows of logits. A token depends only on its row, parameters, history
// and position.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/host_kernels.h"
#include "backend/ops.h"
#include "base/thread_pool.h"
#include "runtime/sampling/repeats.h"
#include "runtime/sampling/sampling_params.h"
#include "runtime/sampling/token_counts.h"

namespace ingot {

/// One row to draw from.
struct SampleRow {
  std::span<float> logits{};  ///< [V]; overwritten
  const SamplingParams* params = nullptr;
  const TokenCounts* counts = nullptr;  ///< history for penalties; null if there are no penalties
  const RepeatHistory* repeats = nullptr;                  ///< history for DRY; null without DRY
  std::span<const std::vector<std::int32_t>> bad_words{};  ///< tokens of `bad_words`
  std::span<const std::int32_t> allowed{};  ///< ids of `allowed_token_ids`, rising, each once
  std::span<const std::int32_t> drawn{};    ///< the choice's earlier tokens, for `bad_words`
  /// Ids that a constraint allows: bit i % 32 of word i / 32 for id i. Empty: no constraint. Then
  /// `min_tokens`, `bad_words` and `allowed` restrict the ids instead.
  std::span<const std::uint32_t> mask{};
  std::int32_t forced = -1;  ///< the only id that may follow; -1: several may
  double surprise_max = 0;   ///< mirostat's limit on a token's surprise, in bits
  std::uint64_t index = 0;   ///< index of the token in its choice, from 0
  /// What the device drew from the row: a token, kNoToken or kAllExcluded. The Sampler then only
  /// reports log-probabilities, and needs `logits` only for them. Absent: the Sampler draws.
  std::optional<std::int32_t> given{};
};

/// A token drawn from a row.
struct Drawn {
  std::int32_t id = -1;           ///< the token; -1: the row holds NaN or +Inf, or allows no token
  bool excludes_all = false;      ///< whether the row allows tokens, but the parameters exclude all
  bool is_forced = false;         ///< whether the token was taken without a draw
  double surprise = 0;            ///< with mirostat, -log2 of the probability of drawing `id`
  float logprob = 0;              ///< log-probability of `id` in the unchanged row; 0 if not wanted
  std::vector<TokenScore> top{};  ///< likeliest tokens, by descending probability, then by id
};

/// A token that can be drawn from a row, and its probability.
struct TokenProbability {
  std::int32_t id = 0;
  double probability = 0;
};

class RowSampler;

/// Draws tokens from rows in a thread pool. Only the constructor and Drawn::top allocate memory.
///
/// The logits change in this order: logit_bias; -Inf for end_ids until min_tokens are drawn, for
/// the last tokens of bad words, and for tokens that are not allowed; repetition_penalty; presence
/// and frequency penalty; DRY, which subtracts dry_multiplier * dry_base^(length -
/// dry_allowed_length) from each token that would extend a repetition. top_n_sigma uses the
/// standard deviation before the penalties. Temperature 0 takes the token with the largest logit.
/// Otherwise, w = exp((x - largest) * scale), scale = min(1 / temperature, FLT_MAX), is the weight
/// of a token with logit x. Then the filters drop tokens, in the order of SamplingParams; each
/// keeps at least one token. They sum each 256 weights as a tree of 16 lane sums, then these sums
/// as doubles. The draw takes the remaining token with the largest key. If several keys are equally
/// large, it takes the lowest id.
///
///     key = (x - largest) * scale - log(noise), in double; DrawNoise defines the noise of an id
///
/// -log(noise) has Gumbel's distribution, so each token is drawn with the probability w / sum of w.
/// XTC takes a random number of its own.
///
/// A mask replaces the other bans: all ids that it lacks get -Inf. If no token is left then, the
/// Sampler takes the lowest id of the mask. It takes a forced id whatever the id's logit is.
/// Neither needs a draw, and a row that allows no token still gives none.
///
/// A log-probability is (x - largest) - log(sum of exp(x - largest)), computed as doubles from the
/// unchanged row. The sum includes all V logits of the row, even logits without an id.
class Sampler {
 public:
  /// Allocates memory for rows of `vocab` logits. Draws and reports only ids below `ids`, because a
  /// model's output head may have more rows than the tokenizer has tokens.
  ///
  /// Errors: Error{kDoesNotFit} if there is no memory.
  Sampler(ThreadPool& pool, const HostKernels& kernels, std::int64_t vocab, std::int64_t ids,
          std::int32_t rows_max);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// Draws a token from each row.
  ///
  /// Shapes: rows and drawn [R], R <= rows_max.
  /// Errors: none; if no token can be drawn from a row, the row's Drawn::id is -1.
  void sample(std::span<const SampleRow> rows, std::span<Drawn> drawn);

  /// Returns all tokens that `sample` can draw from a row, by descending probability, then by id.
  /// For tests and inspection.
  std::vector<TokenProbability> distribution(const SampleRow& row);

  /// Returns an upper bound on the bytes that a Sampler for `threads` threads allocates.
  static std::int64_t bytes(int threads, std::int64_t vocab);

 private:
  ThreadPool& pool_;
  std::int32_t rows_max_;
  std::vector<std::unique_ptr<RowSampler>> by_thread_;
};

}  // namespace ingot
