// bind_model: finds a checkpoint's tensors by role, and checks them before anything is allocated.
#pragma once

#include <cstdint>
#include <vector>

#include "load/checkpoint.h"
#include "model/family.h"
#include "model/spec.h"

namespace ingot {

/// Rows [first_row, first_row + rows) of a tensor, taken as a matrix of `cols` columns.
struct BoundPart {
  const TensorInfo* tensor = nullptr;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  View view() const;
};

/// A matrix that becomes one Weight: parts one below the other, and a bias for each part or none.
struct BoundWeight {
  std::vector<BoundPart> parts;
  std::vector<const TensorInfo*> biases;
  bool rounds = true;  ///< whether `ModelOptions::weights` applies; false for a router

  explicit operator bool() const { return !parts.empty(); }
  std::vector<View> views() const;
};

/// One layer's tensors; null or empty where the architecture has none.
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

/// A checkpoint's tensors by role, with all shapes checked and no tensor left over. Points into the
/// checkpoint.
struct BoundModel {
  Spec spec;
  BoundWeight embedding;  ///< empty for a backbone without embeddings
  BoundWeight head;       ///< empty for a backbone without head, and for a tied head
  const TensorInfo* final_norm = nullptr;
  std::vector<BoundLayer> layers;
};

/// Builds the Spec of the checkpoint's family and finds its tensors.
///
/// Errors: model_error naming the tensor in both spellings: missing, of a wrong shape or type, or
/// unknown to the architecture.
BoundModel bind_model(const Checkpoint& checkpoint);

/// A tensor's elements as floats, from any format. For small tensors: norms, biases, frequency
/// factors.
std::vector<float> decode_tensor(const TensorInfo& tensor);

}  // namespace ingot
