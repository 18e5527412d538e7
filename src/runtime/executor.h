// Executor: runs planned steps of a model, with buffers for the largest one.
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

/// The largest step.
struct ExecutorLimits {
  std::int32_t rows = 0;
  std::int32_t out_rows = 0;
  std::int32_t sequences = 0;
  std::int64_t context = 0;      ///< tokens of the longest sequence
  std::int32_t logits_rows = 0;  ///< rows of logits that a step has at most
  std::int64_t ids = 0;          ///< only ids below it are among a scored row's best; 0 = all
  std::int32_t score_top = -1;   ///< best tokens to find for a scored row; -1 = scores no rows
  bool finds_best = false;       ///< the best token of each row of logits is wanted
};

/// Scores of a row: the log-probability of the token after it, and the likeliest tokens.
struct RowScore {
  std::int32_t id = 0;  ///< the token after it
  float logprob = 0;
  std::span<const TokenScore> top;  ///< falling, ties to the lower id
};

/// Runs steps of one model. Allocates its buffers at construction; later only the sequences' block
/// tables grow.
class Executor {
 public:
  /// Errors: Error{kDoesNotFit}.
  Executor(const Model& model, Backend& backend, KvCache& cache, const ExecutorLimits& limits);

  /// Bytes of a step's results.
  static std::int64_t result_bytes(const Spec& spec, const ExecutorLimits& limits);
  /// Bytes of a step's block tables for each block of the context.
  static std::int64_t table_bytes(const Spec& spec, std::int32_t sequences);

  const ExecutorLimits& limits() const { return limits_; }
  const Model& model() const { return model_; }
  KvCache& cache() const { return cache_; }

  /// Runs a planned step, whose parts have their blocks; sequences do not change. Until the next
  /// step, `logits(i)`, `score(i)` and `hidden(i)` hold the outputs, scored rows and hidden states
  /// in the order of the parts; hidden states after the final norm come before raw ones.
  void run(const Step& step);
  /// As `run`, for parts of a step that copies no blocks.
  void run(std::span<const StepPart> parts);
  /// [V], which the caller may overwrite.
  std::span<float> logits(std::int64_t i);
  /// The best token of row `i` of logits, ties to the lower id; -1 for a row that holds NaN. Needs
  /// ExecutorLimits::finds_best.
  std::int32_t best(std::int64_t i) const;
  RowScore score(std::int64_t i) const;
  /// [H]
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

  // The batch's arrays, by the names of Batch.
  std::vector<std::int32_t> tokens_, positions_, q_start_, kv_len_, out_rows_;
  std::vector<View> embeddings_;
  bool has_embeddings_ = false;
  std::vector<std::vector<std::int32_t>> slots_, tables_;
  std::vector<KvBlocks> groups_;

  // Results. A step's R rows are rows of logits, then scored rows, then hidden states; the first
  // two kinds have scores.
  Buffer logits_memory_;
  HostRows logits_;                      ///< [logits_rows, V]
  HostRows outputs_rows_;                ///< Scratch::output
  std::vector<std::int32_t> best_;       ///< [R]
  std::int32_t score_top_ = 0;           ///< at most V
  std::int64_t outputs_ = 0;             ///< rows of logits in the last step
  std::int64_t reduced_ = 0;             ///< rows of logits and scored rows in the last step
  std::vector<std::int32_t> score_ids_;  ///< [R]
  std::vector<float> score_logprobs_;    ///< [R]
  std::vector<TokenScore> score_tops_;   ///< [R, score_top_]
};

/// Runs the next rows of sequences that no scheduler plans: reserves their blocks, runs the parts
/// as a step and counts their rows as computed. Sets `first` and `first_hidden` of each part; its
/// hidden states are those of its last rows.
///
/// Returns false, with no row computed, when the pool has too few blocks for all parts; sequences
/// keep the blocks that they got.
[[nodiscard]] bool run_next(Executor& executor, std::span<StepPart> parts);

}  // namespace ingot
