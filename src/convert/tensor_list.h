// Which tensors a GGUF file of a model has, and where their rows are in the checkpoint.
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
/// Its rows are those of `sources`, one below the other (the experts of a folder are stacked), or
/// `values` where the checkpoint has no such tensor.
struct ListedTensor {
  std::string name;  ///< GGUF's spelling
  Slot slot{};
  std::int64_t layer = 0;
  std::vector<std::int64_t> shape;  ///< row-major
  std::vector<const TensorInfo*> sources;
  std::vector<float> values;
  /// Heads whose rows change from half-split rotary pairs to adjacent ones; 0 = rows stay.
  std::int64_t turned_heads = 0;

  /// A vector whose elements change places is read one by one.
  std::int64_t cols() const { return turned_heads > 0 && shape.size() == 1 ? 1 : shape.back(); }
  std::int64_t rows() const;
  /// Rows that belong to one expert; of a dense matrix all.
  std::int64_t rows_per_expert() const;
};

/// A row in a checkpoint.
struct SourceRow {
  const TensorInfo* tensor = nullptr;
  const std::byte* data = nullptr;
};

/// Where row `row` of a tensor with sources is.
SourceRow source_row(const ListedTensor& tensor, std::int64_t row);

/// The tensors that hold `model`: of a GGUF file in its order, of a folder as other converters
/// name, stack and turn them.
///
/// Architecture llama has rotary pairs that are adjacent in GGUF and half a head apart in folders.
/// Its llama3 scaling is a tensor of divisors there.
/// Errors: model_error for what GGUF cannot say.
/// Source: families.md of the design; the tensors' roles are those of model/names.h.
std::vector<ListedTensor> list_tensors(const Checkpoint& checkpoint, const BoundModel& model);

/// The checkpoint's tensors that are in no listed one: copies of others, and what follows from the
/// configuration.
std::vector<const TensorInfo*> left_out(const Checkpoint& checkpoint,
                                        const std::vector<ListedTensor>& listed);

}  // namespace ingot
