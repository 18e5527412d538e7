// Lists the tensors of a GGUF file to write, and finds their rows in the checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "load/checkpoint.h"
#include "model/bind.h"
#include "model/names.h"

namespace ingot {

/// One tensor to write to a GGUF file.
///
/// Its rows are the rows of all `sources` in order: the experts of a folder are stacked. If the
/// checkpoint does not have the tensor, `values` holds its contents.
struct ListedTensor {
  std::string name;  ///< the tensor's name in GGUF
  TensorRole role{};
  std::int64_t layer = 0;
  std::vector<std::int64_t> shape;  ///< sizes of the dimensions; the last dimension is contiguous
  std::vector<const TensorInfo*> sources;
  std::vector<float> values;
  /// Number of heads to reorder: rotary pairs half a head apart become adjacent rows. 0: no heads.
  std::int64_t turned_heads = 0;

  /// Returns the number of columns. Each element of a vector with `turned_heads` > 0 is a row.
  std::int64_t cols() const { return turned_heads > 0 && shape.size() == 1 ? 1 : shape.back(); }
  std::int64_t rows() const;
  /// Returns the number of rows of one expert. A dense matrix counts as one expert.
  std::int64_t rows_per_expert() const;
};

/// A row of a checkpoint's tensor: the tensor, and the row's first byte.
struct SourceRow {
  const TensorInfo* tensor = nullptr;
  const std::byte* data = nullptr;
};

/// Finds the checkpoint's row from which row `row` is made. The tensor must have sources.
SourceRow source_row(const ListedTensor& tensor, std::int64_t row);

/// Lists the tensors to write for `model`. Tensors of a GGUF file keep their names and their order.
/// Tensors of a folder get the names, stacks and row order that other converters give them.
///
/// Rotary pairs of architecture llama are adjacent in GGUF and half a head apart in folders. GGUF
/// stores llama3 scaling as a tensor of divisors.
/// Errors: model_error for a model that GGUF cannot express, or a folder of an architecture that is
/// not converted yet.
std::vector<ListedTensor> list_tensors(const Checkpoint& checkpoint, const BoundModel& model);

/// Returns the checkpoint's tensors that `listed` does not use: an output head that copies the
/// embedding, and tensors whose contents follow from the configuration.
std::vector<const TensorInfo*> left_out(const Checkpoint& checkpoint,
                                        const std::vector<ListedTensor>& listed);

}  // namespace ingot
