// Executor: runs planned steps of a model in buffers that are allocated for the largest step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/host_rows.h"
#include "model/forward.h"
#include "model/model.h"
#include "runtime/schedule/step.h"

namespace ingot {

/// Sizes of the largest step, and the kinds of results that steps have.
struct ExecutorLimits {
  std::int32_t rows = 0;
  std::int32_t out_rows = 0;  ///< limit on rows of logits, scored rows and hidden states together
  std::int32_t sequences = 0;
  std::int64_t context = 0;      ///< limit on the tokens of a sequence
  std::int32_t logits_rows = 0;  ///< limit on the rows of logits
  std::int64_t ids = 0;          ///< RowScore::top has only ids below this number; 0 = all ids
  std::int32_t score_top = -1;   ///< number of tokens in RowScore::top; -1 = steps score no rows
  bool finds_best = false;       ///< whether steps prepare results for `Executor::best`
};

/// The log-probability of the token after a row, and the likeliest tokens after that row.
struct RowScore {
  std::int32_t id = 0;  ///< id of the token after the row
  float logprob = 0;
  std::span<const TokenScore> top;  ///< likeliest tokens, by descending probability, then by id
};

/// Runs steps of one model. Allocates all its buffers in the constructor.
class Executor {
 public:
  /// Allocates the buffers for the largest step. Errors: Error{kDoesNotFit}.
  Executor(const Model& model, Backend& backend, KvCache& cache, const ExecutorLimits& limits);

  /// Returns the bytes that the results of the largest step take.
  static std::int64_t result_bytes(const Spec& spec, const ExecutorLimits& limits);
  /// Returns by how many bytes each block of the context enlarges a step's block tables.
  static std::int64_t table_bytes(const Spec& spec, std::int32_t sequences);

  const ExecutorLimits& limits() const { return limits_; }
  const Model& model() const { return model_; }
  KvCache& cache() const { return cache_; }

  /// Runs a planned step, whose blocks must be reserved. Does not change sequences. Until the next
  /// step, `logits(i)`, `score(i)` and `hidden(i)` return results in the order of the parts, with
  /// one exception: all hidden states with final norm come before those without final norm.
  void run(const Step& step);
  /// Runs parts like `run(const Step&)`, but copies no blocks.
  void run(std::span<const StepPart> parts);
  /// Returns row `i` of logits, [vocabulary size]. The caller may overwrite the row.
  std::span<float> logits(std::int64_t i);
  /// Returns the lowest id whose logit is the largest in row `i`; -1 if the row has NaN. Requires
  /// ExecutorLimits::finds_best.
  std::int32_t best(std::int64_t i) const;
  RowScore score(std::int64_t i) const;
  /// Returns row `i` of hidden states, [hidden size].
  std::span<const float> hidden(std::int64_t i) const;

 private:
  void add_parts(std::span<const StepPart> parts);
  void add_part(const StepPart& part, std::int32_t index);
  void add_scores(std::span<const StepPart> parts);
  void add_hidden(std::span<const StepPart> parts, bool final_norm);
  void forward_batch(const Outputs& outputs);

  const Model& model_;
  Backend& backend_;
  KvCache& cache_;
  ExecutorLimits limits_;
  Scratch scratch_;
  std::int32_t blocks_max_ = 0;

  // The arrays of a Batch, under the names of its members.
  std::vector<std::int32_t> tokens_, positions_, q_start_, kv_len_, out_rows_;
  std::vector<View> embeddings_;
  bool has_embeddings_ = false;
  std::vector<std::vector<std::int32_t>> slots_, tables_;
  std::vector<KvBlocks> groups_;

  // Results of the last step. The step's R output rows are in the order: logits, scored rows,
  // hidden states. Arrays named score_* have entries for rows of logits and for scored rows.
  Buffer logits_memory_;
  HostRows logits_;                      ///< [logits_rows, vocabulary size]: rows of logits
  HostRows outputs_rows_;                ///< hidden states, as rows of Scratch::output
  std::vector<std::int32_t> best_;       ///< [R]: id of the largest logit in each row
  std::int32_t score_top_ = 0;           ///< score_top of the limits, but at most the number of ids
  std::int64_t outputs_ = 0;             ///< number of rows of logits in the last step
  std::int64_t reduced_ = 0;             ///< `outputs_` plus the number of scored rows
  std::vector<std::int32_t> score_ids_;  ///< [R]: id of the token after each row
  std::vector<float> score_logprobs_;    ///< [R]: log-probability of the token in `score_ids_`
  std::vector<TokenScore> score_tops_;   ///< [R, score_top_]: likeliest tokens after each row
};

/// Runs the next rows of sequences without a scheduler: reserves the rows' blocks, runs the parts
/// as a step, and counts the rows as computed. Sets each part's `first`. Sets `first_hidden` so
/// that the last rows of the part give the hidden states.
///
/// Returns false and computes no row if the pool has too few blocks for all parts. Sequences then
/// keep the blocks that this call has reserved for them.
[[nodiscard]] bool run_next(Executor& executor, std::span<StepPart> parts);

}  // namespace ingot
