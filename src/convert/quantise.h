// Quantises a checkpoint to a GGUF file: makes a plan, then writes tensor after tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "convert/adapter/adapter_changes.h"
#include "convert/importance.h"
#include "convert/recipe.h"
#include "convert/sampling_values.h"
#include "convert/tensor_list.h"
#include "load/checkpoint.h"
#include "load/gguf/gguf_writer.h"

namespace ingot {

/// How to quantise a checkpoint.
struct QuantiseOptions {
  const Recipe* recipe = nullptr;                ///< null: tensors keep their formats
  const ImportanceMatrix* importance = nullptr;  ///< null: all columns count equally
  bool tokenizer = true;  ///< false: the file gets no tokenizer and no chat template
  std::span<const SamplingKey> sampling{};  ///< sampling defaults of folders that the file keeps
  const AdapterChanges* adapter = nullptr;  ///< an adapter to merge; null: none
};

/// One tensor to write.
struct PlannedTensor {
  ListedTensor source;
  FormatChoice choice;
  std::span<const float> importance;  ///< [experts, cols] or [cols]; empty: columns count equally
  const AdapterChanges* adapter = nullptr;  ///< changes rows of the tensor; null: no row changes
  /// Whether to copy the bytes of rows that keep format and values, even if they are not finite.
  bool copies_rows = false;
};

/// The planned contents of the file. The plan points into the checkpoint and the importance matrix,
/// which both must outlive the plan.
struct QuantisePlan {
  GgufValues values;
  std::uint32_t alignment = 0;
  std::vector<PlannedTensor> tensors;
  std::vector<std::string> warnings;  ///< lines to show to the user
};

/// Binds the model, lists its tensors and decides on their formats.
///
/// Errors: model_error for a model that would not run or that GGUF cannot express, and for an
///         importance matrix whose sizes do not fit the model.
QuantisePlan plan_quantised(const Checkpoint& checkpoint, const QuantiseOptions& options);

/// A written tensor, and its rounding error.
struct TensorReport {
  std::string name;
  std::string source_type;  ///< the checkpoint's type; empty for a computed tensor
  Format format{};
  /// The recipe's format, if rows do not divide into blocks of this format; otherwise absent.
  std::optional<Format> wanted;
  std::uint64_t bytes = 0;
  bool merged = false;  ///< whether an adapter changed rows of the tensor
  double error = 0;  ///< relative error: sqrt(sum of squared differences / sum of squared weights)
  /// Like `error`, with both sums weighted by importance; absent without importance values.
  std::optional<double> weighted_error;
};

/// Receives the bytes of done weights and of all weights, as float32. May throw to end the work.
using QuantiseProgress = FunctionRef<void(std::uint64_t done, std::uint64_t total)>;

/// Writes the file atomically, some megabytes of a tensor at a time. The file's bytes do not depend
/// on the number of threads.
///
/// Errors: model_error naming tensor and row for a weight that is not finite or too large for the
///         format; kIo if the file cannot be written, or if the checkpoint changes meanwhile.
std::vector<TensorReport> write_quantised(Checkpoint& checkpoint, const QuantisePlan& plan,
                                          const std::string& path, ThreadPool& pool,
                                          QuantiseProgress progress);

}  // namespace ingot
