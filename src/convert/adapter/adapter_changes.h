// AdapterChanges: adds an adapter's low-rank changes to rows of a model's tensors.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "convert/tensor_list.h"
#include "load/adapter/adapter_file.h"
#include "model/adapter_plan.h"
#include "model/bind.h"

namespace ingot {

/// What an adapter adds to the rows of a model's tensors: exactly what the engine adds to the
/// results of these rows. Immutable; threads may share it.
class AdapterChanges {
 public:
  /// Binds the adapter and decodes its matrices. `targets` must be those of `bound`, with all
  /// weights. `factor` multiplies the adapter's own scales. `file`, `targets` and the checkpoint of
  /// `bound` must outlive the object.
  ///
  /// Errors: those of plan_adapter; model_error for an adapter with invocation tokens, which acts
  /// on some rows of a text only.
  AdapterChanges(const AdapterFile& file, const BoundModel& bound, const AdapterTargets& targets,
                 double factor);

  /// Returns a warning about pairs without effect, one line; "" if all have one.
  const std::string& unused_warning() const { return unused_warning_; }
  /// Returns whether the adapter changes a matrix that the tensor holds, in any format.
  bool touches(const TensorInfo& tensor) const { return places_.contains(&tensor); }
  /// Returns whether the adapter changes any row of the tensor, or row `row`.
  bool changes(const ListedTensor& tensor) const;
  bool changes(const ListedTensor& tensor, std::int64_t row) const;
  /// Adds what the adapter adds to row `row` of the tensor, which may be nothing. Element k of the
  /// row gets float32(x[k] + factor * scale * sum of B[row, j] A[j, k] over j), where the sum runs
  /// in float64 from the first j to the last.
  ///
  /// Shapes: x [tensor.cols()].
  void add(const ListedTensor& tensor, std::int64_t row, std::span<float> x) const;

  /// Returns whether a head that is the embedding matrix must become a tensor of its own, because
  /// embedding and head get different changes.
  bool separates_head() const { return tied_ && (embedding_ || changes_tied_head_); }

 private:
  using Floats = std::vector<float>;

  /// Rows of a weight that a pair changes. `b` has the weight's order of rows.
  struct Change {
    std::int64_t first_row = 0;
    std::int64_t rows = 0;
    std::int64_t rank = 0;
    double factor = 0;
    Floats b;                  ///< [rows, rank]
    const float* a = nullptr;  ///< [rank, cols], in LinearChange::a
  };
  /// All that the adapter changes of a weight.
  struct LinearChange {
    std::vector<Floats> a;
    std::vector<Change> changes;
  };
  /// Stored rows of a weight: row 0 of `part` is row `first_row` of the weight.
  struct Place {
    BoundPart part;
    std::int64_t first_row = 0;
    const LinearChange* linear = nullptr;
  };
  /// The pair of the embedding: row v gets the product of A's row v and B.
  struct EmbeddingChange {
    std::int64_t rank = 0;
    double factor = 0;
    Floats a;  ///< [V, rank]
    Floats b;  ///< [rank, H]
  };

  void add_weight(std::int32_t number, const BoundWeight& weight, const PlannedLinear& linear,
                  double factor);
  bool add_row(const Place& place, std::int64_t weight_row, std::span<float> x) const;
  bool add_columns(const Place& place, std::int64_t stored_row, std::span<float> x) const;
  bool visit(const ListedTensor& tensor, std::int64_t row, std::span<float> x) const;
  bool visit_place(const Place& place, const BoundPart& row, std::span<float> x) const;

  std::string unused_warning_;
  bool tied_ = false;
  bool changes_tied_head_ = false;
  const TensorInfo* embedding_tensor_ = nullptr;
  std::optional<EmbeddingChange> embedding_;
  std::map<std::int32_t, LinearChange> linears_;  ///< by Weight::number
  std::map<const TensorInfo*, std::vector<Place>> places_;
};

}  // namespace ingot
