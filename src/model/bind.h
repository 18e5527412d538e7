// Binding: which tensors of a checkpoint are which weights, checked before anything is allocated.
#pragma once

#include <cstdint>
#include <vector>

#include "load/checkpoint.h"
#include "model/family.h"
#include "model/spec.h"

namespace ingot {

/// Rows [first_row, first_row + rows) of a tensor seen as a matrix of `cols` columns.
struct BoundPart {
  const TensorInfo* tensor = nullptr;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  View view() const;
};

/// A matrix that will be one Weight: parts one below the other, with biases for all of them or for
/// none.
struct BoundWeight {
  std::vector<BoundPart> parts;
  std::vector<const TensorInfo*> biases;
  bool rounds = true;  ///< whether `ModelOptions::weights` is for it: not for a router

  explicit operator bool() const { return !parts.empty(); }
  std::vector<View> views() const;
};

/// One layer's tensors; those that the architecture has not are null or empty.
struct BoundLayer {
  const TensorInfo* attn_norm = nullptr;
  const TensorInfo* q_norm = nullptr;
  const TensorInfo* k_norm = nullptr;
  const TensorInfo* ffn_norm = nullptr;
  BoundWeight qkv;
  BoundWeight attn_out;
  BoundWeight gate_up;  ///< gate above up
  BoundWeight down;
  BoundWeight router;
  std::vector<BoundWeight> expert_gate_up;
  std::vector<BoundWeight> expert_down;
};

/// A checkpoint's tensors by role, every shape checked, nothing left over. Points into the
/// checkpoint.
struct BoundModel {
  Spec spec;
  BoundWeight embedding;  ///< empty for a backbone without
  BoundWeight head;       ///< empty for a backbone without, and where the head is the embedding
  const TensorInfo* final_norm = nullptr;
  std::vector<BoundLayer> layers;
};

/// Builds the Spec of the checkpoint's family and finds its tensors.
///
/// Errors: model_error naming the tensor in both spellings: missing, of another shape or type than
/// the architecture has, or known to nobody (left over).
BoundModel bind_model(const Checkpoint& checkpoint);

/// A dense or quantised tensor's elements as floats. For small ones: norms, biases, frequency
/// factors.
std::vector<float> decode_tensor(const TensorInfo& tensor);

}  // namespace ingot
