// Executor: buffers planned once for the largest step, and the step itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "model/forward.h"
#include "model/model.h"
#include "runtime/sequence.h"

namespace ingot {

/// The largest step.
struct ExecutorLimits {
  std::int32_t rows = 0;
  std::int32_t out_rows = 0;
  std::int32_t sequences = 0;
  std::int64_t context = 0;  ///< tokens of the longest sequence
};

/// What one sequence contributes to a step: its next `rows` rows, of which the last `outputs` leave
/// the model.
struct StepPart {
  Sequence* sequence = nullptr;
  std::int32_t rows = 0;
  std::int32_t outputs = 0;
};

/// Runs steps of one model. Its buffers are allocated at construction; later only the sequences'
/// block tables grow.
class Executor {
 public:
  /// Errors: Error{kDoesNotFit}.
  Executor(const Model& model, Backend& backend, KvCache& cache, const ExecutorLimits& limits);

  const ExecutorLimits& limits() const { return limits_; }
  const Model& model() const { return model_; }
  KvCache& cache() const { return cache_; }

  /// One step: reserves blocks, runs `forward`, and moves every part's `computed` on. A sequence
  /// that brings embeddings has a step to itself.
  ///
  /// Shapes: outputs as `forward` wants them, R = sum of the parts' outputs, in their order.
  /// Returns false, with nothing computed, when the pool has too few blocks for all parts; those
  /// that were reserved stay with their sequences.
  [[nodiscard]] bool step(std::span<const StepPart> parts, const Outputs& outputs);

 private:
  void add_part(const StepPart& part, std::int32_t index);
  void clear();

  const Model& model_;
  Backend& backend_;
  KvCache& cache_;
  ExecutorLimits limits_;
  Scratch scratch_;
  std::int32_t blocks_max_ = 0;

  // The batch's arrays, by the names of Batch.
  std::vector<std::int32_t> tokens_, positions_, q_start_, kv_len_, out_rows_;
  std::vector<std::vector<std::int32_t>> slots_, tables_;
  std::vector<KvBlocks> groups_;
  View embeddings_;  ///< [T, H], when the step's sequence brought embeddings
};

}  // namespace ingot
