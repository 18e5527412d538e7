// AdapterPlan: which rows of a model's weights an adapter changes, and by which matrices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/view.h"
#include "load/adapter/adapter_file.h"
#include "model/adapter_targets.h"

namespace ingot {

/// A matrix inside a tensor: element (i, j) is the tensor's element
/// first + i * row_step + j * col_step.
struct StridedMatrix {
  const TensorInfo* tensor = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t first = 0;
  std::int64_t row_step = 0;
  std::int64_t col_step = 1;

  Format format() const { return *tensor->format; }
  StridedMatrix transposed() const;
  /// Returns a view with the matrix's shape and format, and with null data.
  View view() const;
};

/// Copies rows of a matrix in the tensor's format. Row i of the result is row `row_of(i)`.
std::vector<std::byte> gathered(const StridedMatrix& m, std::int64_t rows,
                                FunctionRef<std::int64_t(std::int64_t)> row_of);
/// Copies a matrix in the tensor's format.
std::vector<std::byte> gathered(const StridedMatrix& m);

/// A and B of one matrix: y = y + scale * B (A x).
struct MatrixPair {
  StridedMatrix a;
  StridedMatrix b;
};

/// Rows of a Weight that a pair changes.
struct PlannedPart {
  const AdapterTarget* target = nullptr;
  StridedMatrix b;
  std::int64_t first_rank = 0;  ///< row of the stacked A matrices
  double scale = 0;

  /// Returns the row of `b` that changes row `row` of the Weight.
  std::int64_t b_row(std::int64_t row) const { return target->module_row(row - target->first_row); }
};

/// All that an adapter changes of a Weight.
struct PlannedLinear {
  std::vector<StridedMatrix> a;    ///< stacked
  std::vector<PlannedPart> parts;  ///< sorted by rows, which do not overlap

  /// Returns the A matrix of a part.
  const StridedMatrix& a_of(const PlannedPart& part) const;
};

/// All that an adapter changes of a model. Points into the adapter's file and the targets, which
/// must outlive the plan.
struct AdapterPlan {
  std::map<std::int32_t, PlannedLinear> linears;  ///< by Weight::number
  const TensorInfo* unused = nullptr;             ///< the first tensor of a pair that nothing reads
  std::int64_t unused_pairs = 0;
  const AdapterPair* embedding = nullptr;
  std::int32_t embedding_number = -1;  ///< Weight::number of the embedding matrix

  /// Returns a warning about pairs without effect, one line; "" if all have one.
  std::string unused_warning() const;
};

/// Binds an adapter file to the model that has these targets.
///
/// Errors: model_error that names the tensor or the module, if the model has no such module or
/// another number of inputs, outputs, experts or tokens, if two pairs change the same rows, or if
/// the configuration names a module whose pair the file lacks.
AdapterPlan plan_adapter(const AdapterFile& file, const AdapterTargets& targets);

/// Returns the matrices of an embedding's pair: A [V, rank] and B [H, rank].
MatrixPair embedding_matrices(const AdapterPair& pair, Naming naming);

}  // namespace ingot
