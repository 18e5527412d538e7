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
struct ListedTensor {
  std::string name;  ///< the tensor's name in GGUF
  TensorRole role{};
  std::int64_t layer = 0;
  std::vector<std::int64_t> shape;  ///< sizes of the dimensions; the last dimension is contiguous
  std::vector<BoundPart> parts;     ///< the checkpoint's rows, in order; empty: `values`
  std::vector<float> values{};      ///< the contents of a tensor that the checkpoint lacks
  /// Number of heads to reorder: rotary pairs half a head apart become adjacent rows. 0: no heads.
  std::int64_t turned_heads = 0;
  bool plus_one = false;  ///< whether the tensor gets 1 + the checkpoint's value
  double factor = 1;      ///< multiplies the values

  /// Returns the number of columns. A bias may be listed as rows of one element.
  std::int64_t cols() const { return parts.empty() ? shape.back() : parts.front().cols; }
  std::int64_t rows() const;
  /// Returns the number of rows of one expert. A dense matrix counts as one expert.
  std::int64_t rows_per_expert() const;
  /// Returns the first of the checkpoint's tensors; null if the checkpoint lacks the tensor.
  const TensorInfo* source() const { return parts.empty() ? nullptr : parts.front().tensor; }
};

/// Returns the checkpoint's row from which row `row` is made. The tensor must have parts.
BoundPart source_row(const ListedTensor& tensor, std::int64_t row);

/// Lists the model's tensors with their own names and shapes, in the order of binding.
std::vector<ListedTensor> list_bound(const BoundModel& model);

/// Lists the tensors to write for `model`. Tensors of a GGUF file keep their names and their order.
/// Tensors of a folder get the names, stacks and row order that other converters give them:
///
/// - Fused matrices are apart where files of the architecture have them apart. Experts are stacked.
/// - Rotary pairs are adjacent where the architecture's GGUF files have them adjacent.
/// - Norms that multiply by 1 + weight get the sum. MLA's up-projection becomes one of keys and
///   one of values.
/// - Factors of rotary frequencies are tensors.
///
/// Errors: model_error for a model of which a tensor has no place in GGUF.
std::vector<ListedTensor> list_tensors(const Checkpoint& checkpoint, const BoundModel& model);

/// Returns the names of the layers after pooling in GGUF files, without ".weight"; empty if such
/// files cannot have them.
std::vector<std::string> dense_names(const Config& config, std::size_t count);

/// Returns the checkpoint's tensors that `listed` does not use: an output head that copies the
/// embedding, tensors whose contents follow from the configuration, and tensors that no result
/// needs.
std::vector<const TensorInfo*> left_out(const Checkpoint& checkpoint,
                                        const std::vector<ListedTensor>& listed);

}  // namespace ingot
