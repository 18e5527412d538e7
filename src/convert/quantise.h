// Making a GGUF file of another type from a checkpoint: the plan, and the work tensor by tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "convert/importance.h"
#include "convert/recipe.h"
#include "convert/tensor_list.h"
#include "load/checkpoint.h"
#include "load/gguf/gguf_writer.h"

namespace ingot {

/// What is to be made of a checkpoint.
struct QuantiseOptions {
  const Recipe* recipe = nullptr;
  const ImportanceMatrix* importance = nullptr;
  bool tokenizer = true;  ///< false leaves the tokenizer and the chat template out
};

/// One tensor to be written.
struct PlannedTensor {
  ListedTensor source;
  FormatChoice choice;
  std::span<const float> importance;  ///< [experts, cols] or [cols]; empty = all columns alike
};

/// All that is decided before the first byte is written. Points into the checkpoint and the
/// importance matrix.
struct QuantisePlan {
  GgufValues values;
  std::uint32_t alignment = 0;
  std::vector<PlannedTensor> tensors;
  std::vector<std::string> warnings;  ///< what a user should know of it, a line each
};

/// Binds the model, lists its tensors and decides on their formats.
///
/// Errors: model_error for a model that would not run, or that GGUF cannot express; for an
///         importance matrix whose sizes are those of another model.
QuantisePlan plan_quantised(const Checkpoint& checkpoint, const QuantiseOptions& options);

/// What became of a tensor.
struct TensorReport {
  std::string name;
  std::string source_type;  ///< of the checkpoint's tensor; empty for one that is computed
  Format format{};
  std::optional<Format> wanted;  ///< by the recipe, where rows do not divide into its blocks
  std::uint64_t bytes = 0;
  /// Root of the sum of squared differences over that of squared weights.
  double error = 0;
  /// The same with each column's difference and weight counted by importance.
  std::optional<double> weighted_error;
};

/// Sees how many bytes of the tensors in float32 are done, and may throw to end the work.
using QuantiseProgress = FunctionRef<void(std::uint64_t done, std::uint64_t total)>;

/// Writes the file, tensor by tensor and some megabytes at a time; the bytes do not depend on the
/// number of threads. Under its name it appears whole or not at all.
///
/// Errors: model_error naming tensor and row for a weight that is not finite or too large for the
///         format; kIo when the file cannot be written, or the checkpoint changed meanwhile.
std::vector<TensorReport> write_quantised(Checkpoint& checkpoint, const QuantisePlan& plan,
                                          const std::string& path, ThreadPool& pool,
                                          QuantiseProgress progress);

}  // namespace ingot
