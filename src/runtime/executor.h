// Executor: buffers planned once for the largest step, and the step itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
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
  std::int32_t logits_rows = 0;  ///< rows of logits that `run` keeps
  std::int64_t ids = 0;          ///< only ids below it are among a scored row's best; 0 = all
  std::int32_t score_top = -1;  ///< best tokens that `run` finds for a scored row; -1 = scores none
};

/// What is known of a scored row: how likely the token after it was, and which were the likeliest.
struct RowScore {
  std::int32_t id = 0;  ///< the token after it
  float logprob = 0;
  std::span<const TokenScore> top;  ///< falling, ties to the lower id
};

/// Runs steps of one model. Its buffers are allocated at construction; later only the sequences'
/// block tables grow.
class Executor {
 public:
  /// Errors: Error{kDoesNotFit}.
  Executor(const Model& model, Backend& backend, KvCache& cache, const ExecutorLimits& limits);

  /// Bytes of the results that `run` keeps.
  static std::int64_t result_bytes(const Spec& spec, const ExecutorLimits& limits);
  /// Bytes of a step's block tables for each block of the context.
  static std::int64_t table_bytes(const Spec& spec, std::int32_t sequences);

  const ExecutorLimits& limits() const { return limits_; }
  const Model& model() const { return model_; }
  KvCache& cache() const { return cache_; }

  /// One planned step: every part has its blocks, and at most one output. Sequences stay as they
  /// are. Afterwards `logits(i)`, `score(i)` and `hidden(i)` hold the outputs, scored rows and
  /// hidden states until the next step, in the parts' order; hidden states after the final norm
  /// come before those without it.
  void run(const Step& step);
  /// [V], which the caller may overwrite.
  std::span<float> logits(std::int64_t i);
  RowScore score(std::int64_t i) const;
  /// [H]
  std::span<const float> hidden(std::int64_t i) const;

  /// One step driven by hand: each sequence's next rows, whatever `first` says. Reserves blocks,
  /// runs `forward`, and moves every part's `computed` on. Nothing is scored.
  ///
  /// Shapes: outputs as `forward` wants them, R = sum of the parts' outputs, in their order.
  /// Returns false, with nothing computed, when the pool has too few blocks for all parts; those
  /// that were reserved stay with their sequences.
  [[nodiscard]] bool step(std::span<const StepPart> parts, const Outputs& outputs);

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

  std::vector<StepPart> next_parts_;  ///< of `step`
  // The batch's arrays, by the names of Batch.
  std::vector<std::int32_t> tokens_, positions_, q_start_, kv_len_, out_rows_;
  std::vector<View> embeddings_;
  bool has_embeddings_ = false;
  std::vector<std::vector<std::int32_t>> slots_, tables_;
  std::vector<KvBlocks> groups_;

  // Results of `run`. A step's R rows are those of logits, the scored ones, hidden states; the
  // scores of the former two are there.
  Buffer logits_;                        ///< [logits_rows, V]
  std::int32_t score_top_ = 0;           ///< at most V
  std::int64_t outputs_ = 0;             ///< rows of logits of the last step
  std::int64_t reduced_ = 0;             ///< and scored rows: what comes before hidden states
  std::vector<std::int32_t> score_ids_;  ///< [R]
  std::vector<float> score_logprobs_;    ///< [R]
  std::vector<TokenScore> score_tops_;   ///< [R, score_top_]
};

}  // namespace ingot
