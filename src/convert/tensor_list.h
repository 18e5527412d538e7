// Lists the tensors of a GGUF file to write, and finds their rows in the checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "load/checkpoint.h"
#include "model/bind.h"
#include "model/names.h"

namespace ingot {

/// One tensor of a GGUF file that is made from a checkpoint.
///
/// Its rows are the rows of all `sources` in order (the experts of a folder are stacked), or
/// `values` if the checkpoint does not have the tensor.
struct ListedTensor {
  std::string name;  ///< name in GGUF's spelling
  TensorRole role{};
  std::int64_t layer = 0;
  std::vector<std::int64_t> shape;  ///< row-major
  std::vector<const TensorInfo*> sources;
  std::vector<float> values;
  /// Number of heads to reorder from half-split to adjacent rotary pairs; 0: rows keep their order.
  std::int64_t turned_heads = 0;

  /// Columns of a row. A vector to reorder counts as a matrix with one column.
  std::int64_t cols() const { return turned_heads > 0 && shape.size() == 1 ? 1 : shape.back(); }
  std::int64_t rows() const;
  /// Rows of one expert; all rows of a dense matrix.
  std::int64_t rows_per_expert() const;
};

/// A row in a checkpoint.
struct SourceRow {
  const TensorInfo* tensor = nullptr;
  const std::byte* data = nullptr;
};

/// Finds the source of row `row`. The tensor must have sources.
SourceRow source_row(const ListedTensor& tensor, std::int64_t row);

/// Lists the tensors to write for `model`. Tensors of a GGUF file keep their order. Tensors of a
/// folder get the names, stacks and row order that other converters give them.
///
/// Rotary pairs of architecture llama are adjacent in GGUF and half a head apart in folders. GGUF
/// stores llama3 scaling as a tensor of divisors.
/// Errors: model_error for a model that GGUF cannot express.
/// The names of tensors are those of model/names.h.
std::vector<ListedTensor> list_tensors(const Checkpoint& checkpoint, const BoundModel& model);

/// The checkpoint's tensors that are not in `listed`: a copy of the embedding as output head, and
/// tensors whose contents follow from the configuration.
std::vector<const TensorInfo*> left_out(const Checkpoint& checkpoint,
                                        const std::vector<ListedTensor>& listed);

}  // namespace ingot
