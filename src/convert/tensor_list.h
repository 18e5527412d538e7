// The tensors of a model's GGUF file, and their rows in the checkpoint.
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
/// Its rows are those of `sources`, one below the other (a folder's experts are stacked), or
/// `values` where the checkpoint has no such tensor.
struct ListedTensor {
  std::string name;  ///< GGUF's spelling
  TensorRole role{};
  std::int64_t layer = 0;
  std::vector<std::int64_t> shape;  ///< row-major
  std::vector<const TensorInfo*> sources;
  std::vector<float> values;
  /// Heads whose rows are reordered, from half-split rotary pairs to adjacent ones; 0: rows stay.
  std::int64_t turned_heads = 0;

  /// A vector that is reordered is read by element.
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

/// The source of row `row` of a tensor with sources.
SourceRow source_row(const ListedTensor& tensor, std::int64_t row);

/// The tensors of `model`: in a GGUF file's own order, or those of a folder, named, stacked and
/// reordered as other converters do.
///
/// Rotary pairs of architecture llama are adjacent in GGUF and half a head apart in folders. GGUF
/// stores llama3 scaling as a tensor of divisors.
/// Errors: model_error for a model that GGUF cannot express.
/// Source: model/names.h has the tensors' roles.
std::vector<ListedTensor> list_tensors(const Checkpoint& checkpoint, const BoundModel& model);

/// The checkpoint's tensors that are not in `tensors`: copies of others, and values that follow
/// from the configuration.
std::vector<const TensorInfo*> left_out(const Checkpoint& checkpoint,
                                        const std::vector<ListedTensor>& listed);

}  // namespace ingot
