// bind_model: finds a checkpoint's tensors by role, and checks them before allocating memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/ops.h"
#include "load/checkpoint.h"
#include "model/family.h"
#include "model/part_rows.h"
#include "model/spec.h"

namespace ingot {

/// Elements first, first + step, ... of a tensor that is read as a vector.
struct BoundVector {
  const TensorInfo* tensor = nullptr;
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;
};

/// Parts whose rows are stacked into one Weight. Either each part has a bias, or no part has one.
struct BoundWeight {
  std::vector<BoundPart> parts;
  std::vector<BoundVector> biases;
  /// False for a router and for the matrices of a latent's heads: `ModelOptions::weights` may widen
  /// the matrix, but does not round it.
  bool rounds = true;
  Use use = Use::kPlain;  ///< kExact for a router and for the gate of a shared expert

  explicit operator bool() const { return !parts.empty(); }
};

/// The weight and bias of a norm.
struct BoundNorm {
  std::vector<const TensorInfo*> weights;  ///< stacked; empty: the model has no such norm
  const TensorInfo* bias = nullptr;
  std::int64_t rows = 1;  ///< rows of the stacked weights: 1, or the number of heads

  explicit operator bool() const { return !weights.empty(); }
};

/// The norms around a sublayer; see Norms.
struct BoundNorms {
  BoundNorm pre;
  BoundNorm out;
  BoundNorm post;
};

/// One layer's tensors. A tensor that the model does not have is null or empty.
struct BoundLayer {
  BoundNorms attn_norms;
  BoundNorm q_norm;
  BoundNorm k_norm;
  BoundWeight qkv;
  BoundWeight q_down;  ///< MLA; see Layer for these
  BoundNorm q_down_norm;
  BoundWeight q_up;
  BoundWeight kv_down;
  BoundNorm kv_down_norm;
  std::vector<BoundWeight> k_up;
  std::vector<BoundWeight> v_up;
  const TensorInfo* sinks = nullptr;
  BoundWeight attn_out;
  BoundNorms ffn_norms;
  BoundWeight gate_up;  ///< rows of the gate matrix, then rows of the up matrix
  BoundWeight down;
  BoundWeight router;
  const TensorInfo* selection_bias = nullptr;
  std::vector<BoundWeight> expert_gate_up;
  std::vector<BoundWeight> expert_down;
  BoundWeight shared_gate_up;
  BoundWeight shared_down;
  BoundWeight shared_router;
  BoundWeight input_gate;
  BoundWeight input_out;
  BoundNorm input_norm;
  const TensorInfo* scalar = nullptr;
};

/// A tensor that a role uses, for converters.
struct BoundTensor {
  const TensorInfo* tensor = nullptr;
  TensorRole role{};
  std::int64_t layer = 0;
};

/// A checkpoint's tensors by role. bind_model has checked the tensors. The pointers point into the
/// checkpoint, which must outlive this object.
struct BoundModel {
  Spec spec;
  BoundWeight embedding;  ///< empty if the checkpoint has no embedding matrix
  BoundWeight head;       ///< empty if the checkpoint has no output head, or if `spec.tied`
  BoundNorm final_norm;
  const TensorInfo* positions = nullptr;
  const TensorInfo* types = nullptr;
  BoundNorm embedding_norm;
  const TensorInfo* relative_bias = nullptr;
  BoundWeight layer_embedding;
  BoundWeight layer_projection;
  BoundNorm layer_projection_norm;
  std::vector<BoundWeight> dense;  ///< layers after pooling: Spec::dense
  std::vector<BoundLayer> layers;

  /// Whether `linear` rounds no rows: for models that embed or score, whose results are compared
  /// with those of other engines.
  bool exact_rows = false;
  std::vector<BoundTensor> tensors;  ///< all tensors that roles use, in the order of binding
  std::vector<std::string> notes;    ///< what users may want to know, one line each
};

/// Makes up the tensors of a model that has no file yet.
class TensorPlanner {
 public:
  virtual ~TensorPlanner() = default;
  /// Returns whether the model gets this tensor, which its family does not require.
  virtual bool wants(const std::string& name) const = 0;
  /// Returns a tensor with this name and shape, which lives as long as the planner. It has a format
  /// and no data. A second call with a name returns the same tensor.
  virtual const TensorInfo* plan(const std::string& name,
                                 const std::vector<std::int64_t>& shape) = 0;
};

/// Builds the checkpoint's Spec, and finds and checks its tensors. `context`: the user's limit on
/// tokens of a sequence, 0 for the default; see make_spec. If there is a `planner`, it gives the
/// tensors that the checkpoint lacks.
///
/// Errors: model_error that names a tensor if it is missing, has a wrong shape or type, or is
/// unknown to the architecture; model_error for an unsupported configuration.
BoundModel bind_model(const Checkpoint& checkpoint, std::int64_t context = 0,
                      TensorPlanner* planner = nullptr);

/// Decodes all elements of a tensor to floats, from any format. For small tensors only:
/// norms, biases, frequency factors.
std::vector<float> decode_tensor(const TensorInfo& tensor);
/// Decodes the elements of a vector to floats, from any format.
std::vector<float> decode_vector(const BoundVector& vector);

}  // namespace ingot
