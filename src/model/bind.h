// bind_model: finds a checkpoint's tensors by role, and checks them before allocating memory.
#pragma once

#include <cstdint>
#include <vector>

#include "load/checkpoint.h"
#include "model/family.h"
#include "model/spec.h"

namespace ingot {

/// Rows [first_row, first_row + rows) of a tensor that is read as a matrix with `cols` columns.
struct BoundPart {
  const TensorInfo* tensor = nullptr;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  View view() const;
};

/// Parts whose rows are stacked into one Weight. Either each part has a bias, or no part has one.
struct BoundWeight {
  std::vector<BoundPart> parts;
  std::vector<const TensorInfo*> biases;
  bool rounds = true;  ///< false for a router: `ModelOptions::weights` does not round the matrix

  explicit operator bool() const { return !parts.empty(); }
  std::vector<View> views() const;
};

/// One layer's tensors. A tensor that the model does not have is null or empty.
struct BoundLayer {
  const TensorInfo* attn_norm = nullptr;
  const TensorInfo* q_norm = nullptr;
  const TensorInfo* k_norm = nullptr;
  const TensorInfo* ffn_norm = nullptr;
  BoundWeight qkv;
  BoundWeight attn_out;
  BoundWeight gate_up;  ///< rows of the gate matrix, then rows of the up matrix
  BoundWeight down;
  BoundWeight router;
  std::vector<BoundWeight> expert_gate_up;
  std::vector<BoundWeight> expert_down;
};

/// A checkpoint's tensors by role. bind_model has checked the tensors. The pointers point into the
/// checkpoint, which must outlive this object.
struct BoundModel {
  Spec spec;
  BoundWeight embedding;  ///< empty if the checkpoint has no embedding matrix
  BoundWeight head;       ///< empty if the checkpoint has no output head, or if `spec.tied`
  const TensorInfo* final_norm = nullptr;
  std::vector<BoundLayer> layers;
};

/// Builds the checkpoint's Spec, and finds and checks its tensors.
///
/// Errors: model_error that names a tensor if it is missing, has a wrong shape or type, or is
/// unknown to the architecture; model_error for an unsupported configuration.
BoundModel bind_model(const Checkpoint& checkpoint);

/// Decodes all elements of a tensor to floats, from any format. For small tensors only:
/// norms, biases, frequency factors.
std::vector<float> decode_tensor(const TensorInfo& tensor);

}  // namespace ingot
